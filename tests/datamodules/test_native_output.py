"""Test that lines of compiled libraries are dropped by their beginning, and no other line is lost."""

import ctypes
import os

from lit_video.datamodules.native_output import dropping_lines


def test_lines_with_this_beginning_are_dropped_and_all_others_are_written(capfd):
    library = ctypes.CDLL(None)
    print("before")
    with dropping_lines("Solver::"):
        print("from Python")
        os.write(1, b"Solver:: of a descriptor\n")
        library.printf(b"Solver:: of the C library\n")
        library.printf(b"another line, without an end")
    print("\nafter")
    assert capfd.readouterr().out == "before\nfrom Python\nanother line, without an end\nafter\n"


def test_an_error_in_the_block_leaves_the_output_as_it_was(capfd):
    try:
        with dropping_lines("Solver::"):
            raise ValueError
    except ValueError:
        os.write(1, b"Solver:: after the block\n")
    assert capfd.readouterr().out == "Solver:: after the block\n"


def test_a_process_without_an_output_runs_the_block(monkeypatch):
    def closed(_):
        raise OSError

    monkeypatch.setattr(os, "dup", closed)
    done = []
    with dropping_lines("Solver::"):
        done.append(True)
    assert done
