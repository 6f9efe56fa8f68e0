"""Test that claims agree with the papers' numbers, and that verdicts follow the intervals."""

import re
from dataclasses import replace

import numpy as np
import pytest

from lit_video.errors import UserError
from lit_video.reports.verdicts import across, judged, tally, verdict_lines, verdict_list
from lit_video.tables.claims import judge, read_claims
from lit_video.tables.row_hits import RowHits
from lit_video.tables.summary import TableRuns
from tests.fake_runs import EXPERIMENTS

CLAIMS = read_claims(EXPERIMENTS)
OPENING = "1 claim of the papers, tried by small models on other data than theirs"
DIFFERS = "own and gpu differ: no explanation yet"
LINE = f"| [A beats b.](page.md#t-own) | supported ± 2.5; {DIFFERS} | gpu: contradicted ± 2.5 |"
TABLE = """\
trainer: parts/t.yaml
table:
  title: T
  source: a test
  scale: own
  rows:
    a: {paper: {test/video_top1: 60.0}}
    b: {paper: {test/video_top1: 50.0}}
    c: {paper: {test/video_top1: 59.5}}
    d: {}
"""


def runs(blind=(), **rows):
    """Return runs of rows with these accuracies or hits."""
    made = {name: hits(value) if isinstance(value, float) else value for name, value in rows.items()}
    results = {name: [{"row": name, "sees_order": False, "blind_ceiling": 50.0}] for name in blind}
    return TableRuns(None, results, {}, RowHits(made))


def judged_at(claims, by_scale):
    """Judge claims about one table by its runs at some scales."""
    return judged(claims, [replace(rows, table=replace(claims[0].table, scale=s)) for s, rows in by_scale.items()])


def hits(*accuracies, videos=1000, seeds=3):
    """Return hits of runs, each right on the first videos only, with these accuracies."""
    return [np.arange(videos) < videos * accuracy for accuracy in accuracies for _ in range(seeds)]


@pytest.fixture
def claims(tmp_path):
    """Function that reads one claim about the table above."""
    (tmp_path / "t.yaml").write_text(TABLE)
    (tmp_path / "claims").mkdir()

    def read(text):
        (tmp_path / "claims/p.yaml").write_text(f"source: P\nclaims:\n  - {text}\n")
        return read_claims(tmp_path)

    return read


def test_numbers_are_those_of_the_data_set_that_is_named():
    (claim,) = [claim for claim in CLAIMS if claim.text.startswith("On Kinetics-400 attention in space")]
    assert claim.paper() == [(76.9, 78.0)]
    (claim,) = [claim for claim in CLAIMS if claim.text.startswith("Divided attention is better than joint")]
    assert claim.paper() == [(59.5, 58.5)]


def claim_that(words):
    """Return the one claim whose sentence has these words."""
    (claim,) = [claim for claim in CLAIMS if words in claim.text]
    return claim


@pytest.mark.parametrize(
    ("text", "a", "b", "expected"),
    [
        ("{claim: x, table: t, better: [[a, b]]}", 0.7, 0.5, "supported"),
        ("{claim: x, table: t, better: [[a, b]]}", 0.5, 0.7, "contradicted"),
        ("{claim: x, table: t, better: [[a, b]]}", 0.5, 0.5, "undecided"),
        ("{claim: x, table: t, as_good: [[a, c]], margin: 1.0}", 0.5, 0.5, "supported"),
        ("{claim: x, table: t, as_good: [[a, c]], margin: 1.0}", 0.5, 0.7, "contradicted"),
        ("{claim: x, table: t, as_good: [[a, c]], margin: 1.0}", 0.7, 0.5, "contradicted"),
        ("{claim: x, table: t, as_good: [[a, c]], margin: 1.0}", 0.5, 0.51, "undecided"),
        ("{claim: x, table: t, as_good: [[a, c]], margin: 1.0}", 0.5, 0.48, "contradicted"),
        ("{claim: x, table: t, better: [[a, b]], untestable: no data}", 0.7, 0.5, "not testable here"),
    ],
)
def test_verdicts_follow_the_intervals(claims, text, a, b, expected):
    (claim,) = claims(text)
    verdict, (difference,) = judge(claim, runs(a=a, b=b, c=b))
    assert verdict == expected
    assert difference.value == pytest.approx(100 * (a - b))


def test_a_claim_of_several_pairs_holds_if_all_do_and_fails_if_one_does(claims):
    (claim,) = claims("{claim: x, table: t, better: [[a, b], [a, c]]}")
    assert judge(claim, runs(a=0.7, b=0.5, c=0.6))[0] == "supported"
    assert judge(claim, runs(a=0.7, b=0.5, c=0.7))[0] == "undecided"
    assert judge(claim, runs(a=0.7, b=0.5, c=0.8))[0] == "contradicted"
    verdict, differences = judge(claim, runs(a=0.7, b=0.5))
    assert (verdict, differences[1]) == ("not run", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{claim: x, table: t, better: [[b, a]]}", "the paper has 50.0 for b and 60.0 for a: it does not claim this"),
        ("{claim: x, table: t, better: [[a, e]]}", "no row 'e'"),
        ("{claim: x, table: t, better: [[a, d]]}", "t has no number of the paper for d"),
        ("{claim: x, table: t}", "expected better, or as_good with margin"),
        ("{claim: x, table: t, better: []}", "expected pairs of rows"),
        ("{claim: x, table: t, better: [[a, b]], untestable: {embedded: a, b}}", "untestable: give a reason"),
        ("{claim: x, table: t, beter: [[a, b]]}", "expected claim, table, and"),
    ],
)
def test_a_claim_that_the_paper_does_not_make_is_refused(claims, text, message):
    with pytest.raises(UserError, match=message):
        claims(text)


