"""matplotlib without a screen, and figures saved to files."""

import io
from typing import Any

import matplotlib
from matplotlib.figure import Figure

matplotlib.use("Agg")
from matplotlib import pyplot as plt

__all__ = ["content_of", "plt", "short"]


def content_of(figure: Figure, form: str = "png", **options: Any) -> bytes:
    """A figure as the content of a file, png, svg or pdf; it is closed. The same figure gives the same SVG."""
    content = io.BytesIO()
    metadata = dict.fromkeys(("Creator", "Date", "Format", "Type")) if form == "svg" else None
    svg: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "lit_video", "font.sans-serif": ["DejaVu Sans"]}
    with matplotlib.rc_context(svg):
        figure.savefig(content, format=form, dpi=150, metadata=metadata, **options)
    plt.close(figure)
    return content.getvalue()


def short(name: str, most: int = 32) -> str:
    """A name that fits into a legend, or under a bar."""
    return name if len(name) <= most else f"{name[: most - 1]}…"
