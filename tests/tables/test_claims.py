"""Test that claims agree with the papers' numbers, and that verdicts follow the intervals."""

import re
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers.verdicts import across, sharing, verdict_lines, verdict_list
from lit_video.errors import UserError
from lit_video.reports.verdicts import corrected, judge_claims, tally
from lit_video.runs.folder import FinishedRun, write_curves
from lit_video.runs.predictions import Draws
from lit_video.tables.agreement import agreement_of, row_pairs
from lit_video.tables.claims import read_claims
from lit_video.tables.contrasts import uncovered
from lit_video.tables.finishing import LearnedShare, learned_share
from lit_video.tables.judging import judge
from lit_video.tables.row_hits import RowHits
from lit_video.tables.summary import TableRuns
from lit_video.tables.table import Row, Table
from tests.fake_runs import fake_run
from tests.tables.experiments import all_claims

CLAIMS = all_claims()
OPENING = "1 claim of the papers, tried by small models on other data than theirs"
DIFFERS = "own and gpu differ: no explanation yet"
TABLE = """\
trainer: parts/t.yaml
table:
  title: T
  source: a test
  scale: own
  rows:
    a: {paper: {test/video_top1: 60.0}, set: {model.window: 1}}
    b: {paper: {test/video_top1: 50.0}, set: {model.window: 0}}
    c: {paper: {test/video_top1: 59.5}, set: {model.window: 2}}
    d: {set: {model.window: 3}}
    other: {paper: {test/video_top1: 40.0}, set: {model.window: 0, model.ratio: 1.0}}
    more: {paper: {test/video_top1: 41.0}, set: {model.window: 1, model.ratio: 0.5}}
    k: {control: true, set: {model.window: 0}}
"""


def runs(facts=None, draws=None, controls="k", skill=None, **rows):
    """Return runs of rows with these accuracies or hits; ``facts`` of their results by row."""
    made = {name: hits(value) if isinstance(value, float) else value for name, value in rows.items()}
    by_row = {}
    for name, of_seeds in made.items():
        of_row = (facts or {}).get(name, {})
        run = of_row if isinstance(of_row, FinishedRun) else fake_run(windowed(name), row=name, **of_row)
        by_row[name] = [run] * len(of_seeds)
    table = Table("t", Path("t.yaml"), "own", "", "", rows=rows_of(controls, "abcdk", made))
    return TableRuns(table, by_row, {}, RowHits(made, draws, skill), {})


def rows_of(controls, *names):
    """Return rows with these names; ``controls`` are some of them."""
    return [Row(name, name, {}, {}, is_control=name in controls) for name in dict.fromkeys(chain(*names))]


def windowed(window):
    """Return settings of a model with this window, so that the rows of a claim differ in what it names."""
    return {"model": {"class_path": "XViT", "init_args": {"window": window}}}


def judged_at(claims, by_scale):
    """Judge claims about one table by its runs at some scales."""
    return judge_claims(
        claims, [replace(rows, table=replace(claims[0].table, scale=s)) for s, rows in by_scale.items()]
    )


def hits(*accuracies, videos=1000, seeds=3):
    """Return hits of runs, each right on the first videos only, with these accuracies."""
    return [np.arange(videos) < videos * accuracy for accuracy in accuracies for _ in range(seeds)]


@pytest.fixture
def claims(tmp_path):
    """Function that reads one claim about the table above."""
    (tmp_path / "t.yaml").write_text(TABLE)
    (tmp_path / "claims").mkdir()

    def read(text):
        given = text.replace("{claim: x,", "{claim: x, section: s, varies: model.window,")
        (tmp_path / "claims/p.yaml").write_text(f"source: P\nclaims:\n  - {given}\n")
        return read_claims(tmp_path)

    return read


def test_numbers_are_those_of_the_data_set_that_is_named():
    assert claim_that("On Kinetics-400 attention in space").paper() == [(76.9, 78.0)]
    assert claim_that("Divided attention is better than joint").paper() == [(59.5, 58.5)]


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.table.data_set == "k400"], ids=lambda c: c.text)
def test_a_claim_about_kinetics_needs_it_where_another_one_about_the_same_rows_is_nearer_to_our_data(claim):
    """Let SSv2, where order matters, and Epic-Kitchens, with few videos, stand for our data."""

    def pairs(of):
        return {frozenset(pair) for pair in of.pairs}

    others = [other for other in CLAIMS if other.table.name == claim.table.name and other.table.data_set != "k400"]
    has_a_nearer_one = any(pairs(claim) & pairs(other) for other in others)
    assert not has_a_nearer_one or claim.why_untestable("embedded")
    assert has_a_nearer_one or "is not at hand" not in claim.why_untestable("embedded")


def claim_that(words):
    """Return the one claim whose sentence has these words."""
    (claim,) = [claim for claim in CLAIMS if words in claim.text]
    return claim


