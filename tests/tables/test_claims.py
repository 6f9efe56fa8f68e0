"""Claims are the papers': their numbers say so; verdicts follow the intervals."""

import numpy as np
import pytest

from lit_video.errors import UserError
from lit_video.reports.verdicts import verdicts
from lit_video.tables.claims import judge, read_claims
from tests.fake_runs import EXPERIMENTS

CLAIMS = read_claims(EXPERIMENTS)
TABLE = """\
trainer: parts/t.yaml
table:
  title: T
  source: a test
  rows:
    a: {paper: {test/video_top1: 60.0}}
    b: {paper: {test/video_top1: 50.0}}
    c: {paper: {test/video_top1: 59.5}}
    d: {}
"""


def hits(*accuracies, videos=1000, seeds=3):
    """Rows that are right on so many of the first videos."""
    return [np.arange(videos) < videos * accuracy for accuracy in accuracies for _ in range(seeds)]


@pytest.fixture
def claims(tmp_path):
    """Read one claim about the table above."""
    (tmp_path / "t.yaml").write_text(TABLE)
    (tmp_path / "claims").mkdir()

    def read(text):
        (tmp_path / "claims/p.yaml").write_text(f"source: P\nclaims:\n  - {text}\n")
        return read_claims(tmp_path)

    return read


def test_all_papers_claim_something_and_name_their_tables():
    sources = [claim.source.split(",")[0] for claim in CLAIMS]
    assert list(dict.fromkeys(sources)) == ["X-ViT", "TimeSformer", "ViViT"]
    assert len(CLAIMS) >= 30
    assert len({claim.text for claim in CLAIMS}) == len(CLAIMS)
    assert all(claim.source.split(",")[0] in claim.table.source for claim in CLAIMS)


def test_numbers_are_those_of_the_data_set_that_is_named():
    (claim,) = [claim for claim in CLAIMS if claim.text.startswith("On Kinetics-400 attention in space")]
    assert claim.paper() == [(76.9, 78.0)]
    (claim,) = [claim for claim in CLAIMS if claim.text.startswith("Divided attention is better than joint")]
    assert claim.paper() == [(59.5, 58.5)]


def claim_that(words):
    """The one claim whose sentence has these words."""
    (claim,) = [claim for claim in CLAIMS if words in claim.text]
    return claim


@pytest.mark.parametrize(
    ("text", "a", "b", "expected"),
    [
        ("{claim: x, table: t, better: [[a, b]]}", 0.7, 0.5, "supported"),
        ("{claim: x, table: t, better: [[a, b]]}", 0.5, 0.7, "contradicted"),
        ("{claim: x, table: t, better: [[a, b]]}", 0.5, 0.5, "undecided"),
        ("{claim: x, table: t, as_good: [[a, b]], margin: 1.0}", 0.5, 0.5, "supported"),
        ("{claim: x, table: t, as_good: [[a, b]], margin: 1.0}", 0.5, 0.7, "contradicted"),
        ("{claim: x, table: t, as_good: [[a, b]], margin: 1.0}", 0.5, 0.51, "undecided"),
        ("{claim: x, table: t, better: [[a, b]], untestable: no data}", 0.7, 0.5, "not testable here"),
    ],
)
def test_verdicts_follow_the_intervals(claims, text, a, b, expected):
    (claim,) = claims(text)
    verdict, (difference,) = judge(claim, {"a": hits(a), "b": hits(b)})
    assert verdict == expected
    assert difference.value == pytest.approx(100 * (a - b))


