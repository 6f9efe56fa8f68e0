"""The commands ``finetune`` and ``compare``: from a folder of videos to trained and tested models."""

import os
import shlex
from argparse import Namespace
from pathlib import Path

from lit_video.commands.arguments import add_output, add_settings, add_shared, existing, natural, number, writing
from lit_video.commands.parser import PROGRAM, Parser, parse, run_command
from lit_video.errors import UserError
from lit_video.own_videos.finding import find_videos
from lit_video.own_videos.schemes import schemes_named
from lit_video.settings.flags import read_flags
from lit_video.tables.reading import folder_name, read_table
from lit_video.utils.annotations import read_table as read_annotations
from lit_video.utils.files import TABLES, user_path, write_atomically
from lit_video.utils.processes import usable_cores
from lit_video.utils.stop_signals import DONE
from lit_video.utils.text import plural, text_table
from lit_video.utils.yaml_files import read_yaml
from lit_video.weights.hub import find_start


def finetune_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("videos", "videos --weights xvit-b-k600 --minutes 60")
    add_videos(parser)
    text = "weights to start from: published ones, a run of yours, or none (default: VideoMAE-B of Kinetics-400)"
    parser.add_argument("--weights", metavar="auto|none|NAME|RUN", help=text)
    text = "yes: train a probe on the frozen backbone of --weights; no: all layers (default: yes on a CPU, no on a GPU)"
    parser.add_argument("--frozen", choices=["yes", "no"], help=text)
    parser.add_argument("--scheme", help="attention scheme of a model from scratch (default: xvit)")
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="seed of all random draws (default: 0)")


def add_videos(parser: Parser) -> None:
    """Add the arguments that ``finetune`` and ``compare`` have in common."""
    parser.add_argument(
        "videos", type=user_path, metavar="DIR|TABLE", help="class folders of videos, or a table of them"
    )
    add_output(parser, "DIR", otherwise="own/NAME")
    text = "minutes of training; for compare, minutes of each run (default: 10 on a CPU, 30 on a GPU)"
    parser.add_argument("--minutes", type=number(0, whole=False), metavar="N", help=text)
    parser.add_argument("--group", metavar="COLUMN|none", help="column that says which videos belong together")
    add_shared(parser, "--jobs")
    add_settings(parser)


def finetune(arguments: Namespace) -> int:
    """Train and test a model on a folder of your own videos.

    Says what it finds, writes an experiment with a reason for every setting, trains, tests, and writes a page of the
    results and a model card. Repeating the command resumes it. With fewer than 300 videos it cross-validates, so every
    video is tested; the model to use is trained on all videos.
    """
    file = experiment_of(arguments)
    plan_experiment(arguments, file, arguments.scheme)
    table = read_table([file])
    status = fit_experiment(arguments, file, str(arguments.seed), len(table.rows))
    if status == DONE:
        from lit_video.reports.card import model_card
        from lit_video.training.folds import take_tests

        folder, *folds = [table.run_dir(file.with_name("runs"), row, arguments.seed) for row in table.rows]
        if folds:
            take_tests(folder, {fold.parent.name: fold for fold in folds})
        write_report(file)
        card = file.with_name("README.md")
        write_atomically(card, model_card(folder))
        print(f"wrote {card}, the model card", flush=True)
        print_result(folder)
    return status


def print_result(run_dir: Path) -> None:
    """Print a finished run's accuracy, the baseline of the most frequent class, and a command to run next."""
    from lit_video.reports.card import headline, is_of_use

    then = f"Next, name the class of a video: {PROGRAM} predict --ckpt {shlex.quote(str(run_dir))} VIDEO"
    if not is_of_use(run_dir):
        then = "This model is of no use yet: it is no better than one answer for all videos. Next, give it more time "
        then += "(--minutes N and another --output), more videos, or weights to start from (--weights NAME)"
    print(*headline(run_dir), then, sep="\n", flush=True)


