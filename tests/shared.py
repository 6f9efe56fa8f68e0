"""Recordings and vectors beside a checkout of the authors': tests that want them are marked ``shared``."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(name):
    """Path of a shared file or folder; a test that lacks it is skipped."""
    if not (SHARED / name).exists():
        pytest.skip(f"no {name} in {SHARED}, which is not part of the repository")
    return SHARED / name
