"""Effects of each setting, in one list that a test compares with all constructors and the command line."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

# Settings that may name a class of the user's own, whose code is then part of a run's identity. Identities and
# checkpoints leave out those that the user does not give
OWN_PARTS = ("embedding", "readout", "aggregation")
OWN_CODE = ("attention_type", *OWN_PARTS, "loss", "metric")

# Effects of model settings:
# function: on the output alone; the weights keep their names and shapes, so that others would load silently
# shape: names or shapes of the weights
# clip, classes: decided by the data set
# files, start: weights before training
# training: weights after training; machine: time and memory
# test: numbers of a test
Effect = Literal["function", "shape", "clip", "classes", "files", "start", "training", "machine", "test"]

MODEL: dict[Effect, tuple[str, ...]] = {
    "function": (
        *("window", "boundary", "ratio", "mixed", "layers", "scope", "exact", "causal", "segments"),
        *("summary", "num_summary_tokens", "summary_before_norm", "cls_in_summary", "summary_layers"),
        *("attention_type", *OWN_PARTS),
        *("cls_in_time", "variant", "order", "temporal", "pool", "sampled_frames"),
        *("architecture", "alpha", "size.num_heads", "size.eps", "size.gelu"),
    ),
    "shape": (
        *("size.embed_dim", "size.depth", "size.mlp_ratio", "size.norm_pre", "size.registers"),
        *("patch_size", "tubelet_size"),
        *("positions", "ta_layers", "ta_attention", "hidden_head", "temporal_depth", "num_latents", "reads", "probe"),
        *("depth", "width", "beta_inv", "x3d_width", "x3d_depth"),
    ),
    "clip": ("num_frames", "image_size"),
    "classes": ("num_classes", "several_labels"),
    "files": ("weights", "image_weights"),
    "start": (
        *("weights_settings", "weights_source", "weights_ema", "image_pixels"),
        *("tubelet_init", "position_std", "zero_head", "zero_temporal", "class_token"),
    ),
    "training": ("optimization", "freeze", "dropout", "drop_path_rate", "task_loss", "loss", "metric"),
    "machine": ("activation_checkpointing",),
    "test": ("view_average",),
}

# clip: shape of a clip; pixels: pixel values; views: frames and crops of a video; counts: number of test views
# test: other test settings; videos: list of videos and labels; folds: videos of each split
# folders: location of the videos; broken: unreadable videos; draws: which test videos are one draw for statistics
DataEffect = Literal[
    "clip", "pixels", "views", "counts", "test", "training", "machine", "folders", "videos", "folds", "broken", "draws"
]

DATA: dict[DataEffect, tuple[str, ...]] = {
    "clip": ("num_frames", "image_size"),
    "pixels": ("mean", "std", "channels"),
    "views": ("sampling", "views", "short", "short_side", "test_image_size"),
    "counts": ("test_clips", "test_crops"),
    "test": ("test_orders", "groups"),
    "training": ("batch_size", "augmentation", "seed", "train_share", "features", "order", "pairing", "lesson"),
    "machine": ("num_workers", "keep_gb", "source", "divides_videos"),
    "folders": ("root", "manifest"),
    "videos": (
        *("fps", "missing", "classes", "least_videos", "split"),
        *(
            "train",
            "val",
            "test",
            "path_column",
            "label_column",
            "columns",
            "label_separator",
            "split_column",
            "reverse_column",
        ),
        *("skills", "length", "frames_per_step", "side", "difficulty", "test_difficulty", "pairs", "fresh", "drawing"),
    ),
    "folds": ("train_values", "val_values", "test_values"),
    "broken": ("broken", "broken_percent"),
    "draws": ("draw_column",),
}

DEFAULT_OPTIMIZER = "sgd"
# settings of model.optimization that an optimizer does not read
UNREAD: dict[str, tuple[str, ...]] = {
    "sgd": ("betas",),
    "adamw": ("momentum", "nesterov"),
    "muon": ("momentum", "nesterov", "betas", "decay_all"),
    "logistic": (
        *("lr", "momentum", "nesterov", "betas", "weight_decay", "decay_all", "layer_decay"),
        *("warmup", "warmup_start", "milestones", "cooldown", "whole_cosine"),
    ),
}

# top-level settings besides model, data and trainer; rows: sections of experiment files
RUN_KEYS: dict[Literal["rows", "training", "machine"], tuple[str, ...]] = {
    "rows": ("table", "recipes", "scale"),
    "training": ("global_batch", "float32_products"),
    "machine": ("checkpoint_every", "nan", "compile", "wandb_artifact"),
}


def model_names(*effects: Effect) -> tuple[str, ...]:
    """Return the names of model settings with these effects; a dotted name is a part of one setting."""
    return sum((MODEL[effect] for effect in effects), ())


def data_names(*effects: DataEffect) -> tuple[str, ...]:
    """Return the names of data set settings with these effects."""
    return sum((DATA[effect] for effect in effects), ())


def model_keys(*effects: Effect) -> tuple[str, ...]:
    """Return the keys of model settings with these effects in a resolved configuration."""
    return tuple(f"model.init_args.{name}" for name in model_names(*effects))


def data_keys(*effects: DataEffect) -> tuple[str, ...]:
    """Return the keys of data set settings with these effects in a resolved configuration."""
    return tuple(f"data.init_args.{name}" for name in data_names(*effects))


def picked(settings: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the settings with these names, in the order of ``names``, without missing ones."""
    return {name: settings[name] for name in names if name in settings}


def of_group(settings: Mapping[str, Any], group: str) -> dict[str, Any]:
    """Return a group's settings without the group's name: for ``model``, ``model.window`` becomes ``window``."""
    start = f"{group}."
    return {key.removeprefix(start): value for key, value in settings.items() if key.startswith(start)}
