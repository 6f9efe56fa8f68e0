"""Test that docs/settings.md has what ``--print-config`` prints, and that its facts speak of their data sets.

Findings of the third audit (S, D) are taken back, and found.
"""

import copy
import re
import sys
from dataclasses import replace
from itertools import combinations

import pytest

from benchmarks.papers import counts
from benchmarks.papers.shown import read_page, untrue
from lit_video.tables.reading import read_table
from tests.tables.experiments import EXPERIMENTS

SCRIPTS = EXPERIMENTS.parent / "docs" / "scripts"
PAGE = (EXPERIMENTS.parent / "docs" / "settings.md").read_text(encoding="utf-8")
SCALES = {"ssv2", "k400", "k600", "epic100", "diving48", "howto100m", "moments"}
# folders of the releases' configurations, by data set
FOLDERS = {
    "ssv2": ("SSv2", "something_something_v2"),
    "k400": ("Kinetics", "kinetics400"),
    "k600": ("Kinetics", "kinetics600"),
    "epic100": ("epic_kitchens",),
}
FOLDER = re.compile(r"(?<![A-Za-z0-9_])(SSv2|something_something_v2|Kinetics|kinetics400|kinetics600|epic_kitchens)/")


SHOWN = read_page()


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(SCRIPTS))
    try:
        import settings_page

        yield settings_page
    finally:
        sys.path.remove(str(SCRIPTS))


def cells(facts):
    """Yield family, scale and recipe of each fact, its setting, and the file or section that it names."""
    for family, scales in facts.items():
        for scale in SCALES & scales.keys():
            for recipe, given in scales[scale].items():
                for key, (_, where, *_) in given["says"].items():
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
    assert len(found) > 300
    assert named > 60


def test_k600_s_files_are_not_those_of_k400(script):
    for place, key, where in cells(script.read_facts()):
        if place[1] == "k600" and place[0] != "timesformer":  # TimeSformer has one file for both
            assert "k400" not in where, (place, key)


def test_the_facts_are_without_faults(script):
    assert script.faults(script.read_facts()) == []


def without_why(given):
    del given["why"]["gradient clip"]


def as_if_the_paper_said_it_of_kinetics(given):
    """Take back S5: the share of SSv2 entered as the paper's for Kinetics."""
    given["says"]["ratio"] = given["elsewhere"].pop("ratio")[:2]
    del given["why"]["ratio"]


def taken_over_in_silence(given):
    """Take back S5 in another way: a fact about SSv2, and no word that Kinetics' value is presumed."""
    del given["why"]["ratio"]


def our_word_in_place_of_the_paper_s(given):
    given["says"]["epochs"][2] = "as on SSv2"


def ours_differs(given):
    given["says"]["learning rate"][0] = 0.05


TAKEN_BACK = {
    without_why: "xvit k400 paper: gradient clip: not given for this data set",
    as_if_the_paper_said_it_of_kinetics: "xvit k400 paper: ratio: give the paper's words, and the data sets",
    taken_over_in_silence: "xvit k400 paper: ratio: not given for this data set, so say what is presumed",
    our_word_in_place_of_the_paper_s: "xvit k400 paper: epochs: 30 is not in the words 'as on SSv2'",
    ours_differs: "xvit k400 paper: learning rate: differs without a reason",
}


@pytest.mark.parametrize("fault", TAKEN_BACK, ids=lambda fault: fault.__name__)
def test_a_fact_needs_its_words_and_the_data_sets_that_they_speak_of(script, fault):
    facts = script.read_facts()
    fault(facts["xvit"]["k400"]["paper"])
    assert any(found.startswith(TAKEN_BACK[fault]) for found in script.faults(facts))


# settings of a recipe `paper`, as they were; what is found
OFF = {
    ("xvit", "model.ta_attention", "self"): ("TemporalAttention is unlike the paper and on: model.ta_attention",),
    ("xvit", "model.summary_before_norm", False): (
        "Mixing is unlike",
        "summary_before_norm is documented as in the paper",
    ),
    ("xvit", "model.cls_in_summary", False): (
        "Mixing is unlike",
        "cls_in_summary is documented as in the paper and off",
    ),
    ("xvit", "model.scope", "full"): ("scope is documented as in the paper and off: it is not per_head",),
    ("timesformer", "model.hidden_head", False): ("hidden_head is documented as in the paper and off",),
    ("timesformer", "model.cls_in_time", False): ("cls_in_time is documented as in the paper and off",),
    ("vivit", "model.zero_temporal", False): ("Factorised is unlike the paper and on", "zero_temporal is documented"),
}


