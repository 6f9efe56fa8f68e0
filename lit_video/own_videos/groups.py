"""Which videos belong together: of one recording, or of one person. They must not be both trained and tested on."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lit_video.errors import UserError
from lit_video.own_videos.finding import OwnVideo

# columns of a table that say so, the first that is there
COLUMNS = ("group", "recording", "source", "session", "scene", "subject", "speaker", "person", "participant", "actor")
_WORDS = "person|subject|subj|actor|speaker|participant|session|scene|rec|g|s|p"
_MARKED = re.compile(rf"(?:^|(?<=[_\-. ]))(?:{_WORDS})\d+(?![^_\-. ])", re.I)
_COUNTER = re.compile(r"(?:^|[_\-. ]+)(?:clip|part|seg|segment|shot|take|c|v)?[_\-]?\d+$", re.I)
LEAST = 3  # groups of a class: one each to train, to validate, to test


@dataclass(frozen=True)
class Groups:
    """The group of every video.

    Args:
        names: of the groups, by video; ``None`` where every video stands for itself.
        reason: for the user.
    """

    names: Sequence[str] | None
    reason: str


def find_groups(videos: Sequence[OwnVideo], wanted: str | None = None) -> Groups:
    """The groups that a table's column or the files' names tell.

    Args:
        videos: of the folder.
        wanted: a column, ``none``, or ``None`` for the first sign that leaves every class enough groups.

    Raises:
        UserError: there is no such column, or a class has too few groups of it.
    """
    if wanted == "none":
        return Groups(None, "every video stands for itself (--group none)")
    if wanted is not None:
        return _of_column(videos, wanted)
    for column in COLUMNS:
        names = [video.columns.get(column, "") for video in videos]
        if all(names) and _enough(videos, names):
            return Groups(names, f"the column {column} says which belong together ({len(set(names))} of them)")
    for starts, sign in ((_marked(videos), "a part such as s01"), (_without_counters(videos), "their start")):
        if starts and _enough(videos, starts) and len(set(starts)) < len(videos):
            count, example = len(set(starts)), min(starts)
            reason = f"the files' names say which belong together, by {sign} ({count} of them: {example!r}, ...)"
            return Groups(starts, reason)
    unknown = "no column or part of the names says which were recorded together; if some were, give --group COLUMN"
    paths = [video.path for video in videos]
    if len(set(paths)) == len(videos):
        return Groups(None, unknown)
    if _enough(videos, paths):
        return Groups(paths, f"parts of one file belong together ({len(set(paths))} files); of files, {unknown}")
    few = f"a class is in fewer than {LEAST} files"
    return Groups(None, f"{few}: parts of one file are both trained and tested on, which flatters the test; {unknown}")


def _of_column(videos: Sequence[OwnVideo], column: str) -> Groups:
    if any(not video.columns.get(column) for video in videos):
        there = ", ".join(videos[0].columns) or "there is no table"
        raise UserError(f"--group {column}: no such column, or an empty cell in it; columns: {there}")
    names = [video.columns[column] for video in videos]
    if not _enough(videos, names):
        raise UserError(f"--group {column}: a class has fewer than {LEAST} of them: to train, to validate and to test")
    return Groups(names, f"the column {column} says which belong together ({len(set(names))} of them)")


def _enough(videos: Sequence[OwnVideo], names: Sequence[str]) -> bool:
    """Whether every class has groups for all splits."""
    by_class: dict[str, set[str]] = defaultdict(set)
    for video, name in zip(videos, names, strict=True):
        by_class[video.label].add(name)
    return all(len(groups) >= LEAST for groups in by_class.values())


def _marked(videos: Sequence[OwnVideo]) -> list[str] | None:
    """Of each name the parts that are a word for a person or a recording with a number."""
    parts = [_MARKED.findall(_stem(video)) for video in videos]
    return ["_".join(part) for part in parts] if all(parts) else None


def _without_counters(videos: Sequence[OwnVideo]) -> list[str] | None:
    """Of each name what stands before its last number, the class left out."""
    starts = []
    for video in videos:
        words = re.split(r"[_\-. ]+", _stem(video))
        stem = "_".join(word for word in words if word.lower() != video.label.lower())
        starts.append(_COUNTER.sub("", stem))
    return starts if all(starts) else None


def _stem(video: OwnVideo) -> str:
    return video.path.rpartition("/")[2].rpartition(".")[0]
