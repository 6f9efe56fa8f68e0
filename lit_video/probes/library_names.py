"""Names of models of torchvision and timm, read from their source code, because importing them takes seconds."""

import re
from importlib.util import find_spec
from pathlib import Path

from lit_video.errors import UserError
from lit_video.utils.text import did_you_mean
from lit_video.weights.hub import IMAGES, VIDEOS

# beginning of a name: the library, its folder of models, and their kind in words
LIBRARIES = {
    VIDEOS: ("torchvision", "models/video", "video model of torchvision"),
    IMAGES: ("timm", "models", "model of timm"),
}


def refuse_unknown_model(source: str) -> None:
    """Refuse ``torchvision:NAME`` or ``timm:NAME`` if no word of the library's code is this name.

    A word that names no model, such as a class, is left to the library.
    """
    beginning = next((each for each in LIBRARIES if source.startswith(each)), "")
    if not beginning:
        return

    library, folder, kind = LIBRARIES[beginning]
    spec = find_spec(library)
    if spec is None or spec.origin is None:
        return
    code = "\n".join(file.read_text(encoding="utf-8") for file in (Path(spec.origin).parent / folder).rglob("*.py"))
    models = re.findall(r"@register_model.*\n(?:@.*\n)*def (\w+)", code)
    name = source.removeprefix(beginning).partition(".")[0]  # timm writes weights after a dot
    if models and not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", code):
        few = f"; one of {', '.join(sorted(models))}" if beginning == VIDEOS else ""
        raise UserError(f"{source}: no {kind}{did_you_mean(name, models) or few}")
