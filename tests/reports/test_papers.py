"""Test results by paper: verdicts on its claims, its tables in its order, follow-ups folded under theirs."""

import re
from html import unescape

import pytest

from lit_video.__main__ import main
from tests.fake_runs import EXPERIMENTS, write_table_runs


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    runs = folder / "runs"
    small = {"seeds": 1, "classes": 2, "videos": 20}
    for name in ("vivit_models", "vivit_backbones", "ablation_tw", "ablation_ta"):
        write_table_runs(runs, name, "embedded", **small)
    write_table_runs(runs, "ablation_tw", "embedded_even", **small)
    write_table_runs(runs, "avletters", "cpu", rows=["divided", "joint"], **small)
    command = ["report", str(runs), "-o", str(folder / "page.html"), "--experiments", str(EXPERIMENTS)]
    assert main(command) == 0
    return (folder / "page.html").read_text()


@pytest.mark.slow
def test_the_page_has_each_papers_verdicts_and_then_its_tables_in_its_order(html):
    anchors = re.findall(r'<h[23] id="((?!reading)[^"]+)"', html)
    assert anchors == [
        *("X-ViT-arXiv-2106-05968", "ablation_tw-embedded", "ablation_tw-embedded_even", "ablation_ta-embedded"),
        *("ViViT-arXiv-2103-15691", "vivit_models-embedded", "vivit_backbones-embedded"),
        *("Other-tables", "avletters-cpu"),
    ]
    claims = [place.start() for place in re.finditer("What the paper claims", html)]
    places = [html.index(f'id="{anchor}"') for anchor in anchors]
    assert places[0] < claims[0] < places[1] and places[4] < claims[1] < places[5]
    kinds = set(re.findall(r'<article class="claim (.*?)"', html))
    assert kinds and kinds <= {"supported", "contradicted", "alike", "undecided", "untested", "not-run"}


@pytest.mark.slow
def test_follow_ups_are_folded_under_their_table(html):
    (fold,) = re.findall(r'<details class="follow-up">.*?<h3 id="([^"]+)"', html, re.DOTALL)
    assert fold == "ablation_tw-embedded_even"
    assert "Follow-up at scale <b>embedded_even</b>: the ends of a window of 2 lack the odd distances" in html


def test_terminal_and_page_give_one_verdict(tmp_path, capsys):
    write_table_runs(tmp_path, "ablation_tw", "embedded", seeds=2, classes=2, videos=200)
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path), "-o", str(page), "--experiments", str(EXPERIMENTS)]) == 0
    tally = capsys.readouterr().err.splitlines()[1]
    opening, _, counts = tally.rstrip(".").partition(": ")
    assert opening == "3 claims of the papers, tried by small models on other data than theirs"
    assert main(["table", "--config", str(EXPERIMENTS / "ablation_tw.yaml"), "--runs", str(tmp_path)]) == 0
    printed, shown = capsys.readouterr().out, unescape(page.read_text())
    assert tally in printed and opening in shown
    for words, number, after in re.findall(r"([a-z ]+?) (\d+)(?: \((\d+) after correction\))?(?:, |$)", counts):
        survived = f", {after} after correction" if after not in ("", "0") else ""
        assert f">{number} {words}{survived}</span>" in shown
        words = words.strip().replace("N points", "")
        assert len(re.findall(rf"^- {words}", printed, re.MULTILINE)) == int(number)
    (order,) = (line for line in printed.splitlines() if line.startswith("Order of"))
    assert "all tested at once (Holm), our runs support" in order and order in shown
