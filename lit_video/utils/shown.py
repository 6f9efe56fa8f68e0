"""Results that show themselves: as text on the command line, as HTML in a notebook."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from lit_video.utils.text import printable, text_table


class TextTable(NamedTuple):
    """A table of texts: title, header and body."""

    title: str
    header: list[str]
    body: list[list[str]]


Part = str | TextTable  # a paragraph or a table


class Shown:
    """Base of results; a subclass says what to show in :meth:`parts`."""

    def parts(self) -> Sequence[Part]:
        """Return the paragraphs and tables that show the result, in their order."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n\n".join(as_text(part) for part in self.parts())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "\n".join(as_html(part) for part in self.parts())


def as_text(part: Part) -> str:
    """Return a part for a terminal."""
    return part if isinstance(part, str) else text_table(*part)


def as_html(part: Part) -> str:
    """Return a part for a notebook; names of files and classes are escaped."""
    if isinstance(part, str):
        lines = [escape(printable(line)) for line in part.splitlines()]
        return f"<p>{'<br>'.join(lines)}</p>"

    rows = [_row("th", part.header), *(_row("td", cells) for cells in part.body)]
    caption = f"<caption>{escape(printable(part.title))}</caption>" if part.title else ""
    return f"<table>{caption}{''.join(rows)}</table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(printable(cell))}</{tag}>' for cell in cells)}</tr>"
