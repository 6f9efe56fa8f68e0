"""Export of trained models: safetensors, torch.export, ONNX, transformers, and the code that loads each."""

import json
import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from lit_video.errors import OptionError, UserError
from lit_video.inference.checkpoints import build_model, read_checkpoint
from lit_video.modules import TimeSformer, VideoClassifier, ViViT
from lit_video.network.transformer import mean_frame_token
from lit_video.network.vit import vit_size
from lit_video.utils.class_paths import class_path
from lit_video.utils.clip_shape import height_and_width, of_channels
from lit_video.utils.yaml_files import read_yaml
from lit_video.video.sampling import Dense, DenseStride, Segments
from lit_video.weights.hugging_face import HIDDEN_ACT, export_hf_timesformer, export_hf_vivit, gelus_of
from lit_video.weights.integrity import DIGEST, EXPORTED
from lit_video.weights.reading import CHECKPOINT_KEY, of_our_own, tensors_digest

# target -> our model class, and the function that renames its weights for transformers
TARGETS: dict[str, tuple[type[VideoClassifier], Callable[[Any], dict[str, Tensor]]]] = {
    "hf-timesformer": (TimeSformer, export_hf_timesformer),
    "hf-vivit": (ViViT, export_hf_vivit),
}


def export(ckpt: Path, to: str, folder: Path) -> tuple[str, str]:
    """Write a run's model into a folder, created if missing; return a summary and the code that loads it.

    ``to`` is a key of ``TARGETS`` or ``WRITERS``. ``safetensors`` writes weights and settings, for ``model.weights``.

    Raises:
        UserError: the checkpoint is wrong, a library is missing, the target does not support the model, or logits of
            the exported program differ from the model's.
        OSError: a file cannot be written.
    """
    checkpoint = read_checkpoint(ckpt)
    said = (_for_transformers if to in TARGETS else _program)(checkpoint, ckpt, to, folder)
    return said, how_to_load(checkpoint, to)


