"""Read a command line without running it."""

from lit_video.commands.arguments import request_of
from lit_video.commands.parser import parse, tree


def parse_request(flags):
    """The rows that ``fit`` with these flags is to run."""
    return request_of(parse(["fit", *flags]))


def every_parser():
    """The parsers of all commands by their names, of one word or two; those of groups are left out."""
    root = tree()
    inner = {f"{name} {each}": p for name, parser in root.commands.items() for each, p in parser.commands.items()}
    return {name: p for name, p in (root.commands | inner).items() if p.get_default("run")}
