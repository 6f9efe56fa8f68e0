"""Test that docs/settings.md cites files of the right data set and shows everything in which rows of a table differ."""

import re
import sys
from itertools import combinations

import pytest

from lit_video.tables.reading import read_table
from lit_video.utils.yaml_files import read_yaml
from tests.tables.experiments import EXPERIMENTS, PAPERS

SCRIPTS = EXPERIMENTS.parent / "docs" / "scripts"
# folders of the releases' configurations, by data set
FOLDERS = {
    "ssv2": ("SSv2", "something_something_v2"),
    "k400": ("Kinetics", "kinetics400"),
    "k600": ("Kinetics", "kinetics600"),
    "epic100": ("epic_kitchens",),
}
FOLDER = re.compile(r"(?<![A-Za-z0-9_])(SSv2|something_something_v2|Kinetics|kinetics400|kinetics600|epic_kitchens)/")


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(SCRIPTS))
    try:
        import settings_page

        yield settings_page
    finally:
        sys.path.remove(str(SCRIPTS))


def cells(facts):
    """Yield family, scale and recipe of each cell, its setting, and the file or section that it names."""
    for family, scales in facts.items():
        for scale, recipes in scales.items():
            for recipe, given in recipes.items():
                for key, (_, where) in given["says"].items():
                    yield (family, scale, recipe), key, where


def test_each_cell_names_a_file_of_its_own_data_set(script):
    found = list(cells(script.read_facts()))
    named = 0
    for place, key, where in found:
        assert "{file}" not in where, (place, key)
        assert where, (place, key)
        for folder in FOLDER.findall(where):
            assert folder in FOLDERS.get(place[1], ()), (place, key, where)
            named += 1
    assert len(found) > 200
    assert named > 60


def test_k600_s_files_are_not_those_of_k400(script):
    for place, key, where in cells(script.read_facts()):
        if place[1] == "k600" and place[0] != "timesformer":  # TimeSformer has one file for both
            assert "k400" not in where, (place, key)


def test_each_value_without_a_source_has_a_reason(script):
    facts = script.read_facts()
    assert script.unexplained(facts) == []
    del facts["xvit"]["ssv2"]["paper"]["why"]["gradient clip"]
    assert "xvit ssv2 paper: gradient clip" in script.unexplained(facts)


def test_rows_that_differ_in_a_setting_differ_on_the_page(script):
    shown = 0
    for path in PAPERS:
        for scale in script.SCALES:
            content = read_yaml(EXPERIMENTS / "scale" / f"{scale}.yaml")
            parts = list(script.table_part(path, scale, content))
            if not parts:
                continue
            lines = [line.split(" | ")[1:] for line in parts[1].splitlines()[2:]]
            rows = read_table([path, EXPERIMENTS / "scale" / f"{scale}.yaml"]).rows
            assert len(lines) == len(rows)
            for (one, its), (other, others) in combinations(zip(rows, lines, strict=True), 2):
                assert (its != others) or one.settings == other.settings, (path.stem, scale, one.name, other.name)
            shown += 1
    assert shown > 40


@pytest.mark.parametrize("figure", [3, 4, 5, 6])
def test_timesformer_s_figures_are_shown(figure):
    text = (EXPERIMENTS.parent / "docs" / "settings.md").read_text(encoding="utf-8")
    assert f"arXiv:2102.05095, Fig. {figure} " in text
