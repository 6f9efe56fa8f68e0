"""The command ``probe``."""

import sys
from argparse import ArgumentTypeError, Namespace

import lit_video
from lit_video.commands.arguments import add_output, add_shared, natural_number, positive, positive_number
from lit_video.commands.parser import Parser
from lit_video.settings.effects import picked
from lit_video.utils.stop_signals import DONE


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("RUN", "RUN --minutes 5", "torchvision:swin3d_t --random_weights", "features.py:FUNCTION --pairs 8")
    text = (
        "a run, hub:NAME, torchvision:NAME, timm:NAME, a folder of transformers, an exported program, FILE.py:FUNCTION"
    )
    parser.add_argument("model", metavar="MODEL", help=text)
    add_output(parser, "DIR", otherwise="probe/NAME")
    parser.add_argument("--minutes", type=positive_number, metavar="N", help="time for its features (default: 3)")
    parser.add_argument("--pairs", type=positive, metavar="N", help="pairs of videos of each skill, not minutes")
    parser.add_argument("--num_frames", type=positive, metavar="N", help="frames of a clip (default: the model's)")
    parser.add_argument(
        "--image_size", type=side_or_sides, metavar="N|H,W", help="side, or height and width (default: the model's)"
    )
    for name in ("--mean", "--std"):
        text = "of pixels from 0 to 1, one or of red, green, blue (default: the model's)"
        parser.add_argument(name, type=shares, metavar="X|R,G,B", help=text)
    parser.add_argument("--tokens", action="store_true", help="read all tokens, by an attentive probe")
    parser.add_argument("--random_weights", action="store_true", help="as it is before any training")
    text = "of the videos and of random weights (default: 0)"
    parser.add_argument("--seed", type=natural_number, default=0, metavar="N", help=text)
    add_shared(parser, "--device")


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
    """Say what a trained model sees of time.

    The model stays as it is: a linear probe reads its features of videos of the temporal skills, which skill and which
    direction, beside floors. Features are kept.
    """
    names = ("minutes", "pairs", "num_frames", "image_size", "mean", "std", "seed", "device")
    probed = lit_video.probe(
        arguments.model,
        output=arguments.output,
        tokens=arguments.tokens,
        random_weights=arguments.random_weights,
        **picked({key: value for key, value in vars(arguments).items() if value is not None}, names),
    )
    print(probed, flush=True)
    print(f"wrote {probed.picture}", file=sys.stderr)
    return DONE
