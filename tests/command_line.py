"""Parse command lines without running them."""

from lit_video.api.arguments import request_for
from lit_video.commands.arguments import call_arguments
from lit_video.commands.parser import parse, tree


def parse_request(flags):
    """Return what these flags ask of ``fit``: rows, seeds and folders."""
    arguments = parse(["fit", *flags])
    return request_for(**call_arguments(arguments, "row_settings"), reuse=arguments.reuse)


def every_parser():
    """Return the parsers of all commands by name (one word or two), without those of groups of commands."""
    root = tree()
    inner = {f"{name} {each}": p for name, parser in root.commands.items() for each, p in parser.commands.items()}
    return {name: p for name, p in (root.commands | inner).items() if p.get_default("run")}