IN_TIME = "{claim: attention in time helps, section: s, varies: model.window, table: t, better: [[a, b]]}"
BETTER_AB = "{claim: x, table: t, better: [[a, b]]}"
NOT_WORSE_AC = "{claim: x, table: t, not_worse: [[a, c]], margin: 1.0}"
EQUAL_AC = "{claim: x, table: t, equal: [[a, c]], margin: 1.0}"


@pytest.mark.parametrize(
    ("text", "a", "b", "expected"),
    [
        (BETTER_AB, 0.7, 0.5, "supported"),
        (BETTER_AB, 0.5, 0.7, "contradicted"),
        (BETTER_AB, 0.5, 0.5, "differ by at most"),  # half of 10 points
        (NOT_WORSE_AC, 0.5, 0.5, "supported"),
        (NOT_WORSE_AC, 0.7, 0.5, "supported"),  # better is not worse: one layer is enough where three are worse
        (NOT_WORSE_AC, 0.5, 0.7, "contradicted"),
        (NOT_WORSE_AC, 0.5, 0.51, "undecided"),
        (EQUAL_AC, 0.5, 0.5, "supported"),
        (EQUAL_AC, 0.5, 0.7, "contradicted"),
        (EQUAL_AC, 0.7, 0.5, "contradicted"),
        (EQUAL_AC, 0.5, 0.48, "contradicted"),
        (BETTER_AB.replace("}", ", untestable: no data}"), 0.7, 0.5, "not testable here"),
    ],
)
def test_verdicts_follow_the_intervals_on_the_side_that_the_claim_is_about(claims, text, a, b, expected):
    (claim,) = claims(text)
    found = judge(claim, runs(a=a, b=b, c=b))
    (pair,) = found.pairs
    assert found.judgement == expected
    assert pair.difference.value == pytest.approx(100 * (a - b))


def test_a_claim_of_several_pairs_holds_if_all_do_and_fails_if_one_does(claims):
    (claim,) = claims("{claim: x, table: t, better: [[a, b], [a, c]]}")
    assert judge(claim, runs(a=0.7, b=0.5, c=0.6)).judgement == "supported"
    assert judge(claim, runs(a=0.7, b=0.5, c=0.7)).judgement == "undecided"
    assert judge(claim, runs(a=0.7, b=0.5, c=0.8)).judgement == "contradicted"
    found = judge(claim, runs(a=0.7, b=0.5))
    assert (found.judgement, found.pairs[1].difference) == ("not run", None)


def random_rows(rng, chances, seeds=5, videos=300):
    """Return hits of rows with these accuracies, whose seeds spread by 2 points."""
    made = {}
    for name, chance in chances.items():
        made[name] = [rng.random(videos) < chance + 0.02 * rng.standard_normal() for _ in range(seeds)]
    return made


@pytest.mark.parametrize(
    ("text", "chances", "wrong"),
    [
        (BETTER_AB, dict(a=0.6, b=0.6), ("supported", "contradicted")),
        ("{claim: x, table: t, better: [[a, b], [a, c], [c, b]]}", dict(a=0.6, b=0.6, c=0.6), ("contradicted",)),
        (NOT_WORSE_AC.replace("1.0", "4.0"), dict(a=0.56, c=0.6), ("supported", "contradicted")),
        (EQUAL_AC.replace("1.0", "4.0"), dict(a=0.56, c=0.6), ("supported", "contradicted")),
    ],
)
def test_verdicts_are_seldom_wrong_where_the_truth_is_on_the_border(claims, text, chances, wrong):
    """Draw rows whose true difference is the bound of the claim: each wrong verdict has a chance of 2.5 %."""
    (claim,) = claims(text)
    rng = np.random.default_rng(0)
    found = [judge(claim, runs(**random_rows(rng, chances))).judgement for _ in range(300)]
    for verdict in wrong:
        assert found.count(verdict) / 300 <= 0.04, verdict


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{claim: x, table: t, better: [[b, a]]}", "the paper has 50.0 for b and 60.0 for a"),
        ("{claim: x, table: t, not_worse: [[b, a]], margin: 1.0}", "the paper has 50.0 for b and 60.0 for a"),
        ("{claim: x, table: t, equal: [[a, b]], margin: 1.0}", "the paper has 60.0 for a and 50.0 for b"),
        ("{claim: x, table: t, better: [[a, e]]}", "no row 'e'"),
        ("{claim: x, table: t, better: [[a, d]]}", "t has no number of the paper for d"),
        ("{claim: x, table: t}", "no kind"),
        ("{claim: x, table: t, better: [[a, b]], equal: [[a, b]], margin: 1.0}", "better and equal"),
        ("{claim: x, table: t, better: [[a, b]], margin: 1.0}", "margin"),
        ("{claim: x, table: t, equal: [[a, c]]}", "margin"),
        ("{claim: x, table: t, spread: [a], margin: 0}", "margin"),
        ("{claim: x, table: t, better: []}", "pairs of rows"),
        ("{claim: x, table: t, better: [[a, b]], untestable: {embedded: a, b}}", "untestable"),
        ("{claim: x, table: t, better: [[a, b]], control: c}", "no `control: true` at the row c"),
        ("{claim: x, table: t, beter: [[a, b]]}", "expected claim"),
        ("{claim: y, table: t, varies: model.window, better: [[a, b]]}", "section"),
        ("{claim: y, section: s, table: t, better: [[a, b]]}", "varies"),
        ("{claim: x, table: t, better: [[more, other]]}", "model.ratio"),
        (IN_TIME, "control"),
        (IN_TIME.replace("attention in time", "a layer of temporal attention"), "control"),
    ],
)
def test_a_claim_that_the_paper_does_not_make_or_that_shows_something_else_is_refused(claims, text, message):
    with pytest.raises(UserError, match=message):
        claims(text)


