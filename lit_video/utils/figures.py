"""Figures as file contents, without a screen or a matplotlib backend."""

import io
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.text import Text

from lit_video.utils.text import drawable


def content_of(figure: Figure, form: str = "png", **options: Any) -> bytes:
    """Return a figure as the content of a png, svg or pdf file. SVG output is deterministic."""
    content = io.BytesIO()
    for text in figure.findobj(Text):
        text.set_text(drawable(text.get_text()))
    if form == "svg":
        options["metadata"] = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    svg: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "lit_video", "font.sans-serif": ["DejaVu Sans"]}
    with matplotlib.rc_context(svg):
        figure.savefig(content, format=form, dpi=150, **options)
    return content.getvalue()


def short(name: str, most: int = 32) -> str:
    """Shorten a name to fit into a legend, or under a bar."""
    name = drawable(name)
    return name if len(name) <= most else f"{name[: most - 1]}…"
