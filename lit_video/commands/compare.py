"""The ``compare`` command: attention schemes side by side on a folder of videos."""

from argparse import Namespace

from lit_video.commands.arguments import add_shared
from lit_video.commands.finetune import (
    add_videos,
    experiment_of,
    fit_experiment,
    plan_experiment,
    print_result,
    runs_of,
    write_report,
)
from lit_video.commands.parser import Parser
from lit_video.tables.reading import read_table
from lit_video.utils.stop_signals import DONE


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("videos --schemes xvit,divided,joint", "videos --schemes space,xvit --seeds 0,1,2,3,4 --minutes 5")
    add_videos(parser)
    parser.add_argument("--schemes", required=True, metavar="A,B", help="xvit,divided,joint,vivit2, ...")
    text = "image model that all schemes start from (default: a small one of ImageNet-21k), or none: from scratch"
    parser.add_argument("--weights", metavar="auto|none|timm:NAME", help=text)
    add_shared(parser, "--seeds", default="0,1,2")


def run(arguments: Namespace) -> int:
    """Compare attention schemes on a folder of your own videos.

    Trains each scheme once per seed, prints the differences of all pairs with their intervals, and writes a page of
    the results; the same command again goes on.
    """
    from lit_video.tables.rendering import pairs_table
    from lit_video.tables.summary import summary
    from lit_video.utils.text import text_table

    file = experiment_of(arguments, "_compare")
    plan_experiment(arguments, file, arguments.schemes)
    status = fit_experiment(arguments, file, ",".join(map(str, arguments.seeds)))
    if status == DONE:
        table = read_table([file])
        found = summary(table, runs_of(file))
        print(text_table(*pairs_table(found)), flush=True)
        write_report(file)
        best = max(found["rows"], key=lambda row: row["metrics"][table.metric]["ours"])
        print(f"The highest accuracy is that of {best['label']}; with seed {best['seeds'][0]}:", flush=True)
        print_result(table.run_dir(runs_of(file), table.row(best["name"]), best["seeds"][0]))
    return status
