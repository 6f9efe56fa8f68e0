"""Writers of every kind of file of weights."""

import argparse

import msgpack
import torch
from safetensors.torch import save_file


def flax_bytes(content):
    """Serialise like ``flax.serialization.msgpack_serialize``: extended type 1 is (shape, dtype, bytes)."""

    def packed(value):
        name = str(value.dtype).removeprefix("torch.")
        raw = value.contiguous().view(torch.uint8).numpy().tobytes() if value.ndim else value.numpy().tobytes()
        return msgpack.ExtType(1, msgpack.packb((tuple(value.shape), name, raw), use_bin_type=True))

    return msgpack.packb(content, default=packed, strict_types=True)


def nested(tensors):
    """Turn names with slashes into mappings of mappings."""
    tree = {}
    for name, value in tensors.items():
        *parents, leaf = name.split("/")
        place = tree
        for parent in parents:
            place = place.setdefault(parent, {})
        place[leaf] = value
    return tree


def prefixed(prefix):
    return lambda tensors: {prefix + name: value for name, value in tensors.items()}


WRAPPERS = {
    "plain": dict,
    "module": prefixed("module."),
    "compiled": prefixed("_orig_mod."),
    "module, compiled": prefixed("module._orig_mod."),
    "compiled, module": prefixed("_orig_mod.module."),
    "model, module": prefixed("model.module."),
    "network, compiled": prefixed("network._orig_mod."),
    "compiled parts": lambda tensors: {name.replace(".", "._orig_mod."): value for name, value in tensors.items()},
    "model_state": lambda tensors: {"epoch": 3, "model_state": tensors, "optimizer_state": {"state": {}, "groups": []}},
    "state_dict": lambda tensors: {"state_dict": prefixed("module.")(tensors), "global_step": 10},
    "model": lambda tensors: {"model": tensors, "optimizer": {"state": {0: {"exp_avg": torch.ones(2)}}, "groups": []}},
    "arguments beside": lambda tensors: {"model": tensors, "args": argparse.Namespace(lr=1e-3, name="vit"), "epoch": 3},
    "DeepSpeed": lambda tensors: {"module": tensors},
    "average alone": lambda tensors: {"state_dict_ema": tensors},
    "average, module": lambda tensors: {"model_ema": prefixed("module.")(tensors), "epoch": 1},
}


def save_torch(content, path):
    torch.save(content, path / "weights.pth")
    return path / "weights.pth"


def save_legacy(content, path):
    torch.save(content, path / "weights.pyth", _use_new_zipfile_serialization=False)
    return path / "weights.pyth"


def save_safetensors(tensors, path):
    save_file(tensors, path / "weights.safetensors")
    return path / "weights.safetensors"


def save_folder(tensors, path):
    save_file(tensors, path / "model.safetensors")
    (path / "config.json").write_text('{"architectures": ["Model"]}')
    return path


FLAT = {
    "torch": save_torch,
    "legacy": save_legacy,
    "safetensors": save_safetensors,
    "folder": save_folder,
}


def save_flax(place):
    def save(tensors, path):
        content = nested(tensors)
        for key in reversed(place.split("/")) if place else []:
            beside = {"state": {"m": torch.zeros(1)}} if key == "target" else {}
            content = {key: content, **beside}
        (path / "checkpoint").write_bytes(flax_bytes(content))
        return path / "checkpoint"

    return save


OF_FLAX = {
    "flax": save_flax(""),
    "flax params": save_flax("params"),
    "flax optimizer/target": save_flax("optimizer/target"),
}
