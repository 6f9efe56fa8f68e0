"""Command line of pretraining."""

from pathlib import Path

from benchmarks import pretraining
from benchmarks.harness import parser, ran
from benchmarks.pretraining.legs import train
from benchmarks.pretraining.release import release
from benchmarks.pretraining.transfer import transfer
from benchmarks.pretraining.trials import PLAN, read_trial
from lit_video.errors import UserError


def main() -> int:
    """Train a trial, or compare trials."""
    made = parser("pretraining", pretraining.__doc__ or "")
    made.add_argument("action", choices=("train", "transfer", "release"))
    made.add_argument("names", nargs="+", metavar="NAME", help="trials of trials.yaml")
    made.add_argument(
        "--folder",
        type=Path,
        required=True,
        help="folder of the trials: their checkpoints; for transfer, their released weights",
    )
    made.add_argument("--minutes", type=float, default=150.0, help="length of a leg")
    made.add_argument("--videos", type=Path, help="folder of utd_mhad, room_actions and avletters")
    given = made.parse_args()
    if given.action == "transfer":
        return transfer(given.names, given.folder, videos=given.videos, output=given.output)
    if given.action == "release":
        if given.output is None:
            raise UserError("give the folder of the weights: -o DIR")
        return release(read_trial(PLAN, given.names[0]), given.folder, given.output)
    for name in given.names:
        train(read_trial(PLAN, name), given.folder / name, given.minutes)
    return 0


if __name__ == "__main__":
    ran(main)
