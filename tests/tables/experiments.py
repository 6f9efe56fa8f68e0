"""The files of experiments: the papers' tables, and our own."""

from tests.fake_runs import EXPERIMENTS

_OWN = ("avletters", "avletters_length", "causal", "room_actions", "skills")
OWN = [EXPERIMENTS / f"{name}.yaml" for name in _OWN]
PAPERS = sorted(set(EXPERIMENTS.glob("*.yaml")) - set(OWN))
