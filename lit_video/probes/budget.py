"""Number of rounds of videos that fit into the user's minutes, and the interval that they give."""

import math

from lit_video.errors import OptionError
from lit_video.probes.heads import FEWEST_ROUNDS
from lit_video.tables.statistics import wilson
from lit_video.utils.text import plural

DEFAULT_MINUTES = 3.0  # without --minutes
MOST_ROUNDS = 128  # 128 test videos of each skill resolve 9 points
MOST_FEATURE_BYTES = 4e9  # limit of kept features
RESOLVED = 10.0  # points; for wider intervals, a message names the minutes that would reach this


def rounds_for(minutes: float | None, seconds: float, bytes_of_round: float) -> int:
    """Return the number of rounds that fit into the user's minutes and into the limit of kept features.

    Args:
        minutes: the user's; ``None`` for ``DEFAULT_MINUTES``.
        seconds: duration of a round.
        bytes_of_round: size of the features of a round.

    Raises:
        OptionError: fewer than ``FEWEST_ROUNDS`` fit.
    """
    fitting = int(60 * (minutes or DEFAULT_MINUTES) / seconds)
    least = math.ceil(10 * FEWEST_ROUNDS * seconds / 60) / 10
    if minutes is not None and fitting < FEWEST_ROUNDS:
        raise OptionError("minutes", f"is {minutes:g}; {FEWEST_ROUNDS} pairs of each skill, the least, take {least:g}")

    room = int(MOST_FEATURE_BYTES / bytes_of_round)
    if room < FEWEST_ROUNDS:
        gigabytes = FEWEST_ROUNDS * bytes_of_round / 1e9
        raise OptionError("tokens", f"features of {FEWEST_ROUNDS} pairs of each skill take {gigabytes:.0f} GB")
    return max(FEWEST_ROUNDS, min(fitting, room, MOST_ROUNDS))


def resolution(videos: int) -> float:
    """Return half the width, in points, of the interval of an accuracy of 50 % on so many independent videos."""
    low, high = wilson(0.5, videos)
    return 50 * (high - low)


def resolved(rounds: int, seconds: float | None) -> str:
    """Say how wide an interval is for one skill, and how many minutes would narrow it to ``RESOLVED`` points.

    Args:
        rounds: number of rounds; half of them test the probe.
        seconds: duration of a round; ``None`` if all features were kept, so that none was timed.
    """
    tested = 2 * (rounds // 2)
    half = resolution(tested)
    text = f"{plural(tested, 'test video')} of each skill: an interval of about ±{half:.0f} points around 50"
    if half <= RESOLVED or seconds is None:
        return text

    needed = next(number for number in range(rounds, 10**4) if resolution(2 * (number // 2)) <= RESOLVED)
    return f"{text}; ±{RESOLVED:.0f} would take about {plural(math.ceil(needed * seconds / 60), 'minute')}"
