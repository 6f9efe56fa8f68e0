"""A benchmark of data paths as lines, each printed and kept as soon as it is measured."""

import json
from pathlib import Path
from typing import Any, TextIO

from lit_video.utils.files import write_atomically

NOTE = "x stock: PyTorchVideo's time over this one's, median over the clips; clips: those with equal pixels"


class DataReport:
    """The rows of a benchmark: printed one by one, and written to a file with all before after each.

    Args:
        facts: what the file says beside the rows; ``clips_per_second`` is the rate to which cores are counted.
        printed: where lines go.
        kept: the file, JSON; ``None`` for none.
    """

    def __init__(self, facts: dict[str, Any], printed: TextIO, kept: Path | None = None) -> None:
        self.result: dict[str, Any] = {**facts, "rows": [], "errors": [], "formats": [], "loaders": []}
        self._printed = printed
        self._kept = kept
        self._titles: set[str] = set()

    def add(self, part: str, row: dict[str, Any]) -> None:
        """Print and keep a row of ``rows`` (libraries), ``formats``, ``loaders`` or ``errors``."""
        self.result[part].append(row)
        rate = self.result["clips_per_second"]
        if part == "errors":
            self._line(f"error: {row['library']}: {row['video']}, {row['sampling']}: {row['error']}")
        else:
            title, names, cells = {"rows": _library, "formats": _format, "loaders": _loader}[part](row, rate)
            if part not in self._titles:
                self._titles.add(part)
                self._line(f"\n{title}\n{_aligned(names, names)}")
            self._line(_aligned(cells, names))
        if self._kept is not None:
            write_atomically(self._kept, json.dumps(self.result, indent=2) + "\n")

    def _line(self, text: str) -> None:
        print(text, file=self._printed, flush=True)


Cells = tuple[str, list[str], list[str]]  # title, names of the columns, a row


def _library(row: dict[str, Any], rate: float) -> Cells:
    title = f"CPU time per clip of 8 frames, medians\n{NOTE}"
    names = ["videos", "sampling", "library", "clips", "decode ms", "x stock", "+ view ms", "x stock"]
    cells = [row["videos"], row["sampling"], row["library"], str(row["clips"])]
    for key in ("decode", "transform"):
        seconds, ratio = row[f"{key}_seconds"], row[f"{key}_ratio"]
        cells += ["" if seconds is None else f"{1000 * seconds:.1f}", "" if ratio is None else f"{ratio:.1f}"]
    return title, names, cells


def _format(row: dict[str, Any], rate: float) -> Cells:
    title = "A training clip, 8 frames with stride 8, from each format: CPU time of one core, medians; bytes and PSNR"
    names = ["videos", "format", "clips", "decode ms", "+ view, collate ms", f"cores, {rate:g}/s", "bytes", "PSNR dB"]
    decibels = "" if row["psnr"] is None else f"{row['psnr']:.1f}"
    times = [f"{1000 * row[key]:.1f}" for key in ("decode_seconds", "clip_seconds")]
    cores, size = f"{cores_for(rate, row['clip_seconds']):.1f}", f"x {row['size_ratio']:.2f}"
    return title, names, [row["videos"], row["format"], str(row["clips"]), *times, cores, size, decibels]


def _loader(row: dict[str, Any], rate: float) -> Cells:
    title = "Whole loaders: clips/s, and CPU time of all processes"
    names = ["videos", "library", "workers", "clips/s", "CPU ms per clip", f"cores, {rate:g}/s"]
    cells = [row["videos"], row["library"], str(row.get("workers", ""))]
    if why := row.get("missing"):
        return title, names, [*cells, why]
    cost = row["cpu_seconds_per_clip"]
    return (
        title,
        names,
        [*cells, f"{row['clips_per_second']:.1f}", f"{1000 * cost:.1f}", f"{cores_for(rate, cost):.1f}"],
    )


def cores_for(rate: float, seconds: float) -> float:
    """Cores that make clips at a rate, where one takes so many CPU seconds."""
    return rate * seconds


def _aligned(cells: list[str], names: list[str]) -> str:
    """Columns as wide as their names ask for, known before any row: texts to the left, numbers to the right."""
    widths = [17, 13, *(max(len(name), 13 if name == "library" else 8) for name in names[2:])]
    aligned = [f"{c:<{w}}" if i < 2 else f"{c:>{w}}" for i, (c, w) in enumerate(zip(cells, widths, strict=False))]
    return "  ".join(aligned).rstrip()
