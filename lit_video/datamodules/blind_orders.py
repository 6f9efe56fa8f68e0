"""What can be told of two events without their order: how far apart they are, from which frames clips show."""

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction


def share_told(distances: Sequence[int], steps: int, clips: Sequence[Sequence[int]]) -> float:
    """Share of videos of two events whose distance the sets of frames of their clips tell, 0 to 1.

    Where clips show every step equally often, all distances look alike, and one of N can be guessed: 1 / N. Clips that
    leave steps out, or show some more often, show one event, both, or an event twice, which depends on the distance.
    This is the share of the best guess, which knows how often each clip shows either event (Bayes).

    Args:
        distances: of the events, in steps, each as often as any other; the first event is in any step that leaves room.
        steps: of a video.
        clips: of each test clip, the step that each of its frames shows.
    """
    shares: dict[object, dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for distance in distances:
        room = range(steps - distance)
        for first in room:
            shown = sorted((clip.count(first), clip.count(first + distance)) for clip in map(list, clips))
            shares[tuple(shown)][distance] += Fraction(1, len(room))
    return float(sum(max(of_distances.values()) for of_distances in shares.values()) / len(distances))