def _for_transformers(checkpoint: Mapping[str, Any], ckpt: Path, to: str, folder: Path) -> str:
    family, renamed = TARGETS[to]
    vivit = family is ViViT
    model = build_model(checkpoint, family, ckpt)
    stored = of_our_own(checkpoint)
    try:
        if isinstance(model.num_classes, dict):
            raise ValueError("classes of transformers have one head, but this model has several")
        height, side = height_and_width(model.hparams["image_size"])
        if height != side:
            raise ValueError(
                f"clips of {height} x {side} pixels: transformers' preprocessors crop squares; use --to pt2"
            )
        if getattr(model.network, "readout", None) is mean_frame_token:
            raise ValueError("with space attention, transformers gives the logits of every frame, not their mean")
        weights = renamed(model.network)
        preprocessor = _preprocessor(stored.clips, vivit)
    except ValueError as error:
        raise OptionError(f"to {to}", error) from error
    config = _config(model.hparams, stored.class_names, vivit)
    config["hidden_act"] = HIDDEN_ACT[gelus_of(model.network).pop()]
    if model.several_labels:
        config["problem_type"] = "multi_label_classification"
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    for name, content in (("config.json", config), ("preprocessor_config.json", preprocessor)):
        if content:
            (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return f"{folder} for {config['architectures'][0]}"


def _preprocessor(data: Mapping[str, Any], vivit: bool) -> dict[str, Any]:
    """Return the preprocessor's configuration for the centre view; empty if ``data`` is empty."""
    if not data:
        return {}
    if (channels := data.get("channels", "rgb")) != "rgb":
        raise ValueError(f"the model sees {channels} pixels, but transformers' preprocessors give rgb")
    side = height_and_width(data["image_size"])[0]
    whole, square = data.get("views") == "whole", {"height": side, "width": side}
    steps = {"do_resize": True, "do_rescale": True, "do_normalize": True, "do_center_crop": not whole, "offset": vivit}
    mean = [mean - vivit for mean in of_channels(data["mean"])]  # ViViT's processor always subtracts 1
    pixels = {"rescale_factor": 1 / 255, "image_mean": mean, "image_std": [*of_channels(data["std"])]}
    size = square if whole else {"shortest_edge": side}
    kind = "VivitImageProcessor" if vivit else "VideoMAEImageProcessor"
    return {"image_processor_type": kind, "size": size, "crop_size": square} | steps | pixels


def _config(hparams: Mapping[str, Any], names: list[str] | None, vivit: bool) -> dict[str, Any]:
    size, patch = vit_size(hparams["size"]), hparams["patch_size"]
    labels = names or [f"LABEL_{i}" for i in range(hparams["num_classes"])]
    config: dict[str, Any] = {"num_channels": 3, "qkv_bias": True, "layer_norm_eps": size.eps or 1e-6}
    config |= {"num_frames": hparams["num_frames"], "image_size": height_and_width(hparams["image_size"])[0]}
    config |= {"hidden_size": size.embed_dim, "num_hidden_layers": size.depth, "num_attention_heads": size.num_heads}
    config["intermediate_size"] = round(size.embed_dim * size.mlp_ratio)
    config |= {"id2label": dict(enumerate(labels)), "label2id": dict(zip(labels, range(len(labels)), strict=True))}
    if vivit:
        config |= {"architectures": ["VivitForVideoClassification"], "model_type": "vivit"}
        return config | {"tubelet_size": [hparams["tubelet_size"], patch, patch]}
    config |= {"architectures": ["TimesformerForVideoClassification"], "model_type": "timesformer"}
    attention = f"{hparams['attention_type'].rpartition('.')[2].lower()}_space_time"
    return config | {"patch_size": patch, "attention_type": attention}


Program = Callable[[Tensor], Tensor]
BATCHES = {0: torch.export.Dim("batch")}  # axes of the input whose size is dynamic
TOLERANCE = 1e-4  # largest difference of a logit, relative to the largest logit, in float32


def _program(checkpoint: Mapping[str, Any], ckpt: Path, to: str, folder: Path) -> str:
    """Write a model for any batch size, verify it with one and three clips, and write ``settings.json``.

    The settings are class names, frames, size, sampling, mean and standard deviation. The input ``clip`` is normalised,
    ``(b, 3, frames, height, width)``; the output is ``logits``.
    """
    stored = checkpoint.get(CHECKPOINT_KEY)
    if stored is None:
        raise OptionError("ckpt", f"{ckpt} has no clip settings: another program wrote it, or no data module was used")
    network = build_model(checkpoint, VideoClassifier, ckpt).network
    size = height_and_width(stored["data"]["image_size"])
    first, *others = [torch.randn(b, 3, stored["data"]["num_frames"], *size) for b in (2, 1, 3)]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"model.{to}"
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # exporters emit warnings about their own code
        program = WRITERS[to](network, first, path)
        differences = [_difference(network, program, clip) for clip in others]
    difference = float(torch.tensor(differences).max())  # NaN if any is NaN, unlike Python's max
    if not difference <= TOLERANCE:
        path.unlink()
        raise UserError(f"--to {to}: program deleted: its logits differ by {difference:.1e} of the largest logit")
    # the weights already include the temperature
    settings = stored | {"hyper_parameters": dict(checkpoint["hyper_parameters"]), "temperature": None, DIGEST: None}
    if to == "safetensors":
        settings[DIGEST] = tensors_digest(load_file(path))
    (folder / EXPORTED).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return f"{path} for batches of any size, and {EXPORTED}; its logits differ by {difference:.0e}"


def _difference(network: nn.Module, program: Program, clip: Tensor) -> float:
    expected = network(clip)
    return float((program(clip) - expected).abs().max() / expected.abs().max())


def _pt2(network: nn.Module, clip: Tensor, path: Path) -> Program:
    torch.export.save(torch.export.export(network, (clip,), dynamic_shapes=(BATCHES,)), path)
    return torch.export.load(path).module()


def _onnx(network: nn.Module, clip: Tensor, path: Path) -> Program:
    if not (find_spec("onnxscript") and find_spec("onnxruntime")):
        raise OptionError("to onnx", 'onnxscript or onnxruntime is not installed: pip install "lit_video[onnx]"')
    names: dict[str, Any] = {"input_names": ["clip"], "output_names": ["logits"], "dynamic_shapes": (BATCHES,)}
    torch.onnx.export(network, (clip,), path, dynamo=True, external_data=False, verbose=False, **names)
    from onnxruntime import InferenceSession

    session = InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda batch: torch.from_numpy(session.run(None, {"clip": batch.numpy()})[0])


def _safetensors(network: nn.Module, clip: Tensor, path: Path) -> Program:
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, path)
    stored = load_file(path)
    return lambda batch: torch.func.functional_call(network, stored, (batch,))


