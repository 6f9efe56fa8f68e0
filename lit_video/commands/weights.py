"""The ``weights`` commands: published weights, listed and fetched."""

from argparse import Namespace

from lit_video.commands.parser import Parser
from lit_video.utils.text import text_table
from lit_video.weights.hub import Release, fetch, find, releases

COLUMNS = ["name", "model", "data", "clip", "views", "top-1", "top-5", "file", "fetched"]


def add(parser: Parser) -> None:
    """Examples and arguments, and ``fetch``."""
    parser.examples("", "fetch timesformer-k400")
    parser.add_commands({"fetch": fetch_weights})
    parser.commands["fetch"].examples("timesformer-k400", "xvit-b-k600 xvit-b-ssv2")
    parser.commands["fetch"].add_argument("names", nargs="+", metavar="NAME")


def run(arguments: Namespace) -> int:
    """List published weights, for --model.weights hub:NAME, or fetch them."""
    print(text_table("Published weights", COLUMNS, [_row(release) for release in releases().values()]))
    print("\ntop-1 and top-5 are the authors', with their views; none of these has been fetched or tested by us")
    return 0


def fetch_weights(arguments: Namespace) -> int:
    """Download published weights into $LIT_VIDEO_DATA, else ~/.cache/lit_video."""
    for release in [find(name) for name in arguments.names]:
        print(f"{release.name}: {fetch(release)}")
    return 0


def _row(release: Release) -> list[str]:
    settings = release.settings
    kind = {1: "", 2: " FE"}.get(settings.get("model.variant", 1), "")
    return [
        release.name,
        f"{settings['model']}-{settings['model.size']}{kind}",
        str(settings["data"]),
        f"{settings['data.frames']} x {settings['data.image_size']}",
        f"{settings['data.test_clips']} x {settings['data.test_crops']}",
        *(f"{release.published[key]:.1f}" if key in release.published else "" for key in ("top1", "top5")),
        release.repository or release.place.name,
        "yes" if release.place.exists() else "no",
    ]
