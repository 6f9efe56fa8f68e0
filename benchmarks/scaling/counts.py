"""Counts of the planned models: no time is taken, nothing is computed."""

from typing import Any

from models import ROOT, planned

from lit_video.benchmark.models import Clip, schemes
from lit_video.costs.activations import training_pass
from lit_video.costs.published import published
from lit_video.network.block import Block
from lit_video.network.vit import SIZES
from lit_video.utils.yaml_files import read_yaml


def count_models() -> dict[str, dict[str, Any]]:
    """Parameters, multiply-adds, bytes kept for the backward pass under bfloat16, operators; by model."""
    rows = {}
    for plan in planned():
        network = plan.model.build().network
        params, macs = plan.model.count()
        blocks = [sum(p.numel() for p in m.parameters()) for m in network.modules() if isinstance(m, Block)]
        one, two = (training_pass(network, plan.shape(batch), bfloat16=True) for batch in (1, 2))
        rows[plan.name] = {
            "label": plan.model.label,
            "frames": plan.model.frames,
            "image_size": plan.model.image_size,
            "epochs": plan.epochs,
            "global_batch": plan.global_batch,
            "parameters": params,
            "macs": macs,
            "blocks": len(blocks),
            "largest_block": max(blocks),
            "kept_bytes": 2 * one.saved - two.saved,
            "clip_bytes": two.saved - one.saved,
            "input_bytes": two.inputs - one.inputs,
            "operators": one.operators,
        }
    return rows


def count_paper() -> dict[str, float]:
    """What the one paper that gives hours computed in them: TimeSformer, 8 x 224, on Kinetics-400."""
    table = read_yaml(ROOT / "experiments" / "timesformer_cnns.yaml")["table"]
    recipe = read_yaml(ROOT / "experiments" / "scale" / "k400.yaml")["recipes"]["timesformer"]["paper"]
    model = next(each for each in published() if each.label == "divided, T+S")
    hours = table["rows"]["timesformer_21k"]["paper"]["V100 hours"]
    return {"macs": model.count()[1], "epochs": recipe["trainer.max_epochs"], "v100_hours": hours}


def count_measured(stored: dict[str, Any]) -> list[dict[str, Any]]:
    """Beside measured peaks of ``benchmark model`` in float32: weights and what autograd keeps, counted."""
    builders = schemes(SIZES[stored["size"]], Clip(stored["rows"][0]["frames"], stored["image_size"]))
    rows = []
    for row in stored["rows"]:
        if row["model"] in builders and row.get("train_memory"):
            shape = (stored["batch"], 3, row["frames"], stored["image_size"], stored["image_size"])
            saved = training_pass(builders[row["model"]]().network, shape, bfloat16=False).saved
            counted = 4 * row["params"] + saved
            rows.append({"model": row["model"], "counted_bytes": counted, "peak_bytes": row["train_memory"]})
    return rows
