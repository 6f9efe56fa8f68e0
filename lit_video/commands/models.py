"""The commands ``test``, ``predict``, ``attention``, ``embed``, ``export`` and ``weights``: trained models."""

import sys
from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.commands.arguments import add_output, add_settings, add_shared, existing, new_file, positive, writing
from lit_video.commands.parser import Parser
from lit_video.errors import UserError, one_line
from lit_video.runs.chosen_checkpoint import WAYS, settings_of
from lit_video.runs.finished import read_finished
from lit_video.runs.mistakes import MISTAKES
from lit_video.settings.effects import picked
from lit_video.settings.flags import Given, read_flags
from lit_video.settings.nested import Nested, merged
from lit_video.utils.files import write_atomically, write_bytes
from lit_video.utils.text import printable, text_table
from lit_video.weights.hub import Release, fetch, find, releases

if TYPE_CHECKING:
    from lit_video.inference.predict import VideoPredictions

PRINT = "--print_config"


def test_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("--ckpt RUN --data.order shuffled", "--weights hub:timesformer-k400 --data.root DIR")
    add_shared(parser, "--ckpt", required=False)
    add_shared(parser, "--scheme", "--config")
    parser.add_argument("--weights", metavar="hub:NAME", help="published weights, with their settings")
    add_settings(parser, "test", more=["--seed_everything", "--print_config"])


def test(arguments: Namespace) -> int:
    """Evaluate a run or published weights on all views of the test videos."""
    settings, checkpoint = _test_settings(arguments)
    from lit_video.inference.checkpoints import no_larger_than, read_checkpoint
    from lit_video.training.callbacks.checkpoints import refuse_not_finite
    from lit_video.training.cli import ReadCLI, VideoCLI, user_errors
    from lit_video.video.trained_on import said, seen

    if PRINT in arguments.settings:
        import yaml

        with user_errors(lambda key: "test"):
            print(yaml.safe_dump(ReadCLI(settings).resolved(), sort_keys=False), end="")
        return 0

    stored = read_checkpoint(checkpoint)["state_dict"] if checkpoint else {}
    settings["trainer"] = {**settings.get("trainer", {}), "logger": False}
    settings |= {"ckpt_path": checkpoint and str(checkpoint), "verbose": False}
    try:
        with user_errors(lambda key: "test"), no_larger_than(stored) if stored else nullcontext():
            cli = VideoCLI({"subcommand": "test", "test": settings}, execute=True)
    except RuntimeError as error:  # names or shapes of weights differ
        raise UserError(f"--ckpt: {checkpoint} does not load into this model: {one_line(error)[:200]}") from error
    metrics = {key: float(value) for key, value in cli.trainer.callback_metrics.items()}
    refuse_not_finite(metrics, f"test of {checkpoint or 'these weights'}")
    if cli.trainer.is_global_zero:
        known = said(seen(cli.model.trained_on, cli.datamodule.records("test")))
        print(f"{int(metrics.pop('test/videos', 0))} videos, their frames {cli.datamodule.order}")
        for key, value in metrics.items():
            print(", ".join(filter(None, [f"  {key} {value:.2f}", known])))  # two decimals, like the papers
    return 0


def _test_settings(arguments: Namespace) -> tuple[Nested, Path | None]:
    """Return the settings of the run, of hub weights or of files, with the user's, and the checkpoint."""
    given = read_flags(word for word in arguments.settings if word != PRINT)
    checkpoint: Path | None = arguments.ckpt
    recorded = checkpoint and not arguments.config and settings_of(checkpoint).is_file()
    if checkpoint:
        if not (recorded or arguments.config or {"data", "model"} <= {setting.key for setting in given}):
            own = settings_of(checkpoint)
            raise UserError(f"--ckpt {checkpoint}: {own}, which holds its settings, does not exist; give --config")
    elif not arguments.weights and not any(setting.key.endswith(".weights") for setting in given):
        raise UserError(f"--ckpt: {WAYS}")

    of_weights: Nested = {}
    if arguments.weights:
        of_weights = {**find(arguments.weights).settings, "model.weights": arguments.weights}

    # here, because importing torch takes seconds
    from lit_video.training.constructors import Constructors
    from lit_video.training.ignored import refuse_ignored
    from lit_video.training.layers import of_files, with_given
    from lit_video.training.recorded import run_settings

    refuse_ignored(arguments.config, [(setting.key, setting.value) for setting in given], "test")
    settings: Nested = {}
    if recorded:
        assert checkpoint is not None
        settings = run_settings(settings_of(checkpoint), given)
    settings = with_given(settings, [Given(key, value) for key, value in of_weights.items()])
    settings = merged(settings, of_files(arguments.config), Constructors())
    return with_given(settings, given), checkpoint


