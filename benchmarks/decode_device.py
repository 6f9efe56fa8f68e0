"""A decoder on a device beside PyAV: how far their pixels are apart, and how many clips per second each decodes.

    python -m benchmarks.decode_device [--decoder torchcodec] [--device cuda] [--small] [-o FILE]

Made videos of every kind of ``benchmark data``; clips of 8 frames, 8 apart. Times are of one process, interleaved, and
medians. Exit status 1 where a pixel differs by more than one level, 2 where the decoder does not work here.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from lit_video.benchmark.clip_decoders import Clip, cut
from lit_video.benchmark.sample_videos import KINDS, Kind, make_videos
from lit_video.benchmark.timing import interleaved
from lit_video.utils.command_line import recorded_command
from lit_video.utils.environment import provenance
from lit_video.video.decoding import Decode, DecodeError, decode, decoder

SMALL = tuple(replace(kind, width=128, height=96, frames=32) for kind in KINDS[:2])


def difference(clips: Sequence[Clip], other: Decode) -> dict[str, Any]:
    """Largest and mean difference of a decoder's pixels from PyAV's, in levels of 255, or why it has none."""
    largest, total, count = 0, 0.0, 0
    for clip in clips:
        expected = decode(clip.path, clip.numbers).astype(np.int16)
        try:
            found = other(clip.path, clip.numbers)
        except DecodeError as error:
            return {"error": str(error)}
        if found.shape != expected.shape:
            return {"error": f"{clip.path.name}: frames of shape {found.shape}, expected {expected.shape}"}
        apart = np.abs(expected - found)
        largest, total, count = max(largest, int(apart.max())), total + float(apart.sum()), count + apart.size
    return {"largest": largest, "mean": round(total / count, 4), "within one level": largest <= 1}


def rates(clips: Sequence[Clip], decoders: dict[str, Decode], repeats: int, device: str) -> dict[str, float]:
    """Clips per second of each decoder."""

    def all_clips(one: Decode) -> None:
        for clip in clips:
            one(clip.path, clip.numbers)

    actions = {name: (lambda one=one: all_clips(one)) for name, one in decoders.items()}
    times = interleaved(actions, repeats, torch.device(device), "decode")
    return {name: round(len(clips) / median(seconds), 1) for name, seconds in times.items()}


def rows(folder: Path, kinds: Sequence[Kind], other: Decode, name: str, device: str, small: bool) -> Iterator[Any]:
    """A row of each kind of video, as it is measured."""
    make_videos(folder, 1 if small else 4, tuple(kinds))
    for kind in kinds:
        paths = sorted((folder / kind.name).glob(f"[0-9]*{kind.suffix}"))
        clips = [cut(path, "stride 8", 4 if small else 8, share) for path in paths for share in (0.1, 0.8)]
        row: dict[str, Any] = {"video": f"{kind.name} {kind.width}x{kind.height}"} | difference(clips, other)
        if "error" not in row:
            row |= {"clips/s": rates(clips, {"pyav": decode, name: other}, 1 if small else 7, device)}
        yield row


def main() -> int:
    """Measure; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.decode_device",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--decoder", choices=("torchcodec", "pyav"), default="torchcodec")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--small", action="store_true", help="small videos, few repetitions: a rehearsal")
    parser.add_argument("-o", "--output", type=Path, help="the same as JSON")
    given = parser.parse_args()
    try:
        other = decoder(given.decoder, given.device)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    name, measured = f"{given.decoder} on {given.device}", []
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(Path(folder), SMALL if given.small else KINDS, other, name, given.device, given.small):
            print(json.dumps(row), flush=True)
            measured.append(row)
    if given.output:
        facts = provenance(recorded_command(sys.argv[1:], "benchmarks.decode_device"), given.device, "torchcodec") | {
            "decoder": name
        }
        given.output.write_text(json.dumps(facts | {"rows": measured}, indent=1) + "\n")
    return int(not all(row.get("within one level") for row in measured))


if __name__ == "__main__":
    sys.exit(main())
