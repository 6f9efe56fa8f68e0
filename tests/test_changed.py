"""Test that the tests of a change are found by imports, by commands and by names of files, the nearest first."""

import pytest

from tests.changed import nearest, used_by
from tests.conftest import ROOT
from tests.imports import modules_of

FILES = modules_of("lit_video", "tests")
USES = {
    "lit_video.video": set(),
    "lit_video.training": {"lit_video.video"},
    "tests.helper": {"lit_video.video"},
    "tests.test_video": {"lit_video.video"},
    "tests.test_clips": {"tests.helper"},
    "tests.test_training": {"lit_video.training"},
    "tests.test_both": {"lit_video.training", "lit_video.video"},
    "tests.test_other": set(),
}


def test_tests_come_by_their_way_to_a_change_and_then_by_how_little_else_they_use():
    of_video = ["tests.test_video", "tests.test_both", "tests.test_clips", "tests.test_training"]
    assert nearest(["lit_video.video"], USES) == of_video
    assert nearest(["tests.test_other"], USES) == ["tests.test_other"], "a test that has changed itself"
    assert nearest(["lit_video.gone"], USES) == []


@pytest.mark.parametrize(
    ("test", "used"),
    [
        ("tables/test_tables.py", "lit_video.tables.reading"),  # an import
        ("commands/test_cost.py", "lit_video.commands.cost"),  # main(["cost", ...])
        ("api/test_functions.py", "lit_video.api.finetune"),  # lit_video.finetune(...)
        ("test_glossary.py", "docs.glossary"),  # its name
        ("test_pages.py", "docs.glossary"),  # docs/*.md
    ],
)
def test_a_test_uses_what_it_imports_calls_and_names(test, used):
    assert used in used_by(ROOT / "tests" / test, FILES, [ROOT / "docs/glossary.md", ROOT / "Makefile"])


def test_a_file_of_another_name_and_ending_is_not_used():
    page = [ROOT / "docs/glossary.md", ROOT / "Makefile"]
    assert not {"docs.glossary", "Makefile"} & used_by(ROOT / "tests/attention/test_mixing.py", FILES, page)
