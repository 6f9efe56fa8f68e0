"""Counts of a data set's videos (sound, missing, broken, damaged) by split, and its digest."""

from hashlib import blake2b
from itertools import chain
from pathlib import Path

from jsonargparse import ArgumentError, ArgumentParser

from lit_video.datamodules import VideoDataModule
from lit_video.datamodules.checks import contradicting_copies
from lit_video.datamodules.manifest import Video, scan
from lit_video.datamodules.probe import VideoInfo
from lit_video.datamodules.records import Records, relative
from lit_video.errors import UserError
from lit_video.settings.messages import explain
from lit_video.settings.nested import Nested
from lit_video.utils.text import printable, text_table, to_bytes
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import DecodeError, segment

VIDEOS_PER_FAULT = 10  # videos listed per fault
VERDICTS = ["missing", "broken", "damaged"]
GAPS = "gaps in time"  # verdict on a video that is no fault
Faults = dict[str, dict[str, list[str]]]  # by split and verdict: a line for each faulty video, with path and reason


def open_dataset(settings: Nested) -> VideoDataModule:
    """Build the data set of nested settings, their section ``data``."""
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(VideoDataModule, "data")
    try:
        config = parser.parse_object(settings)
        data: VideoDataModule = parser.instantiate(config).data
    except (ArgumentError, ValueError, TypeError) as error:
        raise UserError(": ".join(filter(None, explain(str(error), {})))) from error
    return data


def find_faults(data: VideoDataModule, file: Path, every_frame: bool = False) -> Faults:
    """Probe every video of every split, and write the manifest to ``file``; a segment of a long video is a video.

    Also list videos with gaps in time (``GAPS``), which are no faults.
    """
    root = data.data_root()
    records = {split: Records.of(data.records(split)) for split in data.present}
    videos: dict[str, Video] = {}
    for records_of_split in records.values():
        for record in records_of_split:
            videos[relative(record.path, root)] = (record.path, record.fps)
    rows = scan(videos, file, every_frame).facts()

    faults: Faults = {}
    for split, records_of_split in records.items():
        faults[split] = {verdict: [] for verdict in (*VERDICTS, GAPS)}
        for record in records_of_split:
            row = rows[relative(record.path, root)]
            status, reason = _verdict(record, row)
            if status != "ok":
                faults[split][status].append(printable(f"  {row.path}: {reason}"))
            if row.gap:
                faults[split][GAPS].append(printable(f"  {row.path}: {row.gap}"))
    return faults


def _verdict(record: VideoRecord, row: VideoInfo) -> tuple[str, str]:
    """Return the status of a video or a segment, and the reason; a segment is broken if it begins after the end."""
    start = record.start or 0.0
    seconds = row.seconds or 0.0
    if seconds and start >= seconds:  # long pauses are in the times of segments, not in these seconds
        try:
            segment(record.path, record.table(), start=start, end=record.end)
        except DecodeError as error:
            return "broken", str(error).removeprefix(f"{record.path}: ")
    return row.status, row.reason


def check_report(data: VideoDataModule, faults: Faults, manifest: Path) -> str:
    """Report counts per split, the first faulty videos, and the data digest, a part of a run's identity."""
    classes = f"{data.num_classes} classes"
    if isinstance(data.num_classes, dict):
        classes = ", ".join(f"{count} {task}s" for task, count in data.num_classes.items())

    cells: list[list[str]] = []
    for split in data.present:
        counts = [len(data.records(split))]
        counts += [len(faults[split][verdict]) for verdict in VERDICTS]
        cells.append([split, *map(str, counts)])
    table = text_table(f"{classes}; rows in {manifest}", ["split", "videos", *VERDICTS], cells)

    parts = [table]
    for verdict in (*VERDICTS, GAPS):
        lines_of_splits = [faults_of_split[verdict] for faults_of_split in faults.values()]
        lines = list(dict.fromkeys(chain.from_iterable(lines_of_splits)))  # the first of its videos, each once
        if len(lines) > VIDEOS_PER_FAULT:
            more = f"  and {len(lines) - VIDEOS_PER_FAULT} more; all are in the manifest"
            parts.append("\n".join([f"{verdict} ({len(lines)}):", *lines[:VIDEOS_PER_FAULT], more]))
        elif lines:
            parts.append("\n".join([f"{verdict} ({len(lines)}):", *lines]))
    copied = contradictions(data)
    if copied:
        parts.append("\n".join(["copies:", *(printable(f"  {text}") for text in copied)]))
    parts.append(f"data digest  {data_digest(data)}  (paths, labels)")
    return "\n\n".join(parts)


def contradictions(data: VideoDataModule) -> list[str]:
    """Describe videos of equal content in two splits or two classes; none for a released data set."""
    if not data.compares_contents:
        return []
    return [contradiction.text for contradiction in contradicting_copies(data)]


def data_digest(data: VideoDataModule) -> str:
    """Return a digest of class names, relative paths, labels and segments, the same on every machine."""
    root = data.data_root()
    lines: list[str] = []
    for split in data.present:
        records = Records.of(data.records(split))
        for index, (path, start, end) in enumerate(records.identities()):
            lines.append(f"{split}\t{relative(path, root)}\t{records.label(index)}\t{start}\t{end}")
    lines = [f"classes\t{data.class_names}", *sorted(lines)]
    return blake2b(to_bytes("\n".join(lines)), digest_size=8).hexdigest()
