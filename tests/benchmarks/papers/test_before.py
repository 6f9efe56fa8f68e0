"""Test the page of verdicts before and after, on made verdicts and as it is committed."""

from benchmarks.papers.before import BEFORE, HEADER, RULES, before_page
from lit_video.reports.verdicts import Verdict
from lit_video.tables.judging import NEEDS_CONTROL, Judged
from lit_video.utils.yaml_files import read_yaml
from tests.fake_runs import EXPERIMENTS
from tests.tables.experiments import all_claims

CLAIMS = {claim.text: claim for claim in all_claims()}
PAGE = EXPERIMENTS.parent / "docs/results/before.md"
WINDOW = CLAIMS["A window of 1 is better than one of 2."]


def page(**by_scale):
    """Return the page of one claim, by its verdicts at further scales."""
    follow_ups = [Verdict(WINDOW, scale, judged) for scale, judged in by_scale.items()]
    return before_page([Verdict(WINDOW, "embedded", Judged("not run"), follow_ups=follow_ups)], "# Head\n")


def test_a_changed_verdict_has_its_rule_and_equal_ones_are_counted():
    assert page(avletters=Judged("undecided")) == ""
    both = page(avletters=Judged("unfinished", "tw1: 74 %"), utd_mhad=Judged("unfinished"))
    assert "2 of 2 verdicts changed." in both
    assert f"| avletters, utd_mhad | undecided | unfinished | {RULES['unfinished']} |" in both
    one = page(avletters=Judged("undecided"), utd_mhad=Judged("not run", NEEDS_CONTROL))
    assert "1 of 2 verdicts changed." in one and "| not run: needs the control |" in one


def test_earlier_verdicts_are_of_claims_and_scales_of_today():
    entries = read_yaml(BEFORE)["verdicts"]
    assert {entry["claim"] for entry in entries} <= CLAIMS.keys()
    for entry in entries:
        names = {name for scale in entry.keys() - {"claim"} for name in scale.split("+")}
        assert all((EXPERIMENTS / "scale" / f"{name}.yaml").is_file() for name in names)


def test_every_change_on_the_committed_page_has_a_rule():
    """The page itself is compared with the packs by ``python -m benchmarks.papers --check``."""
    lines = [line.split("|")[1:-1] for line in PAGE.read_text("utf-8").splitlines()]
    changes = [line for line in lines if len(line) == len(HEADER) and line[0].isdigit()]
    assert changes and all(line[-1] in RULES.values() for line in changes)
