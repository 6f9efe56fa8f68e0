"""Lines of Python that open an export: the frames of a video's centre clip, chosen and cropped as in the test."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lit_video.utils.class_paths import class_path
from lit_video.utils.clip_shape import height_and_width
from lit_video.utils.yaml_files import read_yaml
from lit_video.video.sampling import Dense, DenseStride, Segments
from lit_video.weights.reading import of_our_own

# samplings whose centre clips the lines choose, of videos with a constant frame rate
SAMPLINGS = {class_path(kind): kind for kind in (Dense, DenseStride, Segments)}


def _numbers(clips: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the part of the code that chooses frames, and what is filled in; no part for what it does not cover."""
    path, arguments = clips["sampling"].values()
    if path not in SAMPLINGS or clips.get("short", "repeat") != "repeat":
        return "", {}
    sampling, frames = SAMPLINGS[path](**arguments), clips["frames"]
    if isinstance(sampling, DenseStride) and sampling.counts_frames:
        length = frames * sampling.stride
        return "counted", {"LENGTH": length, "OFFSETS": [*range(sampling.stride // 2, length, sampling.stride)]}
    if isinstance(sampling, Dense):
        return "moments", {"LENGTH": f'Fraction("{sampling.seconds}") * rate'}
    if isinstance(sampling, DenseStride):
        return "moments", {"LENGTH": f'{frames * sampling.stride} * rate / Fraction("{sampling.fps}")'}
    return "moments", {"LENGTH": "Fraction(total)"}


def how_to_load(checkpoint: Mapping[str, Any], to: str) -> str:
    """Return the lines that open an export again, in Markdown, with what its input and output are."""
    clips, theirs = of_our_own(checkpoint).clips, to.startswith("hf-")
    size = checkpoint["hyper_parameters"] | clips
    height, width = height_and_width(size["image_size"])
    values, notes, pixels = {"COUNT": size["frames"], "HEIGHT": height, "WIDTH": width}, "", ""
    parts = ["unknown" if theirs else to]
    if clips:
        pixels = ": (x / 255 - {mean}) / {std}, x in 0 to 255, {channels}".format(**{"channels": "rgb"} | clips)
        notes = f"Frames: {clips['sampling']}; the view is that of `lit_video predict --clips 1 --crops 1`. "
    if clips and to != "safetensors":
        numbers, chosen = _numbers(clips)
        values |= {"MEAN": clips["mean"], "STD": clips["std"], **chosen}
        values["CHANNELS"] = "[..., ::-1]" if clips.get("channels") == "bgr" else ""
        parts = ["decode", numbers, clips.get("views", "even")] if numbers else ["frames"]
        parts += ["pipeline"] if theirs else ["clip", to]
        notes += "The lines are for videos of a constant frame rate. "
    if clips and theirs:
        notes += "Given a path, `pipeline` spreads its frames over the whole video, which is another clip. "
    code = "".join(map(read_yaml(Path(__file__).with_suffix(".yaml")).__getitem__, parts))
    for name, value in values.items():
        code = code.replace(name, str(value))
    axes = "frames, 3" if theirs else "3, frames"
    return (
        f"## Load it\n\nIn this folder:\n\n```python\n{code}```\n\n{notes}The model's input is float32, "
        f"`(batch, {axes}, height, width)`{pixels}. Its output is logits, `(batch, classes)`.\n"
    )
