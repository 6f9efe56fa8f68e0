"""Damage of a video by one rule: the unit of damage is a group of pictures.

A packet that is marked as corrupt, cannot be decoded or is missing spoils every frame from the key frame before it to
the next one, and those behind the next one that are shown before it, as they refer to both groups. Decoders seldom say
that a packet is missing: most conceal it, and give other pictures without a mark.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import NamedTuple

import av
import av.logging
import numpy as np
from av.container import InputContainer

from lit_video.video.decoding.container import Seen, open_video, scanned_stream

JUMP = 10  # seconds without a frame, and as many usual steps: longer than a pause
REPORTED = 4  # usual steps without a frame that are reported, where they are no loss
SEVERAL = 1 / 8  # share of gaps in an even rate; more are a variable rate
NEAR = 16  # packets before and after a gap in which the lost ones would show
JOINT = 4  # packets before a new beginning that may be marked as corrupt
KEYS = 8  # key frames that are asked whether they are whole pictures
_FREE = {"gif", "apng", "webp"}  # codecs of animations, whose rate varies and whose files lose no packets
_NUMBERED = {"h264", "hevc"}  # what refers to a lost picture is told, and MP4 keeps no half ones
_FRESH, _INTRA = 5, {2, 4}  # H.264: a NAL unit that resets the numbers; slice types, modulo 5, of whole pictures
_FIELD = re.compile(r"\d+ +(\w+) +[01]+ = (\d+)")


def spoiled(packets: Sequence[Seen], places: Collection[int]) -> list[int]:
    """Places of the packets whose frames are damaged where those at some places are, in the order of decoding.

    Frames before the first key frame count too, unless there is none.
    """
    if not places and packets[0].is_keyframe:
        return []
    groups, early = _groups(packets)
    hurt = {0} if groups[-1] and not groups[0] else set()
    for place in sorted(places):
        # pictures that are damaged by the group before, or begin a part that was cut out, spoil no others
        hurt.add(groups[place] - (early[place] and groups[place] - 1 in {0, *hurt}))
    return [i for i, group in enumerate(groups) if group in hurt or (early[i] and group - 1 in hurt)]


def _groups(packets: Sequence[Seen]) -> tuple[list[int], list[bool]]:
    """Number of each packet's group, 0 before the first key frame, and whether it is shown before its key frame."""
    groups = list(accumulate(int(packet.is_keyframe) for packet in packets))
    keys = [None, *(packet.pts for packet in packets if packet.is_keyframe)]  # their times
    pairs = ((packet.pts, keys[group]) for packet, group in zip(packets, groups, strict=True))
    return groups, [pts is not None and key is not None and pts < key for pts, key in pairs]


class Gaps(NamedTuple):
    """Gaps in times: the usual step, frames before gaps in a rate that is even but for them, frames before jumps."""

    usual: int = 1
    after: Sequence[int] = ()
    jumps: Collection[int] = ()