def test_a_figure_without_printed_numbers_has_claims_that_say_so(claims, tmp_path):
    (tmp_path / "t.yaml").write_text(re.sub(r"{paper: .*}", "{}", TABLE))
    given = claims("{claim: B beats a., table: t, better: [[b, a]]}")
    line = verdict_lines(judged_at(given, {"own": runs(a=0.5, b=0.7)})).splitlines()[-1]
    assert "| t: b - a | figure, no numbers printed | own: +20.0 [" in line and line.endswith("| supported |")


def test_one_pair_of_many_that_just_differs_decides_nothing(claims):
    rng = np.random.default_rng(0)
    one, other = ([rng.random(1000) < chance for _ in range(5)] for chance in (0.700, 0.726))
    (single,), (several,) = (
        claims("{claim: x, table: t, better: [[a, b]]}"),
        claims("{claim: x, table: t, better: [[a, b], [a, c], [c, b]]}"),
    )
    rows = runs(a=one, b=other, c=one)
    (difference,) = judge(single, rows)[1]
    assert 0.025 / 3 < difference.below(0) < 0.025
    assert judge(single, rows)[0] == "contradicted"
    assert judge(several, rows)[0] == "undecided"


def test_within_a_margin_too_few_videos_cannot_tell(claims):
    (claim,) = claims("{claim: x, table: t, as_good: [[a, c]], margin: 1.0}")
    rng = np.random.default_rng(0)
    few = runs(**{name: [rng.random(100) < 0.7 for _ in range(3)] for name in "ac"})
    assert judge(claim, few)[0] == "too few videos to tell"


def test_rows_that_beat_blind_ones_alone_are_so_by_construction(claims):
    (claim,) = claims("{claim: x, table: t, better: [[a, b], [a, c]]}")
    assert judge(claim, runs({"b", "c"}, a=0.7, b=0.5, c=0.5))[0] == "supported by construction"
    assert judge(claim, runs({"b"}, a=0.7, b=0.5, c=0.5))[0] == "supported"
    assert judge(claim, runs({"b", "c"}, a=0.5, b=0.7, c=0.5))[0] == "contradicted"


def test_the_tables_own_scale_decides_and_follow_ups_are_counted_apart(claims):
    (claim,) = claims("{claim: A beats b., table: t, better: [[a, b]]}")
    claim = replace(claim, follow_ups={"gpu": "it was late"})
    better, worse = runs(a=0.7, b=0.5), runs(a=0.5, b=0.7)
    found = judged_at([claim], {"gpu": worse, "own": better})
    assert tally(found) == f"{OPENING}: supported 1."
    assert verdict_list(found, "page.md").splitlines()[-1] == LINE
    first, second = verdict_lines(found).splitlines()[-2:]
    assert first.startswith("| [A beats b.](#t-own) | t: a - b | 60.0 - 50.0 | own: +20.0 [")
    assert first.endswith("| supported |")
    assert second.startswith("| follow-up: it was late | t: a - b |")
    assert second.endswith("| contradicted |")
    part = judged_at([claim], {"other": runs(a=0.7), "own": better})
    assert tally(part) == f"{OPENING}: supported 1."
    assert [one.follow_ups for one in part] == [[]], "not all rows of the claim were run there"
    assert tally(judged_at([claim], {"other": runs(a=0.7)})) == f"{OPENING}: not run 1."


BETTER, AS_GOOD = "better: [[a, b], [a, c]]", "as_good: [[a, c]], margin: 1.0"
YES, NO, EQUAL = (0.7, 0.5, 0.5), (0.5, 0.7, 0.5), (0.5, 0.5, 0.5)
ONE_SEED = tuple(hits(accuracy, seeds=1) for accuracy in NO)
DIFFER = "; own and real differ: no explanation yet"


@pytest.mark.parametrize(
    ("claim", "by_scale", "expected"),
    [
        (BETTER, {"own": YES, "real": YES, "other": YES}, "; alike at own, real, other"),
        (BETTER, {"own": NO, "real": NO, "other": NO}, "; alike at own, real, other"),
        (BETTER, {"own": YES, "own_longer": YES, "real": YES}, ""),  # two data sets only
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
    found = {scale: judge(claim, rows, scale)[0] for scale in ("own", "own_longer", "gpu")}
    assert list(found.values()) == ["not testable here", "not testable here", "supported"]
    assert "| not testable here: too small |" in verdict_lines(judged_at([claim], {"own": rows}))


def test_a_claim_is_judged_by_runs_on_its_own_data_set_or_else_on_ours():
    """Judge a claim about Kinetics by Kinetics or by our own videos, not by SSv2."""
    claim = claim_that("On Kinetics-400 attention in space")
    rows = runs(space=0.7, divided=0.7, joint=0.7)

    def of(claim, *scales):
        lines = verdict_lines(judged_at([claim], dict.fromkeys(scales, rows))).splitlines()
        (first,) = [i for i, line in enumerate(lines) if claim.text in line]
        return [line.split(" | ")[-1].partition(":")[0].strip("| ") for line in lines[first:]]

    assert of(claim, "embedded", "k400", "ssv2") == ["supported", "not testable here"], "Kinetics decides"
    assert of(claim_that("attention in time is worth a lot"), "embedded", "k400", "ssv2") == ["undecided", "undecided"]
    assert of(claim, "ssv2") == ["not testable here"], "only SSv2 was run"
