"""The command ``profile``."""

import sys
from argparse import ArgumentTypeError, Namespace

import lit_video
from lit_video.api.model_profile import ModelProfile
from lit_video.commands.arguments import accept_settings, add_output, add_shared, positive, positive_number
from lit_video.commands.parser import Parser
from lit_video.settings.effects import picked
from lit_video.settings.flags import read_flags
from lit_video.utils.files import user_path
from lit_video.utils.stop_signals import DONE, FAILED


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples(
        "my_scheme.py",
        "my_scheme.py --on videos --seeds 0,1,2",
        "RUN --minutes 5",
        "torchvision:swin3d_t --random_weights",
    )
    text = "a scheme: FILE.py, FILE.py:CLASS, MODULE.CLASS, a built-in one; or a model: a run, hub:NAME, "
    text += "torchvision:NAME, timm:NAME, a folder of transformers, an exported program, FILE.py:FUNCTION"
    parser.add_argument("source", metavar="SCHEME|MODEL", help=text)
    add_output(parser, "DIR", otherwise="profile/NAME")
    add_shared(parser, "--seeds")

    scheme = parser.add_argument_group("a scheme")
    scheme.add_argument(
        "--on", type=user_path, metavar="VIDEOS", help="train on these videos (folder or list), not skills"
    )
    scheme.add_argument("--look", action="store_true", help="train nothing")
    add_shared(parser, "--jobs", default=1)

    model = parser.add_argument_group("a trained model")
    model.add_argument("--minutes", type=positive_number, metavar="N", help="time for its features (default: 3)")
    model.add_argument("--pairs", type=positive, metavar="N", help="pairs of videos of each skill, not minutes")
    model.add_argument("--num_frames", type=positive, metavar="N", help="frames of a clip (default: the model's)")
    model.add_argument(
        "--image_size", type=side_or_sides, metavar="N|H,W", help="side, or height and width (default: the model's)"
    )
    for name in ("--mean", "--std"):
        text = "of pixels from 0 to 1, one or of red, green, blue (default: the model's)"
        model.add_argument(name, type=shares, metavar="X|R,G,B", help=text)
    model.add_argument("--tokens", action="store_true", help="read all tokens, by an attentive probe")
    model.add_argument("--random_weights", action="store_true", help="as it is before any training")
    add_shared(parser, "--device")
    accept_settings(parser)


def side_or_sides(text: str) -> int | list[int]:
    """Parse a side in pixels, or height and width with a comma."""
    numbers = [int(positive(part)) for part in text.split(",")]
    return numbers[0] if len(numbers) == 1 else numbers


def shares(text: str) -> float | list[float]:
    """Parse a number, or those of red, green and blue with commas."""
    numbers = _numbers(text)
    return numbers[0] if len(numbers) == 1 else numbers


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise ArgumentTypeError(f"is {text}, expected numbers with commas") from error


def run(arguments: Namespace) -> int:
    """Say what an attention scheme or a trained model sees of time.

    A scheme is checked, drawn, compared with built-in schemes in parameters, multiply-adds, memory and time, and
    trained on temporal skills, beside the rows of the skills table. A trained model stays as it is: a linear probe
    reads its features of videos of these skills, which skill and which direction, beside floors. Features are kept.
    Exit status 1: the scheme breaks its contract.
    """
    of_model = ("minutes", "pairs", "num_frames", "image_size", "mean", "std", "device")
    profile = lit_video.profile(
        arguments.source,
        train=not arguments.look,
        on=arguments.on,
        seeds=arguments.seeds,
        output=arguments.output,
        jobs=arguments.jobs,
        settings=read_flags(arguments.settings),
        tokens=arguments.tokens,
        random_weights=arguments.random_weights,
        **picked(vars(arguments), of_model),
    )
    if isinstance(profile, ModelProfile):
        print(profile, flush=True)
        print(f"wrote {profile.picture}", file=sys.stderr)
    elif profile.compared:
        print(profile.compared, flush=True)
    return DONE if profile.ok else FAILED
