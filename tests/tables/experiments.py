"""The files of experiments: the papers' tables, and our own."""

from pathlib import Path

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
_OWN = ("avletters", "avletters_length", "causal", "room_actions", "skills")
OWN = [EXPERIMENTS / f"{name}.yaml" for name in _OWN]
PAPERS = sorted(set(EXPERIMENTS.glob("*.yaml")) - set(OWN))
