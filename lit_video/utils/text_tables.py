"""Tables as text: for a terminal, in Markdown."""

import sys

from rich.console import Console
from rich.table import Table as RichTable


def text_table(title: str, header: list[str], body: list[list[str]]) -> str:
    """A table for a terminal, numbers to the right."""
    table = RichTable(title=title, title_justify="left")
    for i, name in enumerate(header):
        table.add_column(name, justify="right" if i else "left", no_wrap=True)
    for cells in body:
        table.add_row(*cells)
    natural = sum(3 + max(map(len, column)) for column in zip(header, *body, strict=True))
    console = Console(width=max(100, 13 * len(header), 1 + natural))
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines())


def markdown_lines(header: list[str], body: list[list[str]], numbers: bool = True) -> str:
    """A table in Markdown without its title, ``numbers`` to the right."""
    rule = ["---"] + ["---:" if numbers else "---"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rule, *body])


def print_whole(table: RichTable) -> None:
    """Print a table without cutting anything off: columns that may fold do so on a terminal, nowhere else."""
    console = Console()
    if not sys.stdout.isatty():
        console.width = console.measure(table, options=console.options.update(width=10_000)).maximum
    console.print(table)
