"""Test that each claim can come out each way that its kind has, by fabricated packs and the command ``table``."""

import re

import numpy as np
import pytest

from lit_video.__main__ import main
from lit_video.runs.packing import pack_runs
from lit_video.runs.predictions import save_logits
from lit_video.tables.judging import rows_of
from tests.fake_runs import change_result, write_result
from tests.tables.experiments import all_claims, resolved

CLAIMS = {claim.text: claim for claim in all_claims()}
OPEN = [text for text, claim in CLAIMS.items() if not claim.why_untestable(claim.scale)]
CLOSED = [text for text in CLAIMS if text not in OPEN]
VIDEOS = 4_000
STEP = 0.08  # accuracy between two rows of which one is better
# answers that a kind of claim has, with how far a pair's rows are apart, in steps, and the seeds' deviations
ANSWERS = {
    "better": {
        "supported": (1, 0.001),
        "contradicted": (-1, 0.001),
        "undecided": (0, 0.08),
        "differ by at most": (0, 0.001),
    },
    "not_worse": {"supported": (0, 0.001), "contradicted": (-1, 0.001), "too few": (0, 0.08)},
    "equal": {"supported": (0, 0.001), "contradicted": (-1, 0.001), "too few": (0, 0.08)},
}


def answers_of(claim):
    """Return the answers of an open claim's kind; a gain over a control, or without numbers, is never "at most"."""
    answers = list(ANSWERS.get(claim.kind, ()))
    return [answer for answer in answers if answer != "differ by at most" or (claim.paper() and not claim.control)]


CASES = [(text, answer) for text in OPEN for answer in answers_of(CLAIMS[text])]


def heights(claim):
    """Return for each row how many rows of the claim it is above, in a chain of its pairs; controls are below all."""
    below = {row: {second for first, second in claim.pairs if first == row} for row in all_rows(claim)}

    def height(row):
        return 1 + max(map(height, below[row])) if below[row] else int(row not in claim.table.controls)

    return {row: height(row) for row in below}


def all_rows(claim):
    return list(dict.fromkeys([*rows_of(claim), *(claim.table.controls if claim.control else ())]))


def fabricate(folder, claim, apart, deviation, seeds=3, learned=99.0):
    """Write runs of a claim's rows with their real settings; rows that it ranks are ``apart`` steps apart."""
    target = np.zeros(VIDEOS, np.int64)
    for row, height in heights(claim).items():
        for seed in range(seeds):
            accuracy = 0.4 + STEP * apart * height + deviation * (seed - 1)
            if deviation > STEP / 2:
                accuracy = 0.5 + deviation * np.random.default_rng([seed, height]).choice([-1, 1])
            run = folder / claim.table.name / claim.scale / row / f"seed{seed}"
            run.mkdir(parents=True)
            # right on the first videos, and on as many of each thousand
            right = (np.arange(VIDEOS) * 7919) % VIDEOS < accuracy * VIDEOS
            logits = np.stack([right, ~right], 1).astype(np.float32)
            top1 = 100 * save_logits(run, np.arange(VIDEOS), {"": (logits, target, ["a", "b"])}).hits().mean()
            write_result(run, table=claim.table.name, scale=claim.scale, row=row, seed=seed, test_videos=VIDEOS)
            metrics = {claim.table.metric: float(top1), "test/video_top1": float(top1), "train/video_top1": learned}
            change_result(run, metrics=metrics, identity={"settings": settings_of(claim, row)})
    pack_runs(sorted((folder / claim.table.name).glob("*/*/*")), folder / "packs")
    return folder / "packs"


def settings_of(claim, row):
    return resolved(row, claim.table.path).settings


def said(claim, packs, capsys):
    """Return what ``table`` says of a claim, from the packs."""
    assert main(["table", "--config", str(claim.table.path), "--runs", str(packs)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("- ") and claim.text in line]
    (line,) = lines
    return line.removeprefix("- ")


@pytest.mark.slow
@pytest.mark.parametrize(("text", "answer"), CASES)
def test_a_claim_gets_each_answer_of_its_kind(text, answer, tmp_path, capsys):
    claim = CLAIMS[text]
    packs = fabricate(tmp_path, claim, *ANSWERS[claim.kind][answer])
    assert said(claim, packs, capsys).startswith(answer)


KINDS = {claim.kind: text for text in reversed(OPEN) if not (claim := CLAIMS[text]).control}


@pytest.mark.parametrize("kind", KINDS)
def test_a_claim_of_each_kind_gets_an_answer_from_packs(kind, tmp_path, capsys):
    claim = CLAIMS[KINDS[kind]]
    for answer in answers_of(claim)[-2:]:  # the slow test has all
        packs = fabricate(tmp_path / answer, claim, *ANSWERS[kind][answer])
        assert said(claim, packs, capsys).startswith(answer)


@pytest.mark.parametrize(
    ("given", "answer"), [({"seeds": 1}, "one seed"), ({"learned": 60.0}, "unfinished: ")], ids=["one seed", "late"]
)
def test_rows_of_one_seed_or_unfinished_rows_give_no_answer(given, answer, tmp_path, capsys):
    claim = CLAIMS[KINDS["better"]]
    assert said(claim, fabricate(tmp_path, claim, 1, 0.001, **given), capsys).startswith(answer)


@pytest.mark.slow
@pytest.mark.parametrize("text", [text for text in CLOSED if CLAIMS[text].kind not in ("spread", "cheaper")])
def test_a_claim_that_our_data_cannot_decide_gets_just_that(text, tmp_path, capsys):
    claim = CLAIMS[text]
    assert said(claim, fabricate(tmp_path, claim, 1, 0.001), capsys).startswith("not testable here: ")


def test_what_the_rows_of_a_claim_vary_is_known_before_any_run():
    """A start that one row lacks, and rows that are equal at our scale."""
    said = {claim.why_untestable(claim.scale) for claim in CLAIMS.values()}
    assert {
        "timesformer_1k and i3d also differ in model.image_weights",
        "kinetics and crop differ in nothing here",
    } <= said


def test_every_claim_has_a_kind_with_answers_or_says_why_it_has_none(capsys):
    """Print a table of kinds, and one of claims, with their answers (pytest -s)."""
    for kind in dict.fromkeys(claim.kind for claim in CLAIMS.values()):
        number = sum(CLAIMS[text].kind == kind for text in OPEN)
        print(f"{kind:9} {number:2} claims: {', '.join(ANSWERS.get(kind, ['none, as no claim of it is open']))}")
    for number, (text, claim) in enumerate(CLAIMS.items(), 1):
        answers = ", ".join(answers_of(claim)) if text in OPEN else claim.why_untestable(claim.scale)
        source = "a table's numbers" if claim.section.endswith("numbers") else "a sentence"
        print(f"{number:2} {claim.kind:9} {source:17} {re.sub(' +', ' ', text)[:80]}: {answers}")
        assert answers
    assert len(OPEN) + len(CLOSED) == len(CLAIMS) > 60
