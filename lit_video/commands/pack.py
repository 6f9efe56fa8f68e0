"""The ``pack`` command: finished runs into one file per table."""

from argparse import Namespace

from lit_video.commands.arguments import add_output, add_shared, writing
from lit_video.commands.parser import Parser


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("runs -o results", "runs/ablation_tw -o benchmarks/results")
    add_shared(parser, "runs")
    add_output(parser, "DIR", required=True)


def run(arguments: Namespace) -> int:
    """Write finished runs into one file per table, without logits and checkpoints.

    The commands table, report and reproduce read these files as they do runs.
    """
    from lit_video.runs.packing import pack_runs

    with writing("--output", arguments.output):
        for path, runs in pack_runs(arguments.runs, arguments.output).items():
            print(f"{path}: {runs} runs, {path.stat().st_size / 1e3:.0f} kB")
    return 0
