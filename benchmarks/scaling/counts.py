"""Counts of the planned models: no time is taken, nothing is computed."""

from typing import Any

from models import ROOT, planned
from torch import nn

from lit_video.costs.operators import operators
from lit_video.costs.peak import training_peak
from lit_video.costs.published import published
from lit_video.costs.scaling import WORD
from lit_video.modules.optimization import Optimization
from lit_video.network.block import Block, checkpoint_layers
from lit_video.utils.yaml_files import read_yaml


def count_models() -> dict[str, dict[str, Any]]:
    """Parameters, multiply-adds, operators, and bytes at the peak of a step under bfloat16; by model."""
    rows = {}
    for plan in planned():
        network = plan.model.build().network
        params, macs = plan.model.count()
        blocks = [sum(p.numel() for p in m.parameters()) for m in network.modules() if isinstance(m, Block)]
        one, two = (_peak(network, plan.shape(batch)) for batch in (1, 2))
        checkpoint_layers(network, "block")
        small, large = (_peak(network, plan.shape(batch)) for batch in (1, 2))
        checkpoint_layers(network, "none")
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
            "kept_bytes": 2 * one - two - 3 * WORD * params,
            "clip_bytes": two - one,
            "checkpointed_bytes": large - small,
            "operators": operators(network, plan.shape(1), bfloat16=True),
        }
    return rows


def _peak(network: nn.Module, shape: tuple[int, ...]) -> int:
    return training_peak(network, shape, Optimization(), bfloat16=True).total


def count_paper() -> dict[str, float]:
    """What the one paper that gives hours computed in them: TimeSformer, 8 x 224, on Kinetics-400."""
    table = read_yaml(ROOT / "experiments" / "timesformer_cnns.yaml")["table"]
    recipe = read_yaml(ROOT / "experiments" / "scale" / "k400.yaml")["recipes"]["timesformer"]["paper"]
    model = next(each for each in published() if each.label == "divided, T+S")
    hours = table["rows"]["timesformer_21k"]["paper"]["V100 hours"]
    return {"macs": model.count()[1], "epochs": recipe["trainer.max_epochs"], "v100_hours": hours}
