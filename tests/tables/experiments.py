"""The files of experiments: the papers' tables, and our own."""

from pathlib import Path

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
OWN = [EXPERIMENTS / f"{name}.yaml" for name in ("avletters", "avletters_length", "room_actions", "skills")]
PAPERS = sorted(set(EXPERIMENTS.glob("*.yaml")) - set(OWN))
