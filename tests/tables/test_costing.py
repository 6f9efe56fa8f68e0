"""Test verdicts on claims about costs, which ``cost`` counts."""

import re

import pytest

from lit_video.__main__ import main
from lit_video.api import cost
from lit_video.errors import UserError
from lit_video.network.multiply_adds import Published
from lit_video.reports.verdicts import judge_claims, of_costs
from lit_video.tables.claims import read_claims
from lit_video.tables.judging import COUNT_FIRST
from lit_video.tables.reading import read_table
from tests.fake_runs import EXPERIMENTS
from tests.tables.experiments import all_claims

CLAIMS = [claim for claim in all_claims() if claim.kind == "cheaper"]
FILES = [EXPERIMENTS / "timesformer_cost.yaml", EXPERIMENTS / "scale/k400.yaml"]


def judged(claim, gmacs, scale="k400"):
    (verdict,) = judge_claims([claim], [], {(claim.table.name, scale): gmacs})
    return verdict


def counted_rows(claim, first=100.0, second=200.0):
    return {row: gmacs for pair in claim.pairs for row, gmacs in zip(pair, (first, second), strict=True)}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text)
def test_a_claim_about_costs_gets_both_answers(claim):
    supported = judged(claim, counted_rows(claim))
    assert supported.text == "supported by construction"
    assert all(pair.text == "100 against 200 GMACs" for pair in supported.judged.pairs)

    dearer = counted_rows(claim) | {claim.pairs[0][0]: 201.0}
    contradicted = judged(claim, dearer)
    assert contradicted.judged.judgement == "contradicted by construction"
    assert f"{' - '.join(claim.pairs[0])} fails" in contradicted.text
    assert judged(claim, counted_rows(claim, 100.0, 100.0)).judged.judgement == "contradicted by construction"


def test_costs_that_were_not_counted_or_are_of_small_models_decide_nothing():
    claim = CLAIMS[0]
    few = counted_rows(claim)
    few.popitem()
    assert judged(claim, few).text == f"not run: {COUNT_FIRST}"
    assert judged(claim, counted_rows(claim), "embedded").text.startswith("not testable here: tokens of 48 channels")
    (verdict,) = judge_claims([claim], [])
    assert verdict.judged.judgement == "not testable here"


def test_a_table_says_what_its_costs_decide():
    table = read_table(FILES)
    counted = {row: gmacs for claim in CLAIMS for row, gmacs in counted_rows(claim).items()}
    tally, *lines = of_costs(table, counted)
    assert "supported by construction 2" in tally
    assert all("100 against 200 GMACs" in line and "fewer multiply-adds" in line for line in lines)
    assert of_costs(read_table(FILES[:1]), counted) == []


def test_a_claim_about_costs_takes_no_margin(tmp_path):
    (tmp_path / "t.yaml").write_text("table: {rows: {a: {set: {model.window: 1}}, b: {set: {model.window: 0}}}}\n")
    (tmp_path / "claims").mkdir()
    entry = "{claim: x, section: s, table: t, varies: model.window, cheaper: [[a, b]], margin: 1.0}"
    (tmp_path / "claims/p.yaml").write_text(f"source: P\nclaims: [{entry}]\n")
    with pytest.raises(UserError, match="others take none"):
        read_claims(tmp_path)


@pytest.mark.slow
def test_cost_answers_the_claims_of_its_table(capsys):
    assert main(["cost", *(f"--config={file}" for file in FILES)]) == 0
    printed = capsys.readouterr().out
    for claim in CLAIMS:
        (line,) = [line for line in printed.splitlines() if claim.text in line]
        assert line.startswith("- supported by construction")
        assert len(re.findall(r"\d against \d", line)) == len(claim.pairs)


@pytest.mark.parametrize("flags", [(), ("--data.num_frames=4",)], ids=["of the table", "of the user"])
def test_only_the_tables_own_settings_decide(flags, monkeypatch, capsys):
    model = Published("s", "m", "TimeSformer", classes=400, views=3, settings={"num_frames": 8, "image_size": 224})
    monkeypatch.setattr(
        cost,
        "table_costs",
        lambda request: [(model, (1, 10**9 * (1 + row.name.startswith("joint")))) for row in request.rows],
    )
    assert main(["cost", *(f"--config={file}" for file in FILES), *flags]) == 0
    printed = capsys.readouterr().out
    assert printed.count("- supported by construction: Divided attention needs fewer") == (0 if flags else 2)