@pytest.mark.parametrize("case", OFF, ids=lambda case: case[1])
def test_an_option_of_the_paper_that_is_off_is_found(script, case, monkeypatch):
    family, key, value = case
    content = copy.deepcopy(script.scale_file("k400"))
    content["recipes"][family]["paper"][key] = value
    monkeypatch.setattr(script, "scale_file", lambda scale: content)
    monkeypatch.setattr(script, "SCALES", ("k400",))
    found = script.faults(script.read_facts())
    for words in OFF[case]:
        assert any(each.startswith(f"{family} k400 paper: {words}") for each in found), found


def test_a_docstring_that_knows_more_than_the_page_is_found(script, monkeypatch):
    facts = script.read_facts()
    del facts["xvit"]["unlike"]["TemporalAttention"]
    place = "xvit ssv2 paper: TemporalAttention: its docstring alone calls it unlike the paper"
    assert place in script.faults(facts)


def test_each_class_that_is_unlike_a_paper_stands_below_its_recipe(script):
    section = PAGE.split("\n## ")[1]
    for family in script.PAPERS:
        classes = script.unlike_the_paper(family)
        assert classes
        below = section.split(f"**{family}, recipe `paper`**")[1].split("\n**")[0]
        assert all(f"| `{name}` | Unlike the paper" in below for name in classes), family


def test_rows_that_differ_in_a_setting_differ_on_the_page(script):
    shown = 0
    for (scale, table, recipe), lines in SHOWN.tables.items():
        rows = read_table([EXPERIMENTS / f"{table}.yaml", EXPERIMENTS / f"scale/{scale}.yaml"], recipe).rows
        assert len(lines) == len(rows)
        for (one, its), (other, others) in combinations(zip(rows, lines, strict=True), 2):
            assert (its[1:] != others[1:]) or one.settings == other.settings, (table, scale, one.name, other.name)
        shown += 1
    assert shown > 70


# D1: a row that sets single keys of its recipe's mappings; S8: rows that start from runs
KEYS = [("k600", "xvit_k600", "paper"), ("epic100", "vivit_models", "released")]


@pytest.mark.parametrize("key", [pytest.param(KEYS[0], marks=pytest.mark.slow), KEYS[1]])
def test_the_page_has_what_print_config_prints(key):
    assert list(untrue(SHOWN, key)) == []


@pytest.mark.slow
@pytest.mark.parametrize("key", SHOWN.tables, ids="-".join)
def test_every_table_has_what_print_config_prints(key):
    assert list(untrue(SHOWN, key)) == []


def test_a_page_that_ignores_single_keys_of_a_row_is_found(monkeypatch):
    """Take back D1: X3D-XL beside its recipe's rate, weight decay, warm-up and short side."""
    key = ("k600", "xvit_k600", "paper")
    cells = list(SHOWN.tables[key][0])
    assert cells[0] == "X3D-XL"
    cells[8] = "0.1"
    cells[9] = (
        "short side 256-320, flip 0.5, cosine, warm-up of 44.4 epochs from 0.01, weight decay 0.0001, model ConvNet"
    )
    shown = replace(SHOWN, tables={key: [cells, *SHOWN.tables[key][1:]]})
    assert [found.split(": ")[1:] for found in untrue(shown, key)] == [
        ["X3D-XL", "rate is 0.1 on the page, 0.05 in the run"],
        ["X3D-XL", "weight decay is 0.0001 on the page, 5e-05 in the run"],
        ["X3D-XL", "warm-up is 44.4 on the page, 35.0 in the run"],
        ["X3D-XL", "short side is [256.0, 320.0] on the page, [356.0, 446.0] in the run"],
    ]


def test_the_counts_stand_on_the_page(script, monkeypatch, capsys):
    monkeypatch.setattr(counts, "printed_rows", lambda recipe: [])  # tests/tables/test_printed_numbers.py has them
    assert counts.main([]) == 0
    printed = capsys.readouterr().out
    line, silent = printed.split("\nS, ")
    assert line in PAGE
    assert silent.startswith("differs in silence: 0\n")


def test_the_counts_name_what_is_left(script, monkeypatch, capsys):
    facts = script.read_facts()
    del facts["xvit"]["k400"]["paper"]["why"]["ratio"]
    monkeypatch.setattr(script, "read_facts", lambda: facts)
    monkeypatch.setattr(counts, "printed_rows", lambda recipe: [])
    assert counts.main([]) == 1
    assert "S, differs in silence: 1\n  xvit k400 paper: ratio: not given for this data set" in capsys.readouterr().out


@pytest.mark.parametrize("figure", [3, 4, 5, 6])
def test_timesformer_s_figures_are_shown(figure):
    assert f"arXiv:2102.05095, Fig. {figure} " in PAGE
