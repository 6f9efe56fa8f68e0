"""The ``embed`` command: its arguments, checked before anything heavy is loaded. Imports no torch by itself."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from lit_video.errors import UserError
from lit_video.inference.options import add_evaluation
from lit_video.utils.parser import Parser, check_file, ending, natural

DESCRIPTION = """What enters the classifier's last layer, brought into the plane so that neighbours stay neighbours, and
coloured by class. Without videos those of the run's own test split (config.yaml beside the checkpoint); of your own
videos the class is the name of their folder."""


def embed(argv: list[str]) -> int:
    """Draw features; returns the exit status."""
    known = _parser().parse_intermixed_args(argv)
    check_file("--output", known.output)
    if known.csv:
        check_file("--csv", known.csv)
    if known.method == "umap" and find_spec("umap") is None:
        raise UserError("--method umap: umap-learn is not installed; pip install 'lit_video[umap]', or take tsne")
    from lit_video.visual.embedding import draw_features  # torch takes its seconds only now

    return draw_features(known)


def _parser() -> Parser:
    parser = Parser("embed", DESCRIPTION)
    parser.add_argument("videos", nargs="*", metavar="VIDEO|FOLDER|GLOB", help="default: the run's test split")
    parser.add_argument("--ckpt", "--ckpt_path", type=Path, required=True, metavar="FILE", help="a run's last.ckpt")
    parser.add_argument(
        "--output", "-o", type=ending(".png", ".svg", ".pdf"), default=Path("embed.png"), metavar="FILE"
    )
    parser.add_argument("--method", choices=["tsne", "umap"], default="tsne", help="default tsne")
    parser.add_argument("--csv", type=ending(".csv"), metavar="FILE", help="write path, class, x and y of every video")
    parser.add_argument(
        "--task", help="whose classes colour the videos, of a data set with several (default: the first)"
    )
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="of the method (default 0)")
    add_evaluation(parser)
    return parser
