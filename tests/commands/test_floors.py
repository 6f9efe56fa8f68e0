"""Test the command that prints what one frame, two neighbouring frames and a sum over frames tell."""

import pytest

from lit_video.__main__ import main


def test_floors_of_a_table_by_skill(capsys):
    assert main(["data", "floors", "skills"]) == 0
    lines = capsys.readouterr().out.splitlines()
    of_skill = {
        line.split("│")[1].strip(): [cell.strip() for cell in line.split("│")[2:8]] for line in lines if "│" in line
    }
    assert "37.5" in lines[0]
    assert of_skill["drift"] == ["change", "50.0", "50.0", "100.0", "", ""]
    assert of_skill["zoom"] == ["change", "50.0", "50.0", "100.0", "87.5", ""]
    assert of_skill["order3"] == ["when", "50.0", "50.0", "50.0", "87.5", "62% within 3, all within 5"]


def test_a_table_on_other_videos_has_no_known_floors(tmp_path, capsys):
    rows = [f"{name}{person}.avi,{name},s0{person}" for name in ("wave", "throw") for person in range(1, 9)]
    (tmp_path / "labels.csv").write_text("\n".join(["path,label,person", *rows]))
    assert main(["data", "floors", "utd_mhad", f"--data.root={tmp_path}"]) == 2
    assert "VideoCSV has no known floors; give a table on TemporalSkills" in capsys.readouterr().err
    assert main(["data", "floors", "skills"]) == 0


@pytest.mark.parametrize("flag", ["--data.length=12", "--data.skills=[order4]"])
def test_settings_that_do_not_fit_are_refused(flag, capsys):
    assert main(["data", "floors", "skills", flag]) == 2
    assert "length is" in capsys.readouterr().err
