"""Pages and pictures that the scripts of this folder write."""

import re
import sys
import textwrap
from collections.abc import Container, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from lit_video.utils.colours import DARK, LIGHT
from lit_video.utils.figures import content_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # benchmarks is not installed
roundings_apart = import_module("benchmarks.roundings").roundings_apart
TEXT = "text { fill: #e6edf3 !important }"  # on a dark page


def write_or_compare(page: Path, text: str, *, copied: bool = False) -> int:
    """Write a page, or with ``--check`` only compare it; return 1 if it is out of date.

    Computed numbers may differ by a rounding, see ``benchmarks/roundings.py``; numbers that are
    ``copied``, such as settings, must be equal.
    """
    if "--check" in sys.argv[1:]:
        old = page.read_text(encoding="utf-8")
        return int(old != text if copied else roundings_apart(old, text) is None)
    page.write_text(text, encoding="utf-8")
    return 0


def filled(text: str, said: Mapping[str, Any], blocks: Container[str]) -> str:
    """Fill in a page and wrap its paragraphs; tables, lists and headings keep their lines.

    Args:
        text: Markdown with names in braces.
        said: What stands for each name.
        blocks: Paragraphs that are one name, such as ``{hours}``, and stand for a table or a list.
    """
    paragraphs = []
    for paragraph in text.strip().split("\n\n"):
        written = paragraph.format(**said)
        if paragraph not in blocks and not written.startswith(("#", "|", "-")):
            written = textwrap.fill(written, 120, break_long_words=False, break_on_hyphens=False)
        paragraphs.append(written)
    return "\n\n".join(paragraphs) + "\n"


def write_picture(picture: Path, figure: Figure) -> None:
    """Write a figure as SVG, with a transparent background, and on a dark page with light text and the dark colours."""
    with mpl.rc_context({"image.composite_image": False}):
        content = content_of(figure, "svg", transparent=True).decode()
    content = content.replace("image-rendering:crisp-edges;image-rendering:pixelated", "")  # smooth when scaled down
    fills = [f'[style*="fill: {LIGHT[name]}"] {{ fill: {colour} !important }}' for name, colour in DARK.items()]
    dark = f"@media (prefers-color-scheme: dark) {{ {' '.join([TEXT, *fills])} }}"
    picture.write_text(re.sub(r'(<style type="text/css">)', rf"\1{dark}", content, count=1))
