"""What a video's packets tell of it without decoding: damaged frames, gaps and jumps in time.

Decoders seldom say that a packet before is lost: FFmpeg's conceal it for H.264, VP8, VP9, MPEG and FFV1, and give
other pictures without a mark until the next key frame.
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, groupby, pairwise

import numpy as np
from av.video.stream import VideoStream

from lit_video.video.decoding.h264 import FrameNumbers
from lit_video.video.decoding.packets import KEYS, Packets

JUMP = 10  # seconds without a frame, and as many usual steps: longer than a pause
TOLD = 4  # usual steps without a frame, in a video of even rate, that are told
FEW, SHARE = 3, 0.05  # gaps, at most, of a video of even rate
SEVERAL = 1 / 8  # share of gaps that are told; more are a variable rate
NEAR = 8  # packets before and after a gap in which the lost ones would show
JOINT = 4  # packets before a new beginning that may be marked as corrupt
_TELL = {"hevc"}  # codecs whose decoder leaves out what refers to a lost picture
_FREE = {"gif", "apng", "webp"}  # codecs of animations, whose rate varies and whose files lose no packets


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a video.

    Args:
        lost: places of the packets, in the order of decoding, before which some are lost.
        corrupt: places of those that are damaged themselves.
        damage: why frames are damaged, or an empty string.
        suspicion: what is odd though no frame is known to be damaged, or an empty string.
    """

    lost: Collection[int] = ()
    corrupt: Collection[int] = ()
    damage: str = ""
    suspicion: str = ""


@dataclass(frozen=True)
class Gaps:
    """Where the times of a video's frames leave more than one usual step out.

    Args:
        usual: most common step, the median.
        after: numbers of the frames before the gaps.
        few: whether the rate is even but for them.
        several: whether it is but for several.
    """

    usual: int
    after: Sequence[int]
    few: bool
    several: bool