def _add_videos(parser: Parser) -> None:
    video = existing("no such file or folder")
    parser.add_argument("videos", nargs="+", type=video, metavar="VIDEO|FOLDER", help="a folder: all videos below it")
    add_shared(parser, "--ckpt", "--scheme", "--clips", "--crops", "--fps", "--device", "--batch", "--workers")


def _predictions(arguments: Namespace, top: int = 1) -> "VideoPredictions":
    from lit_video.inference.predict import Evaluation, load, predict  # here, because importing torch takes seconds
    from lit_video.inference.videos import find_videos

    records, trained = find_videos(arguments.videos, arguments.fps), load(arguments.ckpt)
    given = picked(vars(arguments), ("clips", "crops", "batch", "workers", "device", "fps"))
    return predict(trained, records, top, evaluation=Evaluation(**given, progress=True))


def predict_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("--ckpt RUN videos -o names.csv --top 1", "--ckpt RUN VIDEO --features features.npz")
    _add_videos(parser)
    parser.add_argument("--top", type=positive, metavar="K", default=5, help="classes to name (default: 5)")
    add_output(parser, "FILE", endings=[".csv"])
    text = "write the input of the classifier's last layer, averaged over views, and the logits"
    parser.add_argument("--features", type=new_file("--features", ".npz"), metavar="FILE", help=text)


def predict(arguments: Namespace) -> int:
    """Predict names and probabilities for your own videos.

    Only the checkpoint of a run is needed: it holds the class names and the clip settings. A video that
    cannot be read is listed with the reason, the others are predicted, and the exit status is 1.
    """
    from lit_video.inference.ranking import table_of, write_features, write_ranking
    from lit_video.video.trained_on import said

    found = _predictions(arguments, arguments.top)
    if arguments.output:
        with writing("--output", arguments.output):
            write_ranking(arguments.output, found.ranked, found.broken)
    if arguments.features:
        with writing("--features", arguments.features):
            write_features(
                arguments.features, found.paths, found.features, logits=found.logits, names=found.class_names
            )
    if found.ranked:
        print(table_of(found.ranked))
    lines = [*map("wrote {}".format, filter(None, (arguments.output, arguments.features)))]
    if how_many := said([video.trained_on for video in found.ranked]):
        lines.append(f"{how_many}: right answers there say nothing about new videos")
        tested = settings_of(arguments.ckpt).with_name(MISTAKES)
        if tested.is_file():
            lines[-1] += f"; mistakes of its test: {tested}"
    lines += map("{}: {}".format, found.broken, found.broken.values())
    if found.broken:
        lines.append(f"{len(found.broken)} of {len(found.broken) + len(found.paths)} videos could not be read")
    for line in lines:
        print(printable(line), file=sys.stderr)
    return int(bool(found.broken))


def attention_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("video.mp4 --ckpt RUN -o maps.png")
    video = existing("no such file or folder")
    parser.add_argument("video", type=video, metavar="VIDEO", help="or pictures, with --fps")
    add_shared(parser, "--ckpt", "--scheme")
    add_output(parser, "FILE", default="attention.png", endings=[".png"])
    add_shared(parser, "--fps", "--device")


def attention(arguments: Namespace) -> int:
    """Draw where a trained model looks in a video.

    Draws the attention rollout from the classifier's input back to the patches of every frame, for the centre view.
    """
    from lit_video.inference.attention_maps import attention_maps, picture

    maps = attention_maps(arguments.ckpt, arguments.video, arguments.device, fps=arguments.fps)
    with writing("--output", arguments.output):
        write_bytes(arguments.output, picture(maps))
    print(printable("; ".join([f"wrote {arguments.output}", *maps.lines])), file=sys.stderr)
    return 0


