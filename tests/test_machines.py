"""Test commands on unusual machines: an ASCII locale, a home folder that cannot be written."""

import os
import subprocess
import sys

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # by default Python uses UTF-8 in this locale


def python(*args, **environment):
    command = [sys.executable, *map(str, args)]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=300)


def test_files_are_utf8_and_a_terminal_without_a_character_shows_a_question_mark(table, tiny):
    path, _ = table
    path.write_bytes(path.read_bytes().replace(b"label: 2nd", "label: ±2".encode()))
    done = python("-m", "lit_video", "table", "--config", path, **ASCII)
    assert (done.returncode, done.stderr) == (0, "")
    assert "| ?2 " in done.stdout


def test_figures_print_nothing_about_a_home_that_cannot_be_written():
    code = "from lit_video.utils import startup; startup.set_up_process(); import lit_video.inference.result_pictures"
    done = python("-c", code, HOME="/dev/null/home", XDG_CACHE_HOME="", XDG_CONFIG_HOME="", MPLCONFIGDIR="")
    assert (done.returncode, done.stderr) == (0, "")