def experiment_of(arguments: Namespace, ending: str = "") -> Path:
    """Return the path of the experiment's file, named after the folder or table of the videos."""
    place = arguments.videos.resolve()
    name = folder_name(place.stem if place.is_file() else place.name) or "videos"
    folder: Path = arguments.output or Path("own") / name
    if folder.resolve() == place:
        raise UserError(f"--output {folder}: the table written there would be read as the videos'; give another folder")
    return folder / f"{name}{ending}.yaml"


def plan_experiment(arguments: Namespace, file: Path, schemes: str | None) -> None:
    """Plan and write the experiment, unless its file exists."""
    if file.exists():
        _check_same_plan(arguments, file)
        print(f"Going on with {file}; to plan anew, delete it.", flush=True)
        return
    place = existing(f"no such folder, and no table ({', '.join(TABLES)})")(str(arguments.videos))
    if place.is_file() and place.suffix.lower() not in TABLES:
        raise UserError(f"{place}: is no table ({', '.join(TABLES)}); give the folder that holds the class folders")
    chosen = {} if schemes is None else schemes_named(schemes)
    weights, compared = arguments.weights or "auto", "schemes" in arguments
    if weights not in ("auto", "none") and not compared:
        find_start(weights)
    found = find_videos(arguments.videos)
    from lit_video.own_videos.dividing import without_rare

    without_rare(found.videos)  # refuses too few videos before weights are downloaded
    # imported after the checks above, because torch takes seconds
    from lit_video.own_videos.images import image_start
    from lit_video.own_videos.plan import PlanOptions, plan
    from lit_video.own_videos.starts import SCRATCH, VIDEOS, at_hand, start_from

    start = SCRATCH
    if weights == "auto" and not schemes and at_hand(VIDEOS):
        weights = VIDEOS
    if compared and weights != "none":
        start = image_start(weights, chosen)
    elif weights not in ("auto", "none"):
        start = start_from(weights)
    if start.weights and schemes and not compared:
        raise UserError(f"--weights {weights}: weights of {start.model} decide the scheme; leave --scheme out")
    if arguments.settings:
        from lit_video.training.cli import ReadCLI, user_errors
        from lit_video.training.layers import with_given

        settings = read_flags(arguments.settings)

        for model in {row.get("set", {}).get("model", start.model) for row in (chosen or start.rows).values()}:
            with user_errors(lambda key: "command line"):
                data = {"class_path": "VideoCSV", "init_args": {"root": "."}}
                ReadCLI(with_given({"data": data, "model": {"class_path": model}}, settings))
    with writing("--output", file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
    made_by, frozen = f"{PROGRAM} {shlex.join(arguments.words)}", getattr(arguments, "frozen", None)
    given = (made_by, chosen, start, arguments.minutes, arguments.group)
    plan(found, PlanOptions(arguments.videos, file, *given, folds=not compared, frozen=frozen))


def _check_same_plan(arguments: Namespace, file: Path) -> None:
    """Refuse arguments that differ from those of the existing plan, and videos that are gone or have other labels."""
    given, plan = str(arguments.videos.resolve()), read_yaml(file)
    if (source := plan.get("table", {}).get("source", given)) != given:
        raise UserError(f"{given}: {file} is planned already, for the videos in {source}; give another --output")
    data = plan.get("data", {}).get("init_args", {})
    if {"root", "train"} <= data.keys():
        found = find_videos(arguments.videos)
        labels = {str(found.root.resolve() / video.path): video.label.strip() for video in found.videos}
        for row in read_annotations("--output", Path(data["train"]), ("path", "label"), files="path"):
            path, was = str(Path(data["root"], row.text("path"))), row.text("label")
            if (now := labels.pop(path, "gone")) != was:
                what = f"{path}: was {was} when {file} was planned, is {now} now"
                raise UserError(f"{what}; delete {file} and {file.with_name('runs')}, or give another --output")
        known = _looked_at(file)
        new = [path for path in labels if os.path.relpath(path, found.root.resolve()) not in known]
        if new:
            how = "to train on them too, give another --output"
            print(f"not in this plan: {plural(len(new), 'new video')}, such as {new[0]}; {how}", flush=True)
    first = file.read_text(encoding="utf-8").partition("\n")[0]
    words = shlex.split(first.partition(PROGRAM)[2])
    planned = vars(parse(words)) if words else {}
    for name in ("minutes", "group", "weights", "frozen", "scheme", "schemes"):
        value = getattr(arguments, name, None)
        if value is not None and value != planned.get(name):
            what = f"--{name} {value}: {file} is planned already, with {planned.get(name) or 'another'}"
            raise UserError(f"{what}; delete it to plan anew, or give another --output")


def _looked_at(file: Path) -> set[str]:
    """Return the videos that were there when a plan was made, those that were left out included."""
    from lit_video.datamodules.manifest import MANIFEST, Manifest

    manifest = file.with_name(MANIFEST)
    return {*Manifest(manifest).facts()} if manifest.exists() else set()


def fit_experiment(arguments: Namespace, file: Path, seeds: str, side_by_side: int = 1) -> int:
    """Train and test the experiment's rows with ``fit``; delete the plan if its settings are wrong."""
    flags = ["--jobs", str(arguments.jobs or min(side_by_side, usable_cores()))]
    if side_by_side > 1:  # no table of the folds
        flags.append("--quiet")
    fit = ["fit", "--config", str(file), "--runs", str(file.with_name("runs")), "--seeds", seeds]
    try:
        content = read_yaml(file)
        if content["data"]["init_args"].get("features") and len(rows := content["table"]["rows"]) > 1:
            # the first row computes the features of all videos, on all cores
            run_command([*fit, "--row", next(iter(rows)), *arguments.settings])
        return run_command([*fit, *flags, *arguments.settings])
    except UserError:
        if not (file.with_name("runs") / file.stem).exists():
            file.unlink()
        raise


def write_report(file: Path) -> None:
    """Write a page of the experiment's results beside it."""
    runs, page = file.with_name("runs") / file.stem, file.with_suffix(".html")
    run_command(["report", str(runs), "-o", str(page), "--overridden"])


def compare_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("videos --schemes xvit,divided,joint", "videos --schemes space,xvit --seeds 0,1,2,3,4 --minutes 5")
    add_videos(parser)
    parser.add_argument("--schemes", required=True, metavar="A,B", help="xvit,divided,joint,vivit2, ...")
    text = "image model that all schemes start from (default: a small one of ImageNet-21k), or none: from scratch"
    parser.add_argument("--weights", metavar="auto|none|timm:NAME", help=text)
    add_shared(parser, "--seeds", default="0,1,2")


def compare(arguments: Namespace) -> int:
    """Compare attention schemes on a folder of your own videos.

    Trains each scheme once per seed, prints the differences of all pairs with their intervals, and writes a page of
    the results. Repeating the command resumes it.
    """
    from lit_video.tables.rendering import pairs_table
    from lit_video.tables.summary import summary

    file = experiment_of(arguments, "_compare")
    plan_experiment(arguments, file, arguments.schemes)
    status = fit_experiment(arguments, file, ",".join(map(str, arguments.seeds)))
    if status == DONE:
        table = read_table([file])
        found = summary(table, file.with_name("runs"), overridden=True)
        print(text_table(*pairs_table(found)), flush=True)
        write_report(file)
        best = max(found.rows, key=lambda row: row.numbers(table.metric).ours or 0.0)
        print(f"The highest accuracy is that of {best.label}; with seed {best.seeds[0]}:", flush=True)
        print_result(table.run_dir(file.with_name("runs"), table.row(best.name), best.seeds[0]))
    return status