def embed_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("videos --ckpt RUN -o features.png")
    _add_videos(parser)
    add_output(parser, "FILE", default="embed.png", endings=[".png", ".svg", ".pdf"])


def embed(arguments: Namespace) -> int:
    """Draw the features of videos in the plane by t-SNE, coloured by class.

    The features are the input of the classifier's last layer; a video's class is the name of its folder. Videos that
    the model was trained on are hollow. Exit status 1: a video could not be read.
    """
    from lit_video.inference.projection import points_figure, project
    from lit_video.utils.figures import content_of
    from lit_video.video.trained_on import said

    found = _predictions(arguments)
    for path, reason in found.broken.items():
        print(printable(f"{path}: {reason}"), file=sys.stderr)
    points = project(found.features.numpy())
    known = [bool(video.trained_on) for video in found.ranked]
    title = f"t-SNE of the features of {len(points)} videos"
    if any(known):
        title += f", hollow: {said(known)}"
    figure = points_figure(points, [path.parent.name for path in found.paths], known, title=title)
    with writing("--output", arguments.output):
        write_bytes(arguments.output, content_of(figure, arguments.output.suffix[1:].lower()))
    print("; ".join(filter(None, [f"wrote {arguments.output}", said(known)])), file=sys.stderr)
    return int(bool(found.broken))


def export_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("--to onnx --ckpt RUN -o DIR", "--to hf-timesformer --ckpt RUN -o DIR")
    kinds = ["hf-timesformer", "hf-vivit", "pt2", "onnx", "safetensors"]
    parser.add_argument("--to", choices=kinds, required=True, help="transformers, torch.export, ONNX, or weights alone")
    add_shared(parser, "--ckpt", "--scheme")
    add_output(parser, "DIR", required=True)


def export(arguments: Namespace) -> int:
    """Write a trained model for other programs: a folder with its settings and card."""
    from lit_video.inference.export import export  # here, because importing torch takes seconds
    from lit_video.reports.card import model_card
    from lit_video.training.identity import weights_digest

    output, run = arguments.output, settings_of(arguments.ckpt).parent
    with writing("--output", output):
        said, text = export(arguments.ckpt, arguments.to, output)
        print(f"wrote {said}")
        trained = read_finished(run, anywhere=True)
        # tested these weights, not another checkpoint's
        if trained and trained.result.weights.digest == weights_digest(arguments.ckpt):
            text = f"{model_card(run)}\n{text}"
        write_atomically(output / "README.md", text)
        print(f"wrote {output / 'README.md'}: how to load it")
    return 0


def weights_arguments(parser: Parser) -> None:
    """Add examples, arguments and the command ``fetch``."""
    parser.examples("", "fetch timesformer-k400")
    parser.add_commands({"fetch": fetch_weights})
    parser.commands["fetch"].examples("timesformer-k400", "xvit-b-k600 xvit-b-ssv2")
    parser.commands["fetch"].add_argument("names", nargs="+", metavar="NAME")


def weights(arguments: Namespace) -> int:
    """List or fetch published weights for --model.weights hub:NAME."""
    columns = ["name", "model", "data", "clip", "views", "top-1", "top-5", "file", "fetched"]
    print(text_table("Published weights", columns, [*map(_row, releases().values())]))
    print("\ntop-1 and top-5 are those that the authors report; we have fetched and tested none of these weights")
    return 0


def fetch_weights(arguments: Namespace) -> int:
    """Download published weights into $LIT_VIDEO_DATA, else ~/.cache/lit_video."""
    for release in [*map(find, arguments.names)]:  # all names are checked first
        print(f"{release.name}: {fetch(release)}")
    return 0


def _row(release: Release) -> list[str]:
    settings = release.settings
    kind = {1: "", 2: " FE"}.get(settings.get("model.variant", 1), "")
    return [
        release.name,
        f"{settings['model']}-{settings['model.size']}{kind}",
        str(settings["data"]),
        f"{settings['data.num_frames']} x {settings['data.image_size']}",
        f"{settings['data.test_clips']} x {settings['data.test_crops']}",
        *(f"{release.published[key]:.1f}" if key in release.published else "" for key in ("top1", "top5")),
        release.repository or release.place.name,
        "yes" if release.place.exists() else "no",
    ]