def test_a_claim_of_several_pairs_holds_if_all_do_and_fails_if_one_does(claims):
    (claim,) = claims("{claim: x, table: t, better: [[a, b], [a, c]]}")
    assert judge(claim, {"a": hits(0.7), "b": hits(0.5), "c": hits(0.6)})[0] == "supported"
    assert judge(claim, {"a": hits(0.7), "b": hits(0.5), "c": hits(0.7)})[0] == "undecided"
    assert judge(claim, {"a": hits(0.7), "b": hits(0.5), "c": hits(0.8)})[0] == "contradicted"
    verdict, differences = judge(claim, {"a": hits(0.7), "b": hits(0.5)})
    assert (verdict, differences[1]) == ("not run", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{claim: x, table: t, better: [[b, a]]}", "the paper has 50.0 for b and 60.0 for a: it does not claim this"),
        ("{claim: x, table: t, better: [[a, e]]}", "no row 'e'"),
        ("{claim: x, table: t, better: [[a, d]]}", "t has no number of the paper for d"),
        ("{claim: x, table: t}", "expected better, or as_good with margin"),
        ("{claim: x, table: t, better: [[a, b]], untestable: {embedded: a, b}}", "untestable: expected why"),
        ("{claim: x, table: t, beter: [[a, b]]}", "expected claim, table, and"),
    ],
)
def test_a_claim_that_the_paper_does_not_make_is_refused(claims, text, message):
    with pytest.raises(UserError, match=message):
        claims(text)


def test_the_page_has_a_line_for_each_scale_and_counts_verdicts(claims):
    given = claims("{claim: A beats b., table: t, better: [[a, b]]}")
    better, worse = {"a": hits(0.7), "b": hits(0.5)}, {"a": hits(0.5), "b": hits(0.7)}
    text = verdicts(given, {"t": {"embedded": better, "gpu": worse}})
    assert "Of 2 verdicts: supported 1, contradicted 1." in text
    first, second = text.splitlines()[-2:]
    assert first.startswith("| A beats b. |") and second.startswith("|  | [t](#t-gpu)"), "said once"
    assert "[t](#t-embedded): a - b | 60.0 - 50.0 | embedded: +20.0 [" in first
    assert first.endswith("| supported |")
    assert "gpu: -20.0 [" in second
    part = verdicts(given, {"t": {"follow_up": {"a": hits(0.7)}, "embedded": better}})
    assert "Of 1 verdicts: supported 1." in part
    assert "follow_up" not in part
    assert "Of 1 verdicts: not run 1." in verdicts(given, {"t": {"follow_up": {"a": hits(0.7)}}})


def test_a_claim_may_be_untestable_at_some_scales_alone(claims):
    (claim,) = claims("{claim: x, table: t, better: [[a, b]], untestable: {embedded: too small}}")
    runs = {"a": hits(0.7), "b": hits(0.5)}
    judged = {scale: judge(claim, runs, scale)[0] for scale in ("embedded", "embedded_longer", "gpu")}
    assert list(judged.values()) == ["not testable here", "not testable here", "supported"]
    page = verdicts([claim], {"t": {"embedded": runs, "embedded_other": {"c": hits(0.5)}}})
    assert "| not testable here: too small |" in page
    assert "embedded_other" not in page, "none of its rows were run there"


def test_a_verdict_of_one_seed_says_so(claims):
    given = claims("{claim: A beats b., table: t, better: [[a, b]]}")
    line = verdicts(given, {"t": {"embedded": {"a": hits(0.7), "b": hits(0.5, seeds=1)}}}).splitlines()[-1]
    assert line.endswith("| supported, of one seed |")
    assert "Of 1 verdicts: supported 1." in verdicts(given, {"t": {"embedded": {"a": hits(0.7), "b": hits(0.5)}}})


def test_a_claim_is_judged_by_runs_on_its_own_data_set_or_on_ours():
    """What a paper says of Kinetics is no claim about SSv2, nor the other way round; Kinetics itself can test it."""
    claim = claim_that("On Kinetics-400 attention in space")
    runs = {"space": hits(0.7), "divided": hits(0.7), "joint": hits(0.7)}

    def of(claim, *scales):
        lines = verdicts([claim], {"timesformer_schemes": dict.fromkeys(scales, runs)}).splitlines()
        (first,) = [i for i, line in enumerate(lines) if line.startswith("| " + claim.text)]
        return [line.split(" | ")[-1].partition(":")[0].strip("| ") for line in lines[first:]]

    assert of(claim, "embedded", "k400", "k400-released", "ssv2") == ["not testable here", "supported", "supported"]
    assert of(claim_that("attention in time is worth a lot"), "embedded", "k400", "ssv2") == ["undecided", "undecided"]
    assert of(claim, "ssv2") == ["not testable here"], "as long as nothing else was run"
