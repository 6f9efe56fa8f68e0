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


def export_model(ckpt: Path, to: str, folder: Path) -> tuple[str, str]:
    """Write a run's model into a folder, created if missing; return a summary and the code that loads it.

    ``to`` is a key of ``TARGETS`` or ``WRITERS``. ``safetensors`` writes weights and settings, for ``model.weights``.

    Raises:
        UserError: the checkpoint is wrong, a library is missing, the target does not support the model, or logits of
            the exported program differ from the model's.
        OSError: a file cannot be written.
    """
    checkpoint = read_checkpoint(ckpt)
    write = _for_transformers if to in TARGETS else _program
    summary = write(checkpoint, ckpt, to, folder=folder)
    return summary, how_to_load(checkpoint, to)


def _for_transformers(checkpoint: Mapping[str, Any], ckpt: Path, to: str, *, folder: Path) -> str:
    """Write weights, configuration and preprocessor as transformers reads them; return what was written."""
    family, renamed = TARGETS[to]
    is_vivit = family is ViViT
    model = build_model(checkpoint, family, ckpt)
    stored = of_our_own(checkpoint)

    try:
        # no class of transformers computes these three
        if isinstance(model.num_classes, dict):
            raise ValueError("classes of transformers have one head, but this model has several")
        height, width = height_and_width(model.hparams["image_size"])
        if height != width:
            raise ValueError(
                f"clips of {height} x {width} pixels: transformers' preprocessors crop squares; use --to pt2"
            )
        if getattr(model.network, "readout", None) is mean_frame_token:
            raise ValueError("with space attention, transformers gives the logits of every frame, not their mean")

        weights = renamed(model.network)
        preprocessor = _preprocessor(stored.clips, is_vivit)
    except ValueError as error:
        raise OptionError(f"to {to}", error) from error

    config = _config(model.hparams, stored.class_names, is_vivit)
    config["hidden_act"] = HIDDEN_ACT[gelus_of(model.network).pop()]
    if model.several_labels:
        config["problem_type"] = "multi_label_classification"

    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    _write_json(folder / "config.json", config)
    if preprocessor:
        _write_json(folder / "preprocessor_config.json", preprocessor)
    return f"{folder} for {config['architectures'][0]}"


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _preprocessor(data: Mapping[str, Any], is_vivit: bool) -> dict[str, Any]:
    """Return the preprocessor's configuration for the centre view; empty if ``data`` is empty."""
    if not data:
        return {}
    if (channels := data.get("channels", "rgb")) != "rgb":
        raise ValueError(f"the model sees {channels} pixels, but transformers' preprocessors give rgb")

    side = height_and_width(data["image_size"])[0]
    square = {"height": side, "width": side}
    whole = data.get("views") == "whole"
    return {
        "image_processor_type": "VivitImageProcessor" if is_vivit else "VideoMAEImageProcessor",
        "size": square if whole else {"shortest_edge": side},
        "crop_size": square,
        "do_resize": True,
        "do_rescale": True,
        "do_normalize": True,
        "do_center_crop": not whole,
        "offset": is_vivit,
        "rescale_factor": 1 / 255,
        "image_mean": [mean - is_vivit for mean in of_channels(data["mean"])],  # ViViT's processor subtracts 1
        "image_std": [*of_channels(data["std"])],
    }


