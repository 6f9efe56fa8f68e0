"""Test the count of a command's way."""

from benchmarks.walk import Way, way


def test_a_return_is_a_first_call_in_a_file_that_was_left():
    steps = [
        ("a.py", "run"),
        ("a.py", "read"),
        ("b.py", "check"),
        ("a.py", "Row.name"),
        ("c.py", "train"),
        ("b.py", "end"),
    ]
    walked = Way(steps)
    assert (len(walked.steps), walked.files, walked.returns) == (6, 3, 2)
    assert str(walked) == "6 functions, 3 files, 2 returns, 0 lines run"
    assert Way(steps[:3]).returns == 0


def test_the_way_of_a_command_begins_at_its_door_and_has_each_function_once():
    walked = way(["table", "ablation_tw", "--runs", "DIR"])
    assert walked.steps[0] == ("lit_video/__main__.py", "main")
    assert ("lit_video/api/table.py", "table") in walked.steps
    assert len({*walked.steps}) == len(walked.steps) < walked.lines
