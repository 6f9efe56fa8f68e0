"""Test the page for an owner of videos: the way to the first answer is short, and its example is what is printed."""

import re

import numpy as np

from lit_video.reports.card import accuracy_facts
from lit_video.runs.predictions import Draws, read_predictions, save_logits
from tests.conftest import ROOT
from tests.fake_runs import fake_run

PAGE = (ROOT / "docs/own_videos.md").read_text(encoding="utf-8")
SCREEN = 45  # lines


def form(line):
    """Return a printed line without its numbers and names."""
    without = re.sub(r"'[^']*'|\d+(\.\d+)?", "#", line)
    return re.sub(r"(# taken for # \(#\)(; )?)+", "# taken for #", without)


def test_the_way_to_an_answer_fits_one_screen_without_jargon():
    first = PAGE.split("\n## ")[0].splitlines()
    assert len(first) <= SCREEN
    way = "\n".join(first)
    steps = ["**1. ", "lit_video finetune ", "In words: ", "Baseline: ", "what to do", "lit_video predict --ckpt RUN"]
    places = [way.index(step) for step in steps]
    assert places == sorted(places)
    assert re.findall(r"GMACs|epoch|logits|optimi[sz]er|learning rate|checkpoint|YAML|backbone", way) == []


def test_the_example_is_in_the_words_of_the_program(tmp_path):
    """Videos of eight groups, right in seven, so that the model is better for certain."""
    number = np.arange(48) // 6
    target = np.arange(48) % 3
    predicted = np.where(number < 7, target, (target + 1) % 3)
    logits = np.eye(3, dtype=np.float32)[predicted]
    save_logits(tmp_path, np.arange(48), {"": (logits, target, ["a", "b", "c"])}, draws=Draws("group", number))
    run = fake_run({}, folder=tmp_path, test_videos=48, metrics={"test/video_top1": 100 * float((number < 7).mean())})
    facts = accuracy_facts(run, read_predictions(tmp_path, run.result))

    (example,) = re.findall(r"```text\n(.*?)\n```", PAGE, re.DOTALL)
    assert [form(line) for line in example.splitlines()] == [form(fact) for fact in facts]
