"""Text for people: times, similar names, tables, and results that show themselves, in a terminal or a notebook."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from html import escape
from typing import NamedTuple
from unicodedata import category, normalize

JOINERS = "\u200c\u200d"  # between letters of Persian and Indian scripts, and between pictures
STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def time_left(seconds: float) -> str:
    """Return the time left as ``4 min left`` or, below two minutes, ``40 s left``."""
    return f"{seconds / 60:.0f} min left" if seconds >= 120 else f"{seconds:.0f} s left"


def plural(number: float, noun: str) -> str:
    """Return a number with its noun: ``1 video``, ``2 videos``, ``0.5 minutes``."""
    return f"{number:.9g} {noun}{'s' * (number != 1)}"


def these(count: int, noun: str) -> str:
    """Return a number and a noun with their pronoun: ``this person``, ``these 2 persons``."""
    return f"this {noun}" if count == 1 else f"these {plural(count, noun)}"


def counted(counts: Mapping[str, int]) -> list[str]:
    """Return each number with its noun: ``["2 done", "1 running"]``."""
    return [f"{number} {noun}" for noun, number in counts.items()]


def shortened(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and the number of the others: ``a, b and 5 more``."""
    named = ", ".join(names[:most])
    if len(names) > most:
        return f"{named} and {len(names) - most} more"
    return named


def natural(text: str) -> tuple[list[str | int], str]:
    """Return a key that sorts names by the numbers in them: ``10`` after ``2``, ``order13`` after ``order5``."""
    # a number alone may be negative: -10 before -2; elsewhere a dash is no sign
    is_negative = re.fullmatch(r"-\d+(\.\d*)?", text) is not None
    sign = -1 if is_negative else 1
    unsigned = text[1:] if is_negative else text

    parts: list[str | int] = [*re.split(r"(\d+)", unsigned)]
    parts[1::2] = [sign * int(number) for number in parts[1::2]]
    return parts, text


def first_line(error: object) -> str:
    """Return the first line of an error, or its class name if it has no message."""
    return (str(error) or type(error).__name__).splitlines()[0]


def to_bytes(text: str) -> bytes:
    """Encode as UTF-8 with surrogateescape: file names need not be valid UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def to_text(content: bytes) -> str:
    """Return the text that :func:`to_bytes` turns into these bytes."""
    return content.decode("utf-8", "surrogateescape")


def composed(name: str) -> str:
    """Return a name with composed characters (Unicode's NFC), because a Mac's archives store accents by themselves."""
    return normalize("NFC", name)


@lru_cache(2**14)
def class_name(text: str) -> str:
    """Return the name of a class: composed, blanks of any kind as one, without characters that are not seen.

    Joiners between letters that are not ASCII change what is seen, and stay. A name that is not seen becomes its codes.
    """
    if text.isascii() and text.isprintable():
        return " ".join(text.split()) or "U+0020"

    seen: list[str] = []
    name = composed(text)
    for place, character in enumerate(name):
        if character in JOINERS:
            around = name[max(0, place - 1) : place + 2]
            if len(around) == 3 and not around[0].isascii() and not around[2].isascii():
                seen.append(character)
        elif category(character) in ("Cc", "Zs", "Zl", "Zp"):
            seen.append(" ")
        elif category(character) != "Cf":
            seen.append(character)

    return " ".join("".join(seen).split()) or " ".join(f"U+{ord(unseen):04X}" for unseen in name)


def case_twins(names: Iterable[str]) -> str:
    """Say which names differ in upper and lower case only, such as ``Walk`` and ``walk``; empty if none do."""
    spellings: dict[str, list[str]] = {}
    for name in names:
        spellings.setdefault(name.casefold(), []).append(name)

    twins = [" and ".join(alike) for alike in spellings.values() if len(alike) > 1]
    return f"classes that differ in upper and lower case only: {shortened(twins)}" if twins else ""


def drawable(text: str) -> str:
    """Replace bytes that are not UTF-8 by question marks, for pictures and other programs."""
    return text.encode("utf-8", "replace").decode()


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return `` (did you mean X?)`` to end a message with; empty if no name is similar."""
    by_lower = {name.lower(): name for name in names}
    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return f" (did you mean {by_lower[near[0]]}?)" if near else ""


def text_table(title: str, header: list[str], body: list[list[str]]) -> str:
    """Return a table for a terminal, with all columns but the first aligned right."""
    from rich.console import Console  # imported here: it takes 0.1 s, and few commands print tables
    from rich.table import Table as RichTable
    from rich.text import Text

    def plain(text: str) -> Text:
        return Text(printable(text))  # names contain no markup

    table = RichTable(title=plain(title), title_justify="left")
    for name in header:
        table.add_column(plain(name), justify="right", no_wrap=True)
    table.columns[0].justify = "left"
    for cells in body:
        table.add_row(*(plain(cell) for cell in cells))

    # in a notebook Rich would display the table itself, and with colours
    console = Console(width=10**5, force_jupyter=False, force_terminal=sys.stdout.isatty())
    with console.capture() as capture:
        console.print(table)
    lines = capture.get().rstrip().splitlines()
    return "\n".join(line.rstrip() for line in lines)


def printable(text: str) -> str:
    """Return a text in one line, without control characters and changes of reading direction."""
    return STEERING.sub("\N{REPLACEMENT CHARACTER}", text.replace("\n", " "))


def as_markdown(text: str) -> str:
    """Write a name so that Markdown shows it in one line and one cell, without HTML and pictures from elsewhere."""
    return printable(text).replace("|", "\\|").replace("<", "&lt;").replace("![", "!\\[")


def markdown_lines(header: list[str], body: list[list[str]], numbers: bool = True) -> str:
    """Return a table in Markdown without a title; ``numbers`` aligns all columns but the first to the right."""
    other_columns = "---:" if numbers else "---"
    rule = ["---"] + [other_columns] * (len(header) - 1)

    lines = []
    for cells in [header, rule, *body]:
        lines.append("| " + " | ".join(as_markdown(cell) for cell in cells) + " |")
    return "\n".join(lines)


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
