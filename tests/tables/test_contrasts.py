"""Test that the rows of every claim differ in what the claim names, at its table's own scale."""

import pytest

from lit_video.tables.contrasts import run_contrast, uncovered
from tests.fake_runs import fake_run
from tests.tables.experiments import all_claims, resolved

# claims whose rows differ in more at our scale: our CNNs start from scratch, TimeSformer from an image model
MORE = (
    "TimeSformer is better than",
    "Where order matters (SSv2), TimeSformer is better",
    "TimeSformer of high resolution",
)
# claims whose rows differ in nothing at our scale: both start from the same image model
NOTHING = ("A start from Kinetics-400 helps", "On long videos a start from Kinetics-400")


def settings(claim, row):
    return fake_run(resolved(row, claim.table.path).settings)


@pytest.mark.slow
@pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.text[:40])
def test_a_claim_names_in_what_its_rows_differ(claim):
    more = set()
    nothing = 0
    for first, second in claim.pairs:
        if first == second:  # a spread
            continue
        contrast = run_contrast(settings(claim, first), settings(claim, second))
        nothing += not contrast
        more.update(uncovered(contrast, claim.varies))
    expected = {"model.image_weights"} if claim.text.startswith(MORE) else set()
    assert more == expected
    assert nothing == (len(claim.pairs) if claim.text.startswith(NOTHING) else 0)