def test_a_claim_may_vary_several_things_if_it_names_them(claims):
    (claim,) = claims("{claim: y, section: s, table: t, varies: [model.window, model.ratio], better: [[more, other]]}")
    assert claim.pairs == [("more", "other")]


def test_a_figure_without_printed_numbers_has_claims_that_say_so(claims, tmp_path):
    (tmp_path / "t.yaml").write_text(re.sub(r"paper: {[^}]*}, ", "", TABLE))
    given = claims("{claim: x, table: t, better: [[b, a]]}")
    line = verdict_lines(judged_at(given, {"own": runs(a=0.5, b=0.7)})).splitlines()[-1]
    assert "| t: b - a (by model.window) | no numbers printed | own: +20.0 [" in line
    assert line.endswith("| supported † |")


def test_one_pair_of_many_that_just_differs_decides_nothing(claims):
    rng = np.random.default_rng(0)
    one, other = ([rng.random(1000) < chance for _ in range(5)] for chance in (0.700, 0.726))
    (single,), (several,) = (
        claims(BETTER_AB),
        claims("{claim: x, table: t, better: [[a, b], [a, c], [c, b]]}"),
    )
    rows = runs(a=one, b=other, c=one)
    difference = judge(single, rows).pairs[0].difference
    assert 0.025 / 3 < difference.below(0) < 0.025
    assert judge(single, rows).judgement == "contradicted"
    assert judge(several, rows).judgement == "undecided"


def few(rng, videos, means):
    return {name: [rng.random(videos) < mean for mean in means] for name in "ac"}


@pytest.mark.parametrize("text", [NOT_WORSE_AC, EQUAL_AC])
@pytest.mark.parametrize(
    ("videos", "means", "draws", "said"),
    [
        (100, (0.7, 0.7, 0.7), None, "too few videos to tell"),
        (20_000, (0.5, 0.7, 0.9), None, "too few seeds to tell"),
        (100, (0.7, 0.7, 0.7), Draws("person", np.repeat(np.arange(5), 20)), "too few persons to tell"),
    ],
)
def test_what_is_too_few_to_show_the_margin_with_80_percent_power_is_said(claims, text, videos, means, draws, said):
    given = claims(text)
    rows = runs(draws=draws, **few(np.random.default_rng(0), videos, means))
    (found,) = judged_at(given, {"own": rows})
    assert found.judged.words == said
    assert found.judged.detectable > 1.0
    assert found.judged.few in found.power


@pytest.mark.parametrize("text", [NOT_WORSE_AC, EQUAL_AC])
def test_rows_without_a_difference_on_few_videos_are_not_shown_to_be_alike(claims, text):
    (claim,) = claims(text)
    for videos, expected in ((14, "too few to tell"), (1000, "supported")):
        (verdict,) = judged_at([claim], {"own": runs(a=hits(1.0, videos=videos), c=hits(1.0, videos=videos))})
        assert verdict.judged.judgement == expected
        assert verdict.judged.detectable > 0.3


def test_a_margin_that_80_percent_power_shows_leaves_a_claim_undecided_not_untested(claims):
    """Half of an interval below the margin is not enough: a difference of that size is shown in half of repeats."""
    (claim,) = claims(EQUAL_AC.replace("1.0", "3.0"))
    for spread, expected in ((0.03, "too few to tell"), (0.012, "undecided")):
        seeds = [0.6 + spread * step for step in (-1, -0.5, 0, 0.5, 1)]
        shifted = [mean - 0.03 for mean in seeds]
        found = judge(claim, runs(a=hits(*shifted, videos=10_000, seeds=1), c=hits(*seeds, videos=10_000, seeds=1)))
        assert found.judgement == expected
        assert (found.detectable > 3.0) == (expected == "too few to tell")


SKILL = np.repeat(["drift", "order1", "order3", "zoom"], 250)
ALL = {"told": ["drift", "order1", "order3", "zoom"]}
EVEN = {"told": ["drift", "zoom"]}  # a window's boundary frames are an even number apart
NONE = {"told": []}


def by_skill(**accuracies):
    """Return hits of three seeds with an accuracy for each skill; those that are left out have 0.5."""
    right = [np.arange(250) < 250 * accuracies.get(name, 0.5) for name in ("drift", "order1", "order3", "zoom")]
    return [np.concatenate(right)] * 3


