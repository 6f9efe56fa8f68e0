"""Test the page of a single model of the user's own videos: what its owner asks comes first, in plain words."""

import re

import numpy as np
import pytest
import yaml

from lit_video.tables.reading import write_origin
from tests.fake_runs import change_result, write_run

JARGON = r"GMACs|muon|temperature|[Ss]cale|seed\b|top-1|epoch|params|Rows|multiply"
TABLE = {"title": "Videos of wards", "source": "/wards", "scale": "own", "metric": "test/video_top1"}
TRAINED = {"optimization": {"optimizer": "muon", "lr": 3e-3}}


@pytest.fixture
def own_page(tmp_path, write_report):
    """Function that makes the page of models that favour the right class by a skill, by row."""

    def make(**skills):
        rows = {row: {"label": f"X-ViT {row}"} for row in skills}
        model = {"class_path": "XViT", "init_args": TRAINED}
        file = tmp_path / "wards.yaml"
        file.write_text(yaml.safe_dump({"table": TABLE | {"rows": rows}, "model": model}))
        target = np.arange(60) % 3
        for row, skill in skills.items():
            folder = tmp_path / "runs/wards/own" / row / "seed0"
            write_run(folder, np.random.default_rng(0), target, 3, skill)
            change_result(folder, identity={"settings": {"model": model}})
        write_origin(tmp_path / "runs/wards/own", [file], None)
        return write_report(tmp_path / "runs")

    return make


def texts(page):
    """Return the texts of a page as a browser shows them, without styles, scripts and pictures."""
    shown = re.sub(r"<(script|style|svg|head).*?</\1>", "", page, flags=re.DOTALL)
    return re.sub(r"<[^>]+>", " ", shown)


def test_what_an_owner_asks_comes_first_and_without_jargon(own_page):
    page = texts(own_page(xvit=3.0))
    first, folded = page.split("For researchers")
    opening = first[first.index("Videos of wards") :]
    asked = ["60 test videos are right", "In words", "Baseline", "Next, name the class", "Accuracy by class"]
    places = [opening.index(words) for words in asked]
    assert places == sorted(places)
    assert re.findall(JARGON, opening.partition("How this page was made")[0]) == []
    assert re.findall(JARGON, opening.partition("The answer")[2]) == []
    assert "muon" in folded and "params" in folded and "training top-1" not in first


def test_the_page_of_a_useless_model_tells_no_command_to_use_it(own_page):
    page = texts(own_page(xvit=-5.0))
    assert "of no use yet" in page and "--minutes" in page and "lit_video predict" not in page


def test_the_page_of_several_models_is_a_table_of_them(own_page):
    page = texts(own_page(xvit=3.0, divided=1.0))
    assert "For researchers" not in page and "of no use" not in page
    assert "params" in page and "Differences between rows" in page and "scale own" not in page
