"""Test that rows, packs and plans are what the code before said of them.

``LIT_VIDEO_OLD_ANSWERS`` names the file of the old answers: in a checkout of the commit that this file began with,
``python -m tests.settings.answers FILE``, with ``answers.py`` of here.
"""

import json
import os
from pathlib import Path

import pytest

OLD = os.environ.get("LIT_VIDEO_OLD_ANSWERS")


@pytest.mark.slow
@pytest.mark.skipif(not OLD, reason="no answers of a checkout before")
def test_all_answers_are_those_of_before():
    from tests.settings.answers import all_answers

    old = json.loads(Path(OLD).read_text())
    new = json.loads(json.dumps(all_answers()))
    for kind in old:
        differing = {key: (old[kind].get(key), new[kind].get(key)) for key in old[kind].keys() | new[kind].keys()}
        assert not {key: pair for key, pair in differing.items() if pair[0] != pair[1]}