@pytest.mark.parametrize(("a", "b", "expected"), [(0.7, 0.5, "supported"), (0.5, 0.7, "contradicted")])
def test_a_row_that_tells_no_skill_of_the_other_decides_by_construction_on_both_sides(claims, a, b, expected):
    (claim,) = claims(BETTER_AB)
    for facts in ({"a": ALL, "b": NONE}, {"a": NONE, "b": ALL}):
        assert judge(claim, runs(facts, skill=SKILL, a=a, b=b)).judgement == f"{expected} by construction"
    for facts in ({"a": ALL, "b": ALL}, {"a": ALL}, {}):
        assert judge(claim, runs(facts, skill=SKILL, a=a, b=b)).judgement == expected


def test_rows_are_compared_on_the_skills_that_both_can_tell(claims):
    """Give the row of even distances nothing of order1 and order3, and as much as the other of what it can tell."""
    (claim,) = claims("{claim: x, table: t, not_worse: [[a, c]], margin: 1.0}")
    windows = {"a": EVEN, "c": ALL}
    rows = {"a": by_skill(drift=0.8, zoom=0.8), "c": by_skill(drift=0.8, zoom=0.8, order1=1.0, order3=1.0)}
    found = judge(claim, runs(windows, skill=SKILL, **rows))
    assert found.pairs[0].skills == ["drift", "zoom"] and found.pairs[0].difference.value == 0
    assert found.pairs[0].text.endswith(" on drift, zoom") and "contradicted" not in found.judgement
    assert judge(claim, runs(skill=SKILL, **rows)).judgement == "contradicted", "all skills would decide against it"


def after_lesson(window, told, *skills):
    """Return a run that tells some skills, after a first lesson on others."""
    classes = [f"{skill} {way}" for skill in skills for way in ("back", "forth")]
    data = {"class_path": "TemporalSkills", "init_args": {"lesson": {"classes": classes, "steps": 500}}}
    return fake_run(windowed(window) | {"data": data}, told=told)


def test_skills_of_the_first_lesson_decide_nothing(claims):
    """Give one row all of the lesson's skill, which had steps of its own, and the other as much of all others."""
    (claim,) = claims("{claim: x, table: t, not_worse: [[a, c]], margin: 1.0}")
    rows = {"a": by_skill(drift=0.8, zoom=0.8), "c": by_skill(drift=0.8, zoom=0.8, order1=1.0)}

    told = ["drift", "order1", "order3", "zoom"]
    found = judge(claim, runs({name: after_lesson(name, told, "order1") for name in rows}, skill=SKILL, **rows))
    assert found.pairs[0].difference.value == 0 and found.pairs[0].text.endswith(" without order1")
    of_another = judge(claim, runs({name: after_lesson(name, told, "drift") for name in rows}, skill=SKILL, **rows))
    assert of_another.judgement == "contradicted" and of_another.pairs[0].text.endswith(" without drift")

    told = ["drift", "order1", "zoom"]
    found = judge(claim, runs({name: after_lesson(name, told, "order1") for name in rows}, skill=SKILL, **rows))
    assert found.pairs[0].skills == ["drift", "zoom"]


def test_rows_that_tell_only_skills_of_the_lesson_are_not_compared(claims):
    (claim,) = claims(BETTER_AB)
    facts = {name: after_lesson(name, ["order1"], "order1") for name in "ab"}
    found = judge(claim, runs(facts, skill=SKILL, a=0.9, b=0.5))
    assert found.judgement == "not testable here" and "only skills of the lesson: order1" in found.why


def test_a_control_is_asked_for_all_skills_of_the_other_row(claims):
    """A sum over frames may tell part of a skill; what it gains belongs to the comparison."""
    (claim,) = claims(CONTROLLED)
    facts = {"a": ALL, "b": NONE, "k": NONE}
    found = judge(claim, runs(facts, skill=SKILL, a=0.9, b=0.5, k=0.6))
    assert found.judgement == "supported", "the control is no row that is blind by construction"
    assert [pair.answer for pair in found.pairs] == [None, "holds"], "the blind row decides nothing beside it"
    assert judge(claim, runs(facts, skill=SKILL, a=0.6, b=0.5, k=0.9)).judgement == "contradicted"


def test_all_pairs_must_be_by_construction_for_such_a_verdict(claims):
    (claim,) = claims("{claim: x, table: t, better: [[a, b], [a, c]]}")
    facts = {"a": ALL, "b": NONE, "c": NONE}
    accuracies = dict(a=0.7, b=0.5, c=0.5)
    assert judge(claim, runs(facts, skill=SKILL, **accuracies)).judgement == "supported by construction"
    assert judge(claim, runs(facts | {"c": ALL}, skill=SKILL, **accuracies)).judgement == "supported"


