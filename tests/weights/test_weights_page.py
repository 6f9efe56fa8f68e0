"""docs/weights.md has the table that the command prints."""

from pathlib import Path

from lit_video.__main__ import main

PAGE = Path(__file__).parents[2] / "docs" / "weights.md"


def test_the_page_ends_with_the_table_of_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path))
    assert main(["weights", "--format", "markdown"]) == 0
    assert PAGE.read_text().endswith(capsys.readouterr().out)
