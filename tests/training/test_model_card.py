"""Test that the model card says what a run measured."""

import re

import numpy as np
import pytest
import yaml
from markdown_it import MarkdownIt

from lit_video.reports.card import headline, model_card
from lit_video.runs.predictions import Draws, save_logits
from lit_video.utils.text import printable
from tests.fake_runs import change_result


def test_a_card_counts_what_was_right_and_what_was_confused(finished):
    logits = np.eye(3, dtype=np.float32)[[0, 0, 1, 1, 1, 2]]
    save_logits(finished, np.arange(6), {"": (logits, np.array([0, 0, 0, 1, 1, 1]), ["walk", "sit", "fall"])})
    change_result(finished, test_videos=6, metrics={"test/video_top1": 400 / 6})
    card = model_card(finished)
    assert "66.7 % of 6 test videos are right (95 % interval 30 to 90 %, if" in card
    assert "- Baseline: always answering 'walk' gives 50.0 %; the model is not better for certain" in card
    assert "| walk | 3 | 67 |" in card and "fall |" not in card
    assert "- Most often confused: 'walk' taken for 'sit' (1); 'sit' taken for 'fall' (1)" in card
    assert [f"- {line}" in card for line in headline(finished)] == [True] * 4
    assert "- In words: in the long run, 30 to 90 of 100 new videos like these are named right" in card


@pytest.mark.parametrize("groups", [6, 2, 1])
def test_a_card_counts_recordings_where_videos_of_one_are_near_equal(groups, finished):
    """Twenty-four clips of 6, 2 or 1 recordings, right but for one recording, or half of the only one."""
    number = np.arange(24) * groups // 24
    target = np.arange(24) % 2
    wrong = number == 0 if groups > 1 else np.arange(24) < 4
    logits = np.eye(2, dtype=np.float32)[np.where(wrong, 1 - target, target)]
    said = {}
    for draws in (None, Draws("group", number)):
        save_logits(finished, np.arange(24), {"": (logits, target, ["walk", "sit"])}, draws=draws)
        change_result(finished, test_videos=24, metrics={"test/video_top1": 100 * float((~wrong).mean())})
        said[draws is None] = headline(finished)
    over_videos, over_groups = (
        [int(end) for end in re.search(r"95 % interval (\d+) to (\d+) %", said[kind][0]).groups()]
        for kind in (True, False)
    )
    if groups == 6:
        assert (
            over_groups[0] < over_videos[0] and over_videos[1] <= over_groups[1] and "over 6 groups" in said[False][0]
        )
    else:
        assert over_groups == over_videos and ("this group" if groups == 1 else "these 2 groups") in said[False][0]
    if groups != 2:
        assert said[True][2].endswith("the model is better") and not said[False][2].endswith("the model is better")
    low, high = over_groups
    kind = {6: "videos like these", 2: "videos of these 2 groups", 1: "videos of this group"}[groups]
    assert f"{low} to {high} of 100 new {kind}" in said[False][1]


def test_of_several_tasks_a_video_is_right_in_all_of_them(finished):
    """Count a video as right only if all of its tasks are."""
    eye = np.eye(3, dtype=np.float32)
    verb = (eye[[0, 0, 1, 1]], np.array([0, 0, 1, 1]), ["take", "put", "cut"])
    noun = (eye[[0, 0, 0, 1]], np.array([0, 1, 2, 2]), ["cup", "pan", "egg"])
    save_logits(finished, np.arange(4), {"verb": verb, "noun": noun})
    change_result(finished, test_videos=4, metrics={"test/video_top1": 25.0})
    card = model_card(finished)
    assert "25.0 % of 4 test videos are right in verb and noun (95 %" in card
    assert "- verb: Baseline: always answering 'take' gives 50.0 %" in card
    assert "- noun: Baseline: always answering 'egg' gives 50.0 %" in card
    verbs, nouns = card.split("### verb")[1].split("### noun")
    assert "| take | 2 | 100 |" in verbs and "| egg | 2 | 0 |" in nouns
    assert (
        "verb: Most often confused" not in card
        and "noun: Most often confused: 'pan' taken for 'cup' (1); 'egg'" in card
    )


def test_names_make_no_html_no_picture_no_line_and_no_cell(finished):
    name = "a|b\n# c <img src=x> ![d](http://e.example/f.png)\x1b[2J\r\u202e"
    logits = np.eye(2, dtype=np.float32)[[0, 1, 1]]
    tasks = {each: (logits, np.array([0, 0, 1]), [f"{i} {name}" for i in range(2)]) for each in (name, "noun")}
    save_logits(finished, np.arange(3), tasks)
    change_result(finished, test_videos=3, table=name, device=name, command=name, metrics={f"test/{name}_top1": 50.0})
    _, front, text = model_card(finished).split("---\n", 2)
    assert yaml.safe_load(front)["pipeline_tag"] == "video-classification"
    assert [line for line in text.split("\n") if line != printable(line)] == []
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    kinds = [each.type for token in tokens for each in (token, *(token.children or ()))]
    assert not {"html_block", "html_inline", "image"} & {*kinds}
    assert kinds.count("tr_open") * 3 == kinds.count("td_open") + kinds.count("th_open") > 0
    assert "".join(token.tag for token in tokens if token.type == "heading_open") == "h1h2h2h3h3h2h2"