def test_one_seed_gives_numbers_and_no_verdict(claims):
    given = claims(BETTER_AB)
    one = hits(0.5, seeds=1)
    (found,) = judged_at(given, {"own": runs(a=0.7, b=one)})
    assert (
        found.text == "one seed"
        and not found.judged.tested
        and found.judged.pairs[0].difference.value == pytest.approx(20)
    )
    rows = runs(a=hits(0.7, seeds=1), b=one)
    pairs = row_pairs({"a": 2.0, "b": 1.0}, {"a": 70.0, "b": 50.0}, rows.compare)
    assert [pair.verdict for pair in pairs] == ["one seed"]


ALIKE = "{claim: x, table: t, better: [[a, c]]}"  # the paper has a half of a point above c: alike within 2


@pytest.mark.parametrize(
    ("a", "c", "expected"),
    [
        (0.70, 0.70, "differ by at most 2 points"),
        (0.705, 0.70, "supported (a - c holds, by at most 2 points)"),
        (0.70, 0.705, "contradicted (a - c fails, by at most 2 points)"),
        (0.75, 0.70, "supported"),
    ],
)
def test_rows_that_the_paper_orders_may_be_shown_to_be_alike(claims, a, c, expected):
    given = claims(ALIKE)
    seeds = [hits(value + step, videos=40_000, seeds=1)[0] for value in (a, c) for step in (-0.001, 0.0, 0.001)]
    (found,) = judged_at(given, {"own": runs(a=seeds[:3], c=seeds[3:])})
    alike = found.judged.pairs[0].words
    assert found.judged.words == expected.partition(" (")[0]
    assert ("by at most 2 points" in alike) == (abs(a - c) < 0.02)


def test_rows_are_not_asked_to_be_alike_where_the_runs_would_not_show_it(claims):
    given = claims(ALIKE)
    rng = np.random.default_rng(0)
    (found,) = judged_at(given, {"own": runs(**random_rows(rng, dict(a=0.7, c=0.7)))})
    assert found.judged.words == "undecided" and found.judged.detectable > 2


def test_a_claim_of_two_pairs_says_what_each_of_them_shows(claims):
    given = claims("{claim: x, table: t, better: [[a, b], [a, c]]}")
    rng = np.random.default_rng(0)
    (found,) = judged_at(given, {"own": runs(**random_rows(rng, dict(a=0.8, b=0.5, c=0.8)))})
    assert found.text.startswith("undecided (a - b holds; a - c undecided)")


def trained(**rows):
    return {name: {"metrics": {"train/video_top1": accuracy}} for name, accuracy in rows.items()}


def test_a_row_that_ends_before_it_has_learned_decides_nothing(claims):
    given = claims(BETTER_AB)
    (found,) = judged_at(given, {"own": runs(trained(a=98.0, b=42.4), a=0.7, b=0.5)})
    assert found.text == "unfinished: b: 42 % of training videos"
    assert not found.judged.tested and found.survives is None and found.judged.pairs[0].difference
    (found,) = judged_at(given, {"own": runs(trained(a=98.0, b=90.0), a=0.7, b=0.5)})
    assert found.text == "supported", "both have learned, and this was recorded"
    (found,) = judged_at(given, {"own": runs(trained(a=98.0), a=0.7, b=0.5)})
    assert found.text == "supported †", "one was not recorded"


def test_a_control_need_not_learn_and_other_rows_must(claims):
    (claim,) = claims(CONTROLLED)
    rows = dict(a=0.7, b=0.5, k=0.6)
    assert judge(claim, runs(trained(a=98.0, b=95.0, k=42.0), **rows)).judgement == "supported"
    late = judge(claim, runs(trained(a=42.0, b=95.0, k=98.0), **rows))
    assert (late.judgement, late.why) == ("unfinished", "a: 42 % of training videos")


def test_every_seed_must_have_learned():
    rows = runs(a=0.7)
    rows.by_row["a"][:] = [fake_run({}, metrics={"train/video_top1": value}) for value in (100.0, 70.0)]
    assert rows.rows["a"].unfinished == "70 % of training videos" and rows.rows["a"].is_recorded
    rows = replace(rows, by_row={"a": [*rows.by_row["a"], fake_run({}, metrics={})]})
    assert not rows.rows["a"].is_recorded and not rows.rows["a"].unfinished, "one seed has no record"


def test_without_a_record_the_curve_says_what_was_learned(tmp_path):
    write_curves(tmp_path, [{"epoch": 1, "train/clip_top1": 95.0}, {"epoch": 2, "train/clip_top1": 88.0}, {"epoch": 3}])
    run = replace(fake_run({}, metrics={}), folder=tmp_path)
    assert learned_share(run) == LearnedShare(88.0, augmented=True)
    recorded = replace(fake_run({}, metrics={"train/video_top1": 91.0}), folder=tmp_path)
    assert learned_share(recorded) == LearnedShare(91.0, augmented=False)


