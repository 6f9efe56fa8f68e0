"""A trained model for other programs."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lit_video.api.arguments import File
from lit_video.runs.chosen_checkpoint import find_checkpoint, record_beside
from lit_video.runs.folder import read_finished
from lit_video.utils.arguments import refuse_wrong_values
from lit_video.utils.files import user_path, write_atomically, writing
from lit_video.utils.text import Part, Shown
from lit_video.weights.integrity import refuse_no_checkpoint

ExportKind = Literal["hf-timesformer", "hf-vivit", "pt2", "onnx", "safetensors"]


@dataclass(frozen=True, repr=False)
class Exported(Shown):
    """A model that was exported."""

    folder: Path
    summary: str  # names of the files, and the difference of the logits
    readme: Path  # code that loads it, below the model's card if these weights were tested

    def parts(self) -> Sequence[Part]:
        """Return what was written."""
        return [f"wrote {self.summary}\nwrote {self.readme}: how to load it"]


def export(ckpt: File, to: ExportKind, output: File) -> Exported:
    """Write a trained model for other programs: a folder with its settings and card.

    Args:
        ckpt: a run's folder or checkpoint.
        to: for transformers, torch.export, ONNX, or weights alone.
        output: folder to write.

    Raises:
        UserError: the checkpoint is wrong, a library is missing, the target does not support the model, the program's
            logits differ, or a file cannot be written.
    """
    refuse_wrong_values(export, locals())
    checkpoint = find_checkpoint(str(ckpt))
    refuse_no_checkpoint(checkpoint)

    from lit_video.inference.export import export_model as write  # here, because importing torch takes seconds
    from lit_video.reports.card import model_card
    from lit_video.weights.reading import weights_digest

    folder = user_path(output)
    run = record_beside(checkpoint).parent
    readme = folder / "README.md"
    with writing("--output", folder):
        summary, text = write(checkpoint, to, folder)
        tested = read_finished(run, anywhere=True)
        # the card is of tested weights, not of another checkpoint of the run
        if tested and tested.result.weights.digest == weights_digest(checkpoint):
            text = f"{model_card(run)}\n{text}"
        write_atomically(readme, text)
    return Exported(folder, summary, readme)
