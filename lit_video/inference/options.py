"""Arguments that say how videos are put through a model."""

from __future__ import annotations

from lit_video.utils.parser import Parser, natural, positive


def add_evaluation(parser: Parser) -> None:
    """The arguments that say how videos are put through a model."""
    parser.add_argument("--clips", type=positive, metavar="N", help="views in time (default: as tested in training)")
    parser.add_argument("--crops", type=positive, metavar="M", help="views in space of each (likewise)")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where there is one")
    parser.add_argument("--batch", type=positive, default=8, metavar="B", help="clips at a time (default 8)")
    parser.add_argument("--workers", type=natural, default=2, metavar="W", help="processes that decode (default 2)")