def test_the_order_of_an_unfinished_row_has_no_verdict():
    rows = runs(trained(b=42.0), a=0.9, b=0.3, c=0.6)
    paper = {"a": 60.0, "b": 50.0, "c": 55.0}
    measured = {row: np.mean(rows.row_hits.accuracies(row)) for row in "abc"}
    pairs = row_pairs(paper, measured, rows.compare)
    verdicts = {(pair.first, pair.second): pair.verdict for pair in pairs}
    assert verdicts == {("a", "b"): "unfinished", ("a", "c"): "supported", ("c", "b"): "unfinished"}
    assert agreement_of(paper, measured, pairs).without == {"unfinished": 2}
    assert all(pair.difference is not None for pair in pairs), "numbers stay"


def test_pairs_without_a_verdict_make_no_other_pair_more_certain():
    rng = np.random.default_rng(0)
    one, other = ([rng.random(1000) < chance for _ in range(5)] for chance in (0.700, 0.726))
    rows = runs(trained(c=42.0), a=other, b=one, c=one)
    assert 0.025 / 3 < rows.row_hits.difference("a", "b").above(0) < 0.025
    paper = {"a": 60.0, "b": 50.0, "c": 59.5}
    measured = {row: np.mean(rows.row_hits.accuracies(row)) for row in paper}
    pairs = row_pairs(paper, measured, rows.compare)
    assert sorted(pair.verdict for pair in pairs) == ["undecided", "unfinished", "unfinished"]


def finished(steps=100, data="videos", commit="", seed=0, **settings):
    """Return a run with these settings of model, data and trainer."""
    model = {"window": 1, "ratio": 0.5, "image_weights": "stills:1"}
    nested = {
        "model": {"class_path": "XViT", "init_args": model},
        "data": {"init_args": {"num_frames": 8}},
        "trainer": {"max_epochs": 5},
    }
    for key, value in settings.items():
        group, _, name = key.partition("__")
        of_group = nested[group]
        of_group.get("init_args", of_group)[name] = value
    return fake_run(nested, {"data": data, "commit": commit}, steps=steps, seed=seed)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (finished(model__window=0), ""),
        (finished(), "differ in nothing"),
        (finished(model__window=0, model__ratio=1.0), "also differ in model.ratio"),
        (finished(model__window=0, data__num_frames=16), "also differ in data.num_frames"),
        (finished(model__window=0, trainer__max_epochs=9), "also differ in trainer.max_epochs"),
        (finished(model__window=0, steps=128), "also differ in steps"),
        (finished(model__window=0, data="others"), "also differ in data"),
        (finished(model__window=0, model__image_weights="stills:9"), "also differ in model.image_weights"),
        (finished(model__window=0, commit="x", seed=1), ""),
    ],
)
def test_runs_that_differ_in_more_than_the_claim_names_or_in_nothing_decide_nothing(claims, other, said):
    (claim,) = claims(BETTER_AB)
    found = judge(claim, runs({"a": finished(), "b": other}, a=0.7, b=0.5))
    assert (found.judgement == "not testable here") == bool(said)
    assert said in found.why


@pytest.mark.parametrize(
    ("varies", "left"),
    [
        (["model"], ["model.image_weights", "model.optimization.lr", "data.num_frames", "trainer.max_epochs", "steps"]),
        (["method"], ["model.image_weights"]),
        (
            ["model.window", "data", "steps"],
            ["model", "model.image_weights", "model.optimization.lr", "trainer.max_epochs"],
        ),
        (["method", "model.image_weights"], []),
    ],
)
def test_a_model_is_a_scheme_and_a_method_its_training_too_but_not_where_it_starts(varies, left):
    keys = ["model", "model.window", "model.image_weights", "model.optimization.lr", "data.num_frames"]
    assert uncovered([*keys, "trainer.max_epochs", "steps"], varies) == left


CONTROLLED = IN_TIME.replace("better:", "control: k, better:")


def test_a_claim_about_attention_in_time_is_decided_by_its_control(claims):
    given = claims(CONTROLLED)
    texts = {}
    for name, rows in {
        "not run": runs(a=0.7, b=0.5),
        "beaten": runs(a=0.7, b=0.5, k=0.6),
        "equal": runs(a=0.7, b=0.5, k=0.7),
        "nothing": runs(b=0.5),
    }.items():
        (found,) = judged_at(given, {"own": rows})
        texts[name] = found.judged.words
    assert texts == {"not run": "not run", "beaten": "supported", "equal": "undecided", "nothing": "not run"}


def test_a_gain_is_one_above_every_control_of_as_many_multiply_adds(claims):
    """Beat the family's own control, and not another one of the table."""
    (claim,) = claims(CONTROLLED)
    for gmacs, expected in ((1.05, "undecided"), (1.2, "supported")):
        rows = runs({"other": {"gmacs": gmacs}}, controls=("k", "other"), a=0.7, b=0.5, k=0.6, other=0.7)
        assert judge(claim, rows).judgement == expected
    missing = runs(controls=("k", "other"), a=0.7, b=0.5, k=0.6)
    missing.table.rows[:] = rows_of(("k", "other"), "abck", ["other"])
    assert judge(claim, missing).judgement == "not run"
    assert judge(claim, missing).why == "needs the control"


