"""matplotlib without a screen, and figures saved to files."""

import io
import sys
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from lit_video.errors import UserError

matplotlib.use("Agg")
from matplotlib import pyplot as plt

__all__ = ["check_picture", "content_of", "plt", "run_name", "save", "short"]


def check_picture(path: Path) -> None:
    """Refuse a path that no figure can be saved to, before the work for it is done.

    Raises:
        UserError: the folder does not exist, or the ending is no image format.
    """
    formats = plt.figure().canvas.get_supported_filetypes()
    plt.close()
    if path.suffix.removeprefix(".").lower() not in formats:
        raise UserError(f"--plot {path}: {path.suffix or 'no ending'} is no picture; try .png or .svg")
    if not path.parent.is_dir():
        raise UserError(f"--plot {path}: no such folder {path.parent}")


def save(figure: Figure, path: Path) -> None:
    """Write a figure, and say so.

    Raises:
        UserError: the file cannot be written.
    """
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise UserError(f"--plot {path}: {error.strerror}") from error
    finally:
        plt.close(figure)
    print(f"wrote {path}", file=sys.stderr)


def content_of(figure: Figure, form: str = "png", **options: Any) -> bytes:
    """A figure as the content of a file, png, svg or pdf; it is closed. The same figure gives the same SVG."""
    content = io.BytesIO()
    metadata = dict.fromkeys(("Creator", "Date", "Format", "Type")) if form == "svg" else None
    svg: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "lit_video", "font.sans-serif": ["DejaVu Sans"]}
    with matplotlib.rc_context(svg):
        figure.savefig(content, format=form, dpi=150, metadata=metadata, **options)
    plt.close(figure)
    return content.getvalue()


def run_name(checkpoint: Path) -> Path:
    """Table, scale, row and seed of a run's checkpoint, as far as its path says: short enough for a title."""
    return Path(*checkpoint.resolve().parts[-5:])


def short(name: str, most: int = 32) -> str:
    """A name that fits into a legend, or under a bar."""
    return name if len(name) <= most else f"{name[: most - 1]}…"
