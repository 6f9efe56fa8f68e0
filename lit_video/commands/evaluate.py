"""The ``validate`` and ``test`` commands: a checkpoint, or published weights, on a data set."""

from __future__ import annotations

import argparse
import pickle
import zipfile
from pathlib import Path
from typing import get_args

from lit_video.commands.parser import Parser
from lit_video.errors import UserError


def validate(argv: list[str]) -> int:
    """The centre view of every validation video."""
    return _evaluate(["validate", *argv])


def test(argv: list[str]) -> int:
    """All views of every test video."""
    return _evaluate(["test", *argv])


def _evaluate(argv: list[str]) -> int:
    """``validate`` and ``test`` of LightningCLI, on a run's ``config.yaml`` and checkpoint, or on published weights.

    ``--order`` is short for ``--data.order``.
    """
    from lit_video.training.cli import VideoCLI, refuse_ignored, show, user_errors  # torch takes its seconds only now
    from lit_video.video.clips import Order

    if {"-h", "--help"} & set(argv):
        return show(argv)
    refuse_ignored(argv, argv[0])
    short = Parser(argv[0], add_help=False)
    short.add_argument("--order", choices=get_args(Order))
    known, argv = short.parse_known_args(argv)
    argv += [f"--data.order={known.order}"] if known.order else []
    asked = argparse.ArgumentParser(add_help=False)
    asked.add_argument("--ckpt_path", type=Path)
    checkpoint = asked.parse_known_args(argv)[0].ckpt_path
    published = any(arg.split("=")[0].endswith(".weights") for arg in argv)
    if (checkpoint is None and not published) or (checkpoint is not None and not checkpoint.is_file()):
        raise UserError(f"--ckpt_path: {checkpoint or 'give a file'}: no such file; runs keep theirs as last.ckpt")
    try:
        with user_errors(lambda key: argv[0]):
            VideoCLI([*argv, "--trainer.logger=false"], execute=True)
    except (pickle.UnpicklingError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"--ckpt_path: {checkpoint} is damaged, or no checkpoint") from error
    except RuntimeError as error:  # names or shapes differ
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"--ckpt_path: {checkpoint} does not load into this model: {reason}") from error
    return 0
