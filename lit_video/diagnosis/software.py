"""Versions of Python and of the libraries, against what the package asks for."""

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement

from lit_video.diagnosis.finding import Finding

SHOWN = ("torch", "lightning", "torchvision", "av", "timm", "pytorchvideo", "wandb")
EXTRAS = ("torchcodec", "submitit", "wandb-workspaces")


def check_software() -> Iterator[Finding]:
    """Python, the libraries that are needed, and the extras that are there."""
    yield Finding("ok", "python", f"{sys.version.split()[0]}, {sys.executable}")
    found = {name: installed(name) for name in (*SHOWN, *EXTRAS)}
    yield Finding("ok", "libraries", ", ".join(f"{name} {number}" for name, number in found.items() if number))
    for needed in requirements():
        number = installed(needed.name)
        if number is None:
            yield Finding("problem", needed.name, "not installed", f"pip install '{needed}'")
        elif not needed.specifier.contains(number, prereleases=True):
            yield Finding("problem", needed.name, f"{number}, needed {needed.specifier}", f"pip install '{needed}'")


def installed(name: str) -> str | None:
    """Version of a library; ``None`` if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def requirements() -> list[Requirement]:
    """What the package needs, without its extras; the shown libraries where the package itself is not installed."""
    try:
        every = [Requirement(line) for line in requires("lit_video") or ()]
    except PackageNotFoundError:
        every = [Requirement(name) for name in SHOWN]
    return [one for one in every if one.marker is None or one.marker.evaluate({"extra": ""})]