def gaps(times: Sequence[int], base: Fraction) -> Gaps:
    """Gaps in ascending times; an even sequence, a range, has none."""
    if isinstance(times, range) or len(times) < 3:
        return Gaps()
    steps = np.diff(np.asarray(times))
    usual = int(np.partition(steps, len(steps) // 2)[len(steps) // 2])
    long = 2 * steps > 3 * usual
    mean = steps[~long].mean()
    off = np.abs(steps - np.rint(steps / mean) * mean)[steps < (REPORTED - 0.5) * mean]
    even = long.sum() <= SEVERAL * len(steps) and (off <= 1 + mean / 10).all()
    jumps = np.flatnonzero(steps > JUMP * max(usual, float(1 / base))).tolist()
    return Gaps(usual, np.flatnonzero(long).tolist() if even else (), jumps)


def without_jumps(times: Sequence[int], found: Gaps) -> list[int]:
    """Times with a usual step in place of each jump; empty if there is none."""
    if not found.jumps:
        return []
    steps = (found.usual if i in found.jumps else b - a for i, (a, b) in enumerate(pairwise(times)))
    return list(accumulate(steps, initial=times[0]))


def joints(packets: Sequence[Seen], base: Fraction) -> tuple[set[int], str]:
    """Places where a stream begins anew: its times, of decoding and display, fall by over a second or to the start.

    Or they jump ahead. With it, in words, where time falls, in which case times identify no frames.
    """
    timed = [(place, packet) for place, packet in enumerate(packets) if packet.dts is not None]
    places, back = set(), ""
    least, most = int(-1 / base), int(JUMP / base)
    for (_, one), (place, other) in pairwise(timed):
        pairs = ((one.dts, other.dts), (one.pts, other.pts))
        step = max(b - a for a, b in pairs if a is not None and b is not None)
        if not least <= step <= most or (step < 0 and (other.dts or 0) <= (timed[0][1].dts or 0)):
            places.add(place)
            seconds = float(-step * base)
            back = back or (f"time jumps back by {seconds:,.2f} s, so frames are counted" if seconds > 0 else "")
    return places, back


def verdict(
    path: Path, container: InputContainer, packets: Sequence[Seen], pts: Sequence[int], times: Sequence[int]
) -> tuple[list[int], str, str]:
    """Judge a video by its packets in the order of decoding, without decoding.

    ``pts`` are the times at which frames are shown, empty where they are not known; ``times`` are these, or those of
    decoding, which have gaps where frames are left out on purpose.

    Returns:
        Places of the packets whose frames are damaged, why they are, and what is odd though none is known to be.
    """
    stream = scanned_stream(container)
    codec, base = stream.codec_context.codec.canonical_name, Fraction(stream.time_base or 1)
    found, keys = gaps(times, base), {i for i, packet in enumerate(packets) if packet.is_keyframe}
    hurt = _marked(packets, base)
    why = "the container marks packets as corrupt" if hurt else ""
    after = () if codec in _FREE else found.after
    place_of = {(p.pts if pts else p.dts): i for i, p in enumerate(packets)} if after else {}
    around = {i: (place_of[times[i]], place_of[times[i + 1]]) for i in after}
    near = {i for at in {*hurt, *chain(*around.values())} for i in range(at - NEAR, at + NEAR)}
    pictures = _pictures(path, near | {*sorted(keys)[:KEYS]}) if codec == "h264" and near else {}
    if lost := {*_lost(pictures)}:
        sound = {at for at in lost & keys if "frame_num" in pictures[at]}
        hurt |= lost - sound | {max(at - 1, 0) for at in lost}
        why = "pictures that they refer to are lost"
    if pts and around and not (codec in _NUMBERED and "mp4" in container.format.name):
        # H.264's numbers tell losses, but before a key frame; a loss may take half of the picture before it
        losses = {i: pair for i, pair in around.items() if (i not in found.jumps if pair[1] in keys else not pictures)}
        whole = keys if not any(_groups(packets)[1]) else set()
        hurt |= {i for before, behind in losses.values() for i in {before, behind} - ({behind} & whole)}
        why = why or (f"{_in_words(times, base, [*losses])} in an even rate" if losses else "")
    if hurt and any(pictures.get(i, {}).get("slice_type", 2) % 5 not in _INTRA for i in keys):  # refreshed bit by bit
        packets = [packets[0], *(packet._replace(is_keyframe=False) for packet in packets[1:])]
    if places := spoiled(packets, hurt):
        return places, why or "the stream begins inside a group of pictures", ""
    # fewer pictures than are numbered since the numbers began anew lost none, if the numbers go on
    numbers = {i: pictures.get(behind, {}).get("frame_num", 0) for i, (_, behind) in around.items()}
    long = {i for i in around if numbers[i] < (times[i + 1] - times[i]) // found.usual >= REPORTED}.union(found.jumps)
    return [], "", _in_words(times, base, sorted(long)) if long else ""


def _marked(packets: Sequence[Seen], base: Fraction) -> set[int]:
    """Places of the packets that the container marks, and of those behind: a parser marks the picture before."""
    marked = [i for i, packet in enumerate(packets) if packet.is_corrupt]
    starts = joints(packets, base)[0] if marked else ()  # a joined file's packets before are whole, though marked
    marked = [i for i in marked if not {*range(i + 1, i + JOINT)}.intersection(starts)]
    return {i for place in marked for i in (place, place + 1) if i < len(packets)}


def _pictures(path: Path, places: Collection[int]) -> dict[int, dict[str, int]]:
    """Headers of H.264's pictures at some places, and of the sequence at -1; empty if numbers may have gaps."""
    level = av.logging.get_level()
    av.logging.set_level(av.logging.INFO)
    try:
        with av.logging.Capture() as lines, open_video(path) as container:
            stream = scanned_stream(container)
            reader = av.BitStreamFilterContext("trace_headers", stream)
            found = {-1: _fields(lines)}
            for place, packet in enumerate(packet for packet in container.demux(stream) if packet.size):
                if place in places:
                    lines.clear()
                    with suppress(av.FFmpegError):  # bits that are damaged
                        reader.filter(packet)
                    found[place] = _fields(lines)
    finally:
        av.logging.set_level(level)
    readable = any("frame_num" in fields for fields in found.values())
    return found if readable and found[-1].get("gaps_in_frame_num_allowed_flag") == 0 else {}


def _fields(lines: Sequence[tuple[int, str, str]]) -> dict[str, int]:
    """Fields up to the frame number of the first slice."""
    fields: dict[str, int] = {}
    for match in filter(None, (_FIELD.match(text) for _, _, text in lines)):
        fields[match[1]] = int(match[2])
        if match[1] == "frame_num":
            break
    return fields


def _lost(pictures: dict[int, dict[str, int]]) -> Iterator[int]:
    """Places before which a picture is lost that others refer to: their frame numbers skip it, or cannot be read."""
    for place, picture in pictures.items():
        number, before = (fields.get("frame_num", -1) for fields in (picture, pictures.get(place - 1, {})))
        if min(number, before) >= 0 and picture["nal_unit_type"] != _FRESH:
            step = (number - before) % (16 << pictures[-1]["log2_max_frame_num_minus4"])
            if step != (pictures[place - 1]["nal_ref_idc"] > 0) and (step or pictures[-1]["frame_mbs_only_flag"]):
                yield place
        elif place >= 0 > number:
            yield place


def _in_words(times: Sequence[int], base: Fraction, after: Sequence[int]) -> str:
    step, at = (float((times[i] - times[j]) * base) for i, j in ((after[0] + 1, after[0]), (after[0], 0)))
    return f"a gap of {step:,.2f} s behind frame {after[0]} ({at:.2f} s)" + f" ({len(after)} such)" * (len(after) > 1)