def gaps(pts: Sequence[int]) -> Gaps:
    """Gaps in ascending times; an even sequence, a range, has none."""
    if isinstance(pts, range) or len(pts) < 3:
        return Gaps(1, (), False, False)
    steps = np.diff(np.asarray(pts))
    usual = int(np.partition(steps, len(steps) // 2)[len(steps) // 2])
    after = np.flatnonzero(2 * steps > 3 * usual).tolist()
    return Gaps(usual, after, len(after) <= min(FEW, SHARE * len(steps)), len(after) <= SEVERAL * len(steps))


def without_jumps(pts: Sequence[int], base: Fraction, found: Gaps) -> list[int]:
    """Times with a usual step in place of each jump; empty if there is none."""
    jumps = {i for i in found.after if _is_jump(pts, base, found, i)}
    moved, times = 0, []
    for i, time in enumerate(pts) if jumps else ():
        times.append(time - moved)
        moved += pts[i + 1] - time - found.usual if i in jumps else 0
    return times


def joints(packets: Packets, base: Fraction) -> tuple[set[int], str]:
    """Where a stream begins anew: its times fall by more than a second, or jump ahead.

    Both of its times fall: of times of display some do with every group of pictures, and those of decoding are often
    FFmpeg's guess.

    Returns:
        Places of the first packets behind, and in words where time falls, in which case times identify no frames.
    """
    timed = [(place, packet) for place, packet in enumerate(packets) if packet.dts is not None]
    places, back = set(), ""
    least, most = int(-1 / base), int(JUMP / base)
    for (_, one), (place, other) in pairwise(timed):
        pairs = ((one.dts, other.dts), (one.pts, other.pts))
        step = max(b - a for a, b in pairs if a is not None and b is not None)
        if not least <= step <= most:
            places.add(place)
            seconds = float(-step * base)
            back = back or (f"time jumps back by {seconds:,.2f} s, so frames are counted" if seconds > 0 else "")
    return places, back


def verdict(
    stream: VideoStream, packets: Packets, times: Sequence[int], found: Gaps, starts: set[int], timed: bool
) -> Verdict:
    """What packets in the order of decoding tell.

    Args:
        stream: the video.
        packets: of it.
        times: of the shown frames; empty where there are none.
        found: gaps in them.
        starts: places where the stream begins anew: a joined file's packets before are whole, though marked as corrupt.
        timed: whether times are those of display; those of decoding have gaps where frames are left out on purpose.
    """
    marked = [place for place, packet in enumerate(packets) if packet.is_corrupt]
    marked = [place for place in marked if not starts & {*range(place + 1, place + JOINT)}]
    # a parser passes a mark on to the picture before
    corrupt = {place + i for place in marked for i in (0, 1) if place + i < len(packets)}
    codec, base = stream.codec_context.codec.canonical_name, Fraction(stream.time_base or 1)
    clock = [(packet.pts if timed else packet.dts) or 0 for packet in packets] if found.after else []
    latest = list(accumulate(clock, max))
    behind = [bisect_left(latest, times[i + 1]) for i in found.after]  # first packets that are shown behind a gap
    numbers = _numbers(stream) if codec == "h264" and (found.after or corrupt or not timed) else None
    lost, why = [], "the container marks packets as corrupt" if corrupt else ""
    restart = dict.fromkeys(behind, -1)  # pictures that a lost key frame explains as well as none
    if numbers:
        near = {place for at in (*behind, *corrupt) for place in range(max(at - NEAR, 0), min(at + NEAR, len(packets)))}
        contents = [*packets.contents(near)]
        restart |= {place: numbers.number(packet) for place, packet in contents if place in restart}
        lost = numbers.lost_before(contents if timed else packets.contents())
        why = "pictures that they refer to are lost" if lost else why
    elif timed and found.few and codec not in _TELL | _FREE:
        long = [i for i in found.after if times[i + 1] - times[i] >= TOLD * found.usual]
        if long:
            lost = behind
            why = f"{_in_words(times, base, found, long)}; {codec} does not number pictures, so packets count as lost"
    if lost or corrupt:
        return Verdict(lost, corrupt, why)
    told = []
    for i, place in zip(found.after, behind, strict=True):
        steps = (times[i + 1] - times[i]) // found.usual
        # a gap of fewer pictures than have numbers of their own lost none, if the numbers go on; a key frame's are new
        sure = numbers and not packets[place].is_keyframe and restart[place] >= steps
        least = max(numbers.modulus, TOLD) if numbers and sure else TOLD if numbers else 2
        even = found.several and codec not in _FREE and steps >= least
        told += [i] if even or _is_jump(times, base, found, i) else []
    return Verdict(suspicion=_in_words(times, base, found, told) if told else "")


def damaged_places(stream: VideoStream, packets: Packets, found: Verdict) -> tuple[list[int], str]:
    """Places of the packets that need what is lost, from there to the next key frame in the order of decoding; and why.

    Frames that a key frame is followed by, but shown before it, need those before it. What comes before the first key
    frame counts too, unless there is none.
    """
    if not found.damage and (packets[0].is_keyframe or not any(p.is_keyframe for p in packets)):
        return [], ""
    whole = {*packets.keys}
    if found.damage and refreshes(stream, packets) and (numbers := _numbers(stream)):
        whole = {place for place, packet in packets.contents(whole) if numbers.is_intra(packet)}
    places = []
    broken = any(p.is_keyframe for p in packets)
    edge: int | None = None  # time of a key frame behind a loss
    for place, packet in enumerate(packets):
        corrupt = place in found.corrupt
        broken = broken or place in found.lost
        if place in whole and not corrupt:
            edge, broken = (packet.pts if broken else None), False
        elif corrupt or broken or (edge is not None and packet.pts is not None and packet.pts < edge):
            places.append(place)
        broken = broken or (corrupt and not packet.is_disposable)
    return places, found.damage or "the stream begins inside a group of pictures"


def refreshes(stream: VideoStream, packets: Packets) -> bool:
    """Whether H.264 marks pictures as key frames from which it only begins to refresh a part at a time."""
    if stream.codec_context.codec.canonical_name != "h264" or not (numbers := _numbers(stream)):
        return False
    return not all(numbers.is_intra(packet) for _, packet in packets.contents(packets.keys[:KEYS]))


def in_words(numbers: Sequence[int], pts: Sequence[int], base: Fraction) -> str:
    """Frames with their times from the first frame: ``frames 72 to 95 (2.88 to 3.80 s)``; of many the first ones."""
    runs = [[n for _, n in run] for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
    texts = []
    for run in runs[:FEW]:
        ends = sorted({run[0], run[-1]})
        times = " to ".join(f"{float((pts[i] - pts[0]) * base):.2f}" for i in ends) if pts else ""
        numbered = "frame" if len(ends) == 1 else "frames"
        texts.append(f"{numbered} {' to '.join(map(str, ends))}" + (f" ({times} s)" if times else ""))
    more = sum(map(len, runs[FEW:]))
    return ", ".join(texts) + (f" and {more} more" if more else "")


def _numbers(stream: VideoStream) -> FrameNumbers | None:
    try:
        return FrameNumbers(stream.codec_context.extradata)
    except ValueError:
        return None


def _is_jump(pts: Sequence[int], base: Fraction, found: Gaps, i: int) -> bool:
    step = pts[i + 1] - pts[i]
    return step * base > JUMP and step > JUMP * found.usual


def _in_words(pts: Sequence[int], base: Fraction, found: Gaps, after: Sequence[int]) -> str:
    i = after[0]
    step, at = float((pts[i + 1] - pts[i]) * base), float((pts[i] - pts[0]) * base)
    more = f" ({len(after)} such)" if len(after) > 1 else ""
    jump = "a jump in time" if _is_jump(pts, base, found, i) else "a gap"
    return f"{jump} of {step:,.2f} s behind frame {i} ({at:.2f} s){more}"