def _config(hparams: Mapping[str, Any], names: list[str] | None, is_vivit: bool) -> dict[str, Any]:
    """Return the configuration of a model's class in transformers, but for its activation."""
    size = vit_size(hparams["size"])
    patch_size = hparams["patch_size"]
    labels = names or [f"LABEL_{i}" for i in range(hparams["num_classes"])]
    config = {
        "num_channels": 3,
        "qkv_bias": True,
        "layer_norm_eps": size.eps or 1e-6,
        "num_frames": hparams["num_frames"],
        "image_size": height_and_width(hparams["image_size"])[0],
        "hidden_size": size.embed_dim,
        "num_hidden_layers": size.depth,
        "num_attention_heads": size.num_heads,
        "intermediate_size": round(size.embed_dim * size.mlp_ratio),
        "id2label": dict(enumerate(labels)),
        "label2id": {label: number for number, label in enumerate(labels)},
    }
    if is_vivit:
        return config | {
            "architectures": ["VivitForVideoClassification"],
            "model_type": "vivit",
            "tubelet_size": [hparams["tubelet_size"], patch_size, patch_size],
        }

    attention = hparams["attention_type"].rpartition(".")[2].lower()
    return config | {
        "architectures": ["TimesformerForVideoClassification"],
        "model_type": "timesformer",
        "patch_size": patch_size,
        "attention_type": f"{attention}_space_time",
    }


Program = Callable[[Tensor], Tensor]
BATCHES = {0: torch.export.Dim("batch")}  # axes of the input that may have any size
TOLERANCE = 1e-4  # largest difference of a logit, relative to the largest logit, in float32


def _program(checkpoint: Mapping[str, Any], ckpt: Path, to: str, *, folder: Path) -> str:
    """Write a model for any batch size, verify it with one and three clips, and write ``settings.json``.

    The settings are class names, frames, size, sampling, mean and standard deviation. The input ``clip`` is normalised,
    ``(b, 3, frames, height, width)``; the output is ``logits``.
    """
    stored = checkpoint.get(CHECKPOINT_KEY)
    if stored is None:
        raise OptionError("ckpt", f"{ckpt} has no clip settings: another program wrote it, or no data module was used")

    network = build_model(checkpoint, VideoClassifier, ckpt).network
    clip_shape = (stored["data"]["num_frames"], *height_and_width(stored["data"]["image_size"]))
    example = torch.randn(2, 3, *clip_shape)
    others = [torch.randn(batch, 3, *clip_shape) for batch in (1, 3)]

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"model.{to}"
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # exporters emit warnings about their own code
        program = WRITERS[to](network, example, path)
        differences = []
        for clip in others:
            expected = network(clip)
            differences.append((program(clip) - expected).abs().max() / expected.abs().max())

    difference = float(torch.stack(differences).max())  # NaN if any is NaN, unlike Python's max
    if not difference <= TOLERANCE:
        path.unlink()
        raise UserError(f"--to {to}: program deleted: its logits differ by {difference:.1e} of the largest logit")

    settings = stored | {
        "hyper_parameters": dict(checkpoint["hyper_parameters"]),
        "temperature": None,  # the weights already include it
        DIGEST: tensors_digest(load_file(path)) if to == "safetensors" else None,
    }
    _write_json(folder / EXPORTED, settings)
    return f"{path} for batches of any size, and {EXPORTED}; its logits differ by {difference:.0e}"


def _pt2(network: nn.Module, clip: Tensor, path: Path) -> Program:
    program = torch.export.export(network, (clip,), dynamic_shapes=(BATCHES,))
    torch.export.save(program, path)
    return torch.export.load(path).module()


def _onnx(network: nn.Module, clip: Tensor, path: Path) -> Program:
    if not (find_spec("onnxscript") and find_spec("onnxruntime")):
        raise OptionError("to onnx", 'onnxscript or onnxruntime is not installed: pip install "lit_video[onnx]"')

    torch.onnx.export(
        network,
        (clip,),
        path,
        input_names=["clip"],
        output_names=["logits"],
        dynamic_shapes=(BATCHES,),
        dynamo=True,
        external_data=False,
        verbose=False,
    )
    from onnxruntime import InferenceSession

    session = InferenceSession(path, providers=["CPUExecutionProvider"])

    def program(batch: Tensor) -> Tensor:
        (logits,) = session.run(None, {"clip": batch.numpy()})
        return torch.from_numpy(logits)

    return program