def test_a_worse_row_may_be_the_control(claims):
    (claim,) = claims(CONTROLLED.replace("control: k", "control: b"))
    found = judge(claim, runs(controls="b", a=0.7, b=0.5))
    assert found.judgement == "supported" and [pair.rows for pair in found.pairs] == [("a", "b")]


def test_a_control_that_was_trained_in_another_way_decides_nothing(claims):
    (claim,) = claims(CONTROLLED)
    facts = {"a": finished(), "b": finished(model__window=0), "k": finished(model__window=0, trainer__max_epochs=9)}
    found = judge(claim, runs(facts, a=0.7, b=0.5, k=0.6))
    assert (found.judgement, found.why) == (
        "not testable here",
        "a and its control k also differ in trainer.max_epochs",
    )


def test_two_recordings_decide_nothing_and_three_may(claims):
    given = claims(BETTER_AB)
    rng = np.random.default_rng(0)
    rows = {name: [rng.random(600) < chance for _ in range(3)] for name, chance in (("a", 0.9), ("b", 0.4))}
    for count, text in ((2, "not testable here: 2 recordings in the test, too few"), (3, "supported †")):
        (found,) = judged_at(given, {"own": runs(draws=Draws("recording", np.arange(600) % count), **rows)})
        assert found.text == text


def test_the_spread_of_a_row_is_judged_by_its_own_interval(claims):
    (claim,) = claims("{claim: y, section: s, table: t, spread: [a], margin: 2.0}")
    for step, expected in ((0.001, "supported"), (0.05, "contradicted"), (0.012, "too few to tell")):
        seeds = hits(*(0.5 + step * i for i in range(5)), seeds=1)
        assert judge(claim, runs(a=seeds)).judgement == expected
    assert judge(claim, runs(a=hits(0.5, seeds=1))).judgement == "one seed"
    assert judge(claim, runs(b=0.5)).judgement == "not run"


def test_a_verdict_on_a_spread_may_hold_after_correction_for_all_claims(claims):
    (claim,) = claims("{claim: y, section: s, table: t, spread: [a], margin: 2.0}")
    for step, expected in ((0.0002, "supported"), (0.2, "contradicted")):
        seeds = hits(*(0.2 + step * i for i in range(5)), seeds=1)
        (verdict,) = judged_at([claim], {"own": runs(a=seeds)})
        assert verdict.judged.judgement == expected
        assert verdict.survives


def verdicts(claims, chances):
    """Return a verdict for each true difference of two rows, in points."""
    (claim,) = claims(BETTER_AB)
    rng = np.random.default_rng(1)
    found = []
    for difference in chances:
        rows = random_rows(rng, dict(a=0.6 + difference / 100, b=0.6))
        found += judged_at([claim], {"own": runs(**rows)})
    return corrected(found)


def test_a_tally_says_how_many_verdicts_hold_after_a_correction_for_their_number(claims):
    found = verdicts(claims, [4.5] * 20 + [30])
    assert found[-1].judged.judgement == "supported" and found[-1].survives
    supported = [one for one in found[:-1] if one.judged.judgement == "supported"]
    assert supported and not all(one.survives for one in supported)
    assert all(("not after correction" in one.text) != one.survives for one in supported)
    assert all(one.survives is None for one in found if one.judged.judgement == "undecided")
    surviving = sum(one.survives is True for one in found)
    assert f"supported {len(supported) + 1} ({surviving} after correction)" in tally(found)


def test_after_the_correction_a_page_of_claims_that_do_not_hold_is_seldom_wrong(claims):
    wrong = 0
    (claim,) = claims(BETTER_AB)
    rng = np.random.default_rng(0)
    for _ in range(40):
        found = []
        for _ in range(15):
            found += judged_at([claim], {"own": runs(**random_rows(rng, dict(a=0.6, b=0.6)))})
        wrong += any(one.survives for one in corrected(found))
    assert wrong / 40 <= 0.1


def test_claims_that_share_runs_are_named(claims):
    first, second, third = (claims(text)[0] for text in (BETTER_AB, EQUAL_AC, "{claim: x, table: t, better: [[c, b]]}"))
    rng = np.random.default_rng(0)
    found = judged_at([first, second, third], {"own": runs(**random_rows(rng, dict(a=0.7, b=0.5, c=0.7)))})
    assert sharing(found) == [(1, [2, 3]), (2, [3])]
    apart = found[:1] + judged_at([second], {"own": runs(**random_rows(rng, dict(a=0.7, c=0.7)))})
    assert sharing(apart) == []


