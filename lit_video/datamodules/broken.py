"""Count the videos of a data set that could not be read, and refuse too many; count those with gaps in time."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import torch.distributed as dist

from lit_video.datamodules.manifest import Manifest
from lit_video.datamodules.records import Records, print_once
from lit_video.errors import UserError
from lit_video.utils.splits import Split

OnBroken = Literal["fail", "skip", "report"]


class BrokenVideos:
    """Broken videos that a process has met, each once; with ``skip``, up to ``percent`` of a split may be broken."""

    def __init__(self, on_broken: OnBroken, percent: float) -> None:
        self.on_broken = on_broken
        self.percent = percent
        self.reasons: dict[str, dict[int, str]] = {split: {} for split in get_args(Split)}
        self.gaps: dict[str, dict[int, str]] = {split: {} for split in get_args(Split)}
        self._records: dict[str, Records] = {}

    def forget(self, *splits: Split) -> None:
        """Count some splits anew, because their videos are read for another use."""
        for split in splits:
            self.reasons[split] = {}
            self.gaps[split] = {}

    def expect(self, split: str, records: Records, tables: Manifest | None = None) -> None:
        """Store a split's records; if a manifest lists broken or damaged videos, refuse them, or count broken ones."""
        self._records[split] = records
        if tables is None:
            return

        paths = records.paths
        rows = tables.faults(paths)
        if not rows:
            return

        first = min(rows)
        count = f"{len(rows)} of the {split} videos are broken or damaged"
        fault = f"data.manifest: {count} (first {first}: {rows[first].reason})"
        if self.on_broken == "fail":
            raise UserError(f"{fault}; replace or delete them, or set data.broken: skip")
        print_once(f"{fault}; broken videos are left out, and so are clips that need a damaged frame")

        broken = {path: f"{path}: {row.reason}" for path, row in rows.items() if row.status == "broken"}
        self.add(split, range(len(paths)), [broken.get(path, "") for path in paths])

    def add(self, split: str, videos: Sequence[int], reasons: Sequence[str]) -> None:
        """Add a batch's videos, by index in the split's records; a reason is empty if the video could be read."""
        new = {video: reason for video, reason in zip(videos, reasons, strict=True) if reason}
        self.reasons[split] = new | self.reasons[split]
        if new:
            self._check(split)

    def add_gaps(self, split: str, videos: Sequence[int], gaps: Sequence[str]) -> None:
        """Add a batch's videos, by index in the split's records; a text is empty if the video's time has no gaps."""
        self.gaps[split] |= {video: gap for video, gap in zip(videos, gaps, strict=True) if gap}

    def gap_line(self, splits: Sequence[str]) -> str:
        """Return a line with the number of videos whose time has gaps, and one of them; empty if there are none."""
        with_gaps = [gap for split in splits for _, gap in sorted(self.gaps[split].items())]
        if not with_gaps:
            return ""
        counts = " and ".join(f"{len(self.gaps[split])} {split}" for split in splits if self.gaps[split])
        return f"{counts} videos have gaps in time, and were used ({with_gaps[0]})"

    def gather(self) -> None:
        """Merge the broken videos, and those with gaps, of all processes; every process must call it."""
        if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
            return

        ranks: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(ranks, (self.reasons, self.gaps))
        for split in self.reasons:
            self.reasons[split] = {}
            self.gaps[split] = {}
            for reasons, gaps in reversed(ranks):
                self.reasons[split] |= reasons[split]
                self.gaps[split] |= gaps[split]
            self._check(split)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return split, path and reason of each broken video; a video's segments with the same reason share a row."""
        rows: list[tuple[str, str, str]] = []
        for split, reasons in self.reasons.items():
            for video, reason in sorted(reasons.items()):
                path = str(self._records[split][video].path)
                rows.append((split, path, reason.removeprefix(f"{path}: ")))
        return list(dict.fromkeys(rows))

    def _check(self, split: str) -> None:
        """Refuse a split in which more videos are broken than accepted."""
        reasons = self.reasons[split]
        if self.on_broken == "report" or not reasons or split not in self._records:
            return

        share = 100 * len(reasons) / len(self._records[split])
        if share > self.percent:
            raise UserError(
                f"data.broken_percent: {share:.1f} % of the {split} videos cannot be read, more than "
                f"{self.percent:g} %; the last: {list(reasons.values())[-1]}"
            )