def _safetensors(network: nn.Module, clip: Tensor, path: Path) -> Program:
    weights = {name: value.contiguous() for name, value in network.state_dict().items()}
    save_file(weights, path)
    stored = load_file(path)
    return lambda batch: torch.func.functional_call(network, stored, (batch,))


WRITERS = {"pt2": _pt2, "onnx": _onnx, "safetensors": _safetensors}

# samplings for which the generated code chooses the frames of the centre clip, in videos of a constant frame rate
SAMPLINGS = {class_path(kind): kind for kind in (Dense, DenseStride, Segments)}


def _frame_choice(clips: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of the template that chooses frames, and its values; the name is empty if no template fits."""
    path, arguments = clips["sampling"].values()
    if path not in SAMPLINGS or clips.get("short", "repeat") != "repeat":
        return "", {}

    sampling = SAMPLINGS[path](**arguments)
    num_frames = clips["num_frames"]
    if isinstance(sampling, DenseStride) and sampling.counts_frames:
        length = num_frames * sampling.stride
        offsets = list(range(sampling.stride // 2, length, sampling.stride))
        return "counted", {"LENGTH": length, "OFFSETS": offsets}

    if isinstance(sampling, Dense):
        length_in_frames = f'Fraction("{sampling.seconds}") * rate'
    elif isinstance(sampling, DenseStride):
        length_in_frames = f'{num_frames * sampling.stride} * rate / Fraction("{sampling.fps}")'
    else:
        length_in_frames = "Fraction(total)"
    return "moments", {"LENGTH": length_in_frames}


def how_to_load(checkpoint: Mapping[str, Any], to: str) -> str:
    """Return Markdown: the code that loads an export, its input and its output."""
    clips = of_our_own(checkpoint).clips
    for_transformers = to.startswith("hf-")
    axes = "frames, 3" if for_transformers else "3, frames"
    code = _loading_code(checkpoint["hyper_parameters"] | clips, clips, to)

    notes = ""
    pixels = ""
    if clips:
        pixels = ": (x / 255 - {mean}) / {std}, x in 0 to 255, {channels}".format(**{"channels": "rgb"} | clips)
        notes += f"Frames: {clips['sampling']}; "
        notes += "the view is that of `lit_video predict --ckpt RUN --clips 1 --crops 1 VIDEO`. "
    if clips and to != "safetensors":
        notes += "The code is for videos of a constant frame rate. "
    if clips and for_transformers:
        notes += "If it gets a path, `pipeline` takes another clip, spread over the whole video. "

    return (
        f"## Load it\n\nIn this folder:\n\n```python\n{code}```\n\n{notes}The model's input is float32, "
        f"`(batch, {axes}, height, width)`{pixels}. Its output is logits, `(batch, classes)`.\n"
    )


def _loading_code(settings: Mapping[str, Any], clips: Mapping[str, Any], to: str) -> str:
    """Return Python that loads an export, and decodes and normalises a clip for it if ``clips`` are known."""
    height, width = height_and_width(settings["image_size"])
    values = {"COUNT": settings["num_frames"], "HEIGHT": height, "WIDTH": width}
    for_transformers = to.startswith("hf-")

    if clips and to != "safetensors":
        chooser, chosen = _frame_choice(clips)
        values |= {"MEAN": clips["mean"], "STD": clips["std"]} | chosen
        values["CHANNELS"] = "[..., ::-1]" if clips.get("channels") == "bgr" else ""
        # the code decodes a clip; where no template chooses its frames, zeros stand in for them
        templates = ["decode", chooser, clips.get("views", "even")] if chooser else ["frames"]
        templates += ["pipeline"] if for_transformers else ["clip", to]
    else:
        templates = ["unknown" if for_transformers else to]

    by_name = read_yaml(Path(__file__).with_suffix(".yaml"))
    code = "".join(by_name[name] for name in templates)
    for name, value in values.items():
        code = code.replace(name, str(value))
    return code