def test_the_tables_own_scale_decides_and_follow_ups_are_counted_apart(claims):
    (claim,) = claims("{claim: A beats b., section: s, varies: model.window, table: t, better: [[a, b]]}")
    claim = replace(claim, follow_ups={"gpu": "it was late"})
    better, worse = runs(a=0.7, b=0.5), runs(a=0.5, b=0.7)
    found = judged_at([claim], {"gpu": worse, "own": better})
    assert tally(found) == f"{OPENING}: supported 1 (1 after correction)."
    line = verdict_list(found, "page.md", 7).splitlines()[-1]
    assert line.startswith("| 7 | [A beats b.](page.md#t-own) | supported † (80 % power ")
    assert f"); {DIFFERS} | gpu: contradicted † (80 % power " in line
    first, second = verdict_lines(found).splitlines()[-2:]
    assert first.startswith("| [A beats b.](#t-own) (s) | t: a - b (by model.window) | 60.0 - 50.0 | own: +20.0 [")
    assert first.endswith("| supported † |")
    assert second.startswith("| follow-up: it was late | t: a - b (by model.window) |")
    assert second.endswith("| contradicted † |")
    part = judged_at([claim], {"other": runs(a=0.7), "own": better})
    assert tally(part) == f"{OPENING}: supported 1 (1 after correction)."
    assert [one.follow_ups for one in part] == [[]], "not all rows of the claim were run there"
    assert tally(judged_at([claim], {"other": runs(a=0.7)})) == f"{OPENING}: not run 1."


BETTER, AS_GOOD = "better: [[a, b], [a, c]]", "equal: [[a, c]], margin: 1.0"
YES, NO, EQUAL = (0.7, 0.5, 0.5), (0.5, 0.7, 0.5), (0.5, 0.5, 0.5)
ONE_SEED = tuple(hits(accuracy, seeds=1) for accuracy in NO)
DIFFER = "; own and real differ: no explanation yet"


@pytest.mark.parametrize(
    ("claim", "by_scale", "expected"),
    [
        (BETTER, {"own": YES, "real": YES, "other": YES}, "; alike at own, real, other"),
        (BETTER, {"own": NO, "real": NO, "other": NO}, "; alike at own, real, other"),
        (BETTER, {"own": YES, "own_longer": YES, "real": YES}, ""),  # two data sets only
        (BETTER, {"own": YES, "real": YES, "real+real_third": YES}, ""),
        (BETTER, {"own": YES, "real": EQUAL, "other": YES}, ""),  # real is undecided
        (BETTER, {"own": YES, "real": NO}, DIFFER),
        (BETTER, {"own": YES, "real": ONE_SEED}, ""),
        (BETTER + ", differs: a GPU rounds", {"own": YES, "real": NO}, "; own and real differ: a GPU rounds"),
        (BETTER, {"own": (0.5, 0.7, 0.3), "real": (0.5, 0.7, 0.7)}, DIFFER),  # in the second pair
        (AS_GOOD, {"own": EQUAL, "real": YES}, DIFFER),
        (AS_GOOD + ", untestable: {own: x}", {"own": YES, "real": EQUAL}, ""),
    ],
)
def test_data_sets_answer_alike_or_differ(claims, claim, by_scale, expected):
    given = claims(f"{{claim: x, table: t, {claim}}}")
    found = judged_at(given, {scale: runs(a=a, b=b, c=c) for scale, (a, b, c) in by_scale.items()})
    assert across(found[0]) == expected
    assert f"{found[0].power}{expected} |" in verdict_list(found, "page.md")


def test_a_claim_may_be_untestable_at_some_scales_alone(claims):
    (claim,) = claims("{claim: x, table: t, better: [[a, b]], untestable: {own: too small}}")
    rows = runs(a=0.7, b=0.5)
    found = []
    for scale in ("own", "own_longer", "gpu"):
        found.append(judge(claim, replace(rows, table=replace(rows.table, scale=scale))).judgement)
    assert found == ["not testable here", "not testable here", "supported"]
    assert "| not testable here: too small |" in verdict_lines(judged_at([claim], {"own": rows}))


def test_a_claim_is_judged_by_runs_on_its_own_data_set_or_else_on_ours():
    """Judge a claim about Kinetics by Kinetics or by our own videos, not by SSv2."""
    claim = claim_that("On Kinetics-400 attention in space")
    names = ("space", "divided", "joint")
    facts = {name: fake_run({"model": {"init_args": {"attention_type": name}}}) for name in names}
    rows = runs(facts, **dict.fromkeys(names, 0.7))

    def of(claim, *scales):
        lines = verdict_lines(judged_at([claim], dict.fromkeys(scales, rows))).splitlines()
        (first,) = [i for i, line in enumerate(lines) if claim.text in line]
        return [line.split(" | ")[-1].partition(":")[0].strip("|† ") for line in lines[first:]]

    assert of(claim, "embedded", "k400", "ssv2") == ["supported", "not testable here"], "Kinetics decides"
    assert (
        of(claim_that("Divided attention is better than joint"), "embedded", "k400", "ssv2")
        == ["differ by at most 2 points"] * 2
    )
    assert of(claim, "ssv2") == ["not testable here"], "only SSv2 was run"
