"""Check data sets, prepare them for training, print their floors; check and prepare resume if they were stopped."""

from argparse import Namespace
from dataclasses import replace

from lit_video.commands.arguments import add_output, add_settings, add_shared, existing, number, request_of
from lit_video.commands.names import refuse_unknown_class
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.training.request import Run
from lit_video.utils.files import user_path
from lit_video.utils.text import text_table


def data_arguments(parser: Parser) -> None:
    """Add the commands of the group."""
    parser.add_commands({"check": check, "prepare": prepare, "floors": floors})
    checking, preparation = parser.commands["check"], parser.commands["prepare"]
    checking.examples("ROOT --dataset SomethingV2", "ROOT --dataset VideoFolder --decode -o manifest.sqlite")
    checking.add_argument("--decode", action="store_true", help="decode every frame, not only the first")
    checking.add_argument("root", type=existing("no such folder"), metavar="ROOT", help="folder of the data set")
    checking.add_argument("--dataset", required=True, metavar="NAME", help="class of the data set, such as VideoFolder")
    add_output(checking, "FILE", otherwise="ROOT/manifest.sqlite, a row per video")
    checking.settings = ("--data",)
    preparation.examples("SRC DST --preset fast", "SRC DST --short-side 128")
    text = "folder of videos or of class folders"
    preparation.add_argument("src", type=existing("no such folder"), metavar="SRC", help=text)
    preparation.add_argument("dst", type=user_path, metavar="DST", help="another folder")
    text = "small (default): GOP 12; fast: a seventh larger, 1.7 x as fast; fastest: GOP 1, 2.8 to 3.8 x as large"
    preparation.add_argument("--preset", choices=("small", "fast", "fastest"), default="small", help=text)
    preparation.add_argument("--short-side", type=number(16), default=256, help="maximum in pixels (default: 256)")
    parser.commands["floors"].examples(
        "skills", "--config experiments/skills.yaml --config experiments/scale/profile.yaml"
    )
    add_shared(parser.commands["floors"], "tables", "--config", "--recipe", "--row")
    add_settings(parser.commands["floors"])


def check(arguments: Namespace) -> int:
    """Look at every video of every split: what is there, what is missing, what is broken.

    Writes one row per video to a manifest. Exit status 1: something is missing or broken, or equal videos are in two
    splits or classes.
    """
    refuse_unknown_class("dataset", arguments.dataset)
    from lit_video.datamodules.inspection import VERDICTS, check_report, contradictions, find_faults, open_dataset
    from lit_video.datamodules.manifest import MANIFEST

    data = open_dataset(arguments.dataset, arguments.root, arguments.settings)
    file = arguments.output or arguments.root / MANIFEST
    faults = find_faults(data, file, arguments.decode)
    print(check_report(data, faults, file))
    faulty = any(found[verdict] for found in faults.values() for verdict in VERDICTS)
    return int(faulty or bool(contradictions(data)))


def prepare(arguments: Namespace) -> int:
    """Re-encode every video of SRC for fast training, copy its annotations, and list the videos in DST/videos.csv.

    Videos that cannot be read are listed, and the exit status is 1.
    """
    from lit_video.datamodules.preparation import PRESETS, prepare_folder

    preset = replace(PRESETS[arguments.preset], short_side=arguments.short_side)
    return prepare_folder(arguments.src, arguments.dst, preset)


def floors(arguments: Namespace) -> int:
    """Print what can be told of a table's temporal skills without comparing two frames.

    Blind: models that see a set of frames. One frame: the best guess from one frame at a known time. Sum: a bound of
    any sum over frames at known times, unknown where states are continuous or turns long. Events within reach: how
    many films show both events at most so many frames apart.
    """
    from lit_video.datamodules import TemporalSkills
    from lit_video.training.run import build_row

    request = request_of(arguments)
    data = build_row(Run(request, request.rows[0], request.seeds[0])).datamodule
    if not isinstance(data, TemporalSkills):
        raise UserError(f"data: {type(data).__name__} has no known floors; give a table on TemporalSkills")
    bounds = data.sum_ceilings()
    body = []
    for name, one in data.skills.items():
        bound = f"{bounds[name]:.1f}" if name in bounds else ""
        body.append([name, one.kind, "50.0", "50.0", bound, _within_reach(name, data.steps)])
    title = (
        f"Direction in %, turns of {data.steps} steps; top-1 of blind models over all skills: {data.blind_ceiling:.1f}"
    )
    print(text_table(title, ["skill", "kind", "blind", "one frame", "sum (bound)", "events within reach"], body))
    return 0


def _within_reach(name: str, steps: int) -> str:
    """Say for orderN which share of films shows both events within N frames, and within T - N frames."""
    from lit_video.datamodules.films import distance
    from lit_video.datamodules.floors import share_in_reach

    apart = distance(name)
    if apart is None:
        return ""
    near = share_in_reach(apart, steps, apart)
    return f"{near:.0%} within {apart}, all within {steps - apart}"
