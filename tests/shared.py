"""Recordings and vectors outside the repository, for tests that are marked ``shared``."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(name):
    """Return the path of a shared file or folder; skip the test if it is missing."""
    if not (SHARED / name).exists():
        pytest.skip(f"no {name} in {SHARED}, which is not part of the repository")
    return SHARED / name
