"""A trained model as a program that runs without this package, by ``torch.export`` or ONNX, or its weights alone."""

import json
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from lit_video.errors import OptionError, UserError
from lit_video.inference.checkpoints import build_model, read_checkpoint
from lit_video.modules import VideoClassifier
from lit_video.modules.classifier import CHECKPOINT_KEY

FILES = {"pt2": "model.pt2", "onnx": "model.onnx", "safetensors": "model.safetensors"}
# of the logits' largest value, in float32
TOLERANCE = 1e-4


def write_program(ckpt: Path, to: str, folder: Path) -> tuple[Path, float | None]:
    """Write a model of a run for batches of any size, try it, and write beside it how its clips are made.

    ``settings.json`` has the names of the classes, frames, size, sampling, mean and deviation. The input is called
    ``clip``, normalised, ``(b, 3, frames, side, side)``; the output ``logits``.

    Args:
        ckpt: a run's ``last.ckpt``.
        to: ``pt2``, ``onnx`` or ``safetensors`` (weights alone, which ``model.weights`` takes).
        folder: exists.

    Returns:
        The file, and the largest difference of its logits from the model's as a share of the largest logit, for batches
        of one and of three; ``None`` where it was not tried because ONNX Runtime is not installed.

    Raises:
        UserError: the checkpoint is wrong, a library is missing, or the program computes something else.
    """
    checkpoint = read_checkpoint(ckpt, "ckpt_path")
    stored = checkpoint.get(CHECKPOINT_KEY)
    if stored is None:
        raise OptionError("ckpt_path", f"{ckpt} has no settings of its clips: it is another program's, or too old")
    network = build_model(checkpoint, VideoClassifier, ckpt, "ckpt_path").network
    frames, side = stored["data"]["frames"], stored["data"]["image_size"]
    clips = [torch.randn(count, 3, frames, side, side) for count in (2, 1, 3)]
    path = folder / FILES[to]
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # of the exporters, about themselves
        program = _WRITERS[to](network, clips[0], path)
        difference = None if program is None else max(_difference(network, program, clip) for clip in clips[1:])
    if difference is not None and not difference <= TOLERANCE:
        path.unlink()
        raise UserError(f"--to {to}: the program's logits differ by {difference:.1e} of the largest one: not kept")
    (folder / "settings.json").write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")
    return path, difference


def _difference(network: nn.Module, program: Callable[[Tensor], Tensor], clip: Tensor) -> float:
    expected = network(clip)
    return float((program(clip) - expected).abs().max() / expected.abs().max())


def _pt2(network: nn.Module, clip: Tensor, path: Path) -> Callable[[Tensor], Tensor]:
    exported = torch.export.export(network, (clip,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    torch.export.save(exported, path)
    return torch.export.load(path).module()


def _onnx(network: nn.Module, clip: Tensor, path: Path) -> Callable[[Tensor], Tensor] | None:
    if find_spec("onnxscript") is None:
        raise OptionError("to onnx", 'onnxscript is not installed: pip install "lit_video[onnx]"')
    torch.onnx.export(
        network,
        (clip,),
        path,
        dynamo=True,
        external_data=False,
        verbose=False,
        dynamic_shapes=({0: torch.export.Dim("batch")},),
        input_names=["clip"],
        output_names=["logits"],
    )
    if find_spec("onnxruntime") is None:
        return None
    from onnxruntime import InferenceSession

    session = InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda batch: torch.from_numpy(session.run(None, {"clip": batch.numpy()})[0])


def _safetensors(network: nn.Module, clip: Tensor, path: Path) -> Callable[[Tensor], Tensor]:
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, path)
    stored = load_file(path)
    return lambda batch: torch.func.functional_call(network, stored, (batch,))


_WRITERS = {"pt2": _pt2, "onnx": _onnx, "safetensors": _safetensors}