WRITERS = {"pt2": _pt2, "onnx": _onnx, "safetensors": _safetensors}

# samplings for which the generated code chooses the frames of the centre clip, in videos of a constant frame rate
SAMPLINGS = {class_path(kind): kind for kind in (Dense, DenseStride, Segments)}


def _numbers(clips: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of the template that chooses frames, and its values; the name is empty if no template fits."""
    path, arguments = clips["sampling"].values()
    if path not in SAMPLINGS or clips.get("short", "repeat") != "repeat":
        return "", {}
    sampling, frames = SAMPLINGS[path](**arguments), clips["num_frames"]
    if isinstance(sampling, DenseStride) and sampling.counts_frames:
        length = frames * sampling.stride
        return "counted", {"LENGTH": length, "OFFSETS": [*range(sampling.stride // 2, length, sampling.stride)]}
    if isinstance(sampling, Dense):
        return "moments", {"LENGTH": f'Fraction("{sampling.seconds}") * rate'}
    if isinstance(sampling, DenseStride):
        return "moments", {"LENGTH": f'{frames * sampling.stride} * rate / Fraction("{sampling.fps}")'}
    return "moments", {"LENGTH": "Fraction(total)"}


def how_to_load(checkpoint: Mapping[str, Any], to: str) -> str:
    """Return Markdown: the code that loads an export, its input and its output."""
    clips, theirs = of_our_own(checkpoint).clips, to.startswith("hf-")
    size = checkpoint["hyper_parameters"] | clips
    height, width = height_and_width(size["image_size"])
    values, notes, pixels = {"COUNT": size["num_frames"], "HEIGHT": height, "WIDTH": width}, "", ""
    axes, unknown, program = ("frames, 3", "unknown", ["pipeline"]) if theirs else ("3, frames", to, ["clip", to])
    parts = [unknown]
    if clips:
        pixels = ": (x / 255 - {mean}) / {std}, x in 0 to 255, {channels}".format(**{"channels": "rgb"} | clips)
        notes = f"Frames: {clips['sampling']}; the view is that of `lit_video predict --clips 1 --crops 1`. "
    if clips and to != "safetensors":
        numbers, chosen = _numbers(clips)
        values |= {"MEAN": clips["mean"], "STD": clips["std"], **chosen, "CHANNELS": ""}
        if clips.get("channels") == "bgr":
            values["CHANNELS"] = "[..., ::-1]"
        parts = ["decode", numbers, clips.get("views", "even")] if numbers else ["frames"]
        parts += program
        notes += "The code is for videos of a constant frame rate. "
    if clips and theirs:
        notes += "If it gets a path, `pipeline` takes another clip, spread over the whole video. "
    code = "".join(map(read_yaml(Path(__file__).with_suffix(".yaml")).__getitem__, parts))
    for name, value in values.items():
        code = code.replace(name, str(value))
    return (
        f"## Load it\n\nIn this folder:\n\n```python\n{code}```\n\n{notes}The model's input is float32, "
        f"`(batch, {axes}, height, width)`{pixels}. Its output is logits, `(batch, classes)`.\n"
    )
