"""Roles of a table's columns (split, person, segment), by their names in any case and spelling, and by their cells."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from unicodedata import normalize

from lit_video.errors import UserError
from lit_video.utils.annotations import AnnotationRow
from lit_video.utils.text import natural, plural, shortened

# split that a cell, a folder or a table's name means; EVAL is the test, or the validation beside a test
EVAL = "eval"
SPLIT_WORDS = {
    "train": "train",
    "training": "train",
    "trn": "train",
    "learn": "train",
    "learning": "train",
    "trainval": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "validate": "val",
    "dev": "val",
    "devel": "val",
    "development": "val",
    "test": "test",
    "testing": "test",
    "tst": "test",
    "holdout": "test",
    "heldout": "test",
    "eval": EVAL,
    "evaluation": EVAL,
}
# words that may stand beside one of these, and say nothing more
_BESIDE_SPLIT = {"public", "private", "official", "set", "split", "subset", "data", "list", "video", "videos", "clips"}
_SPLIT_NAMES = {"split", "splits", "subset", "set", "partition", "fold", "usage", "phase"}
_BESIDE_SPLIT_NAME = {"data", "official", "default", "my", "cv", "k", "kfold", "id", "name", "number", "no", "type"}
_BESIDE_FLAG = {"is", "in", "for", "use", "used", "as", "set", "flag"}
_TRUE = {"1", "1.0", "true", "yes", "y", "t", "x"}
_FALSE = {"0", "0.0", "false", "no", "n", "f", "-", ""}
MOST_SPELLINGS = 100  # most different cells of a column of splits
MOST_FOLDS = 10
FEW_SHARED = 3  # fewest values, each shared by rows, of a column that may say what was recorded together
FOLD_NAME = "fold"  # beginning of a fold's name, before its number

# words that name what videos share, in the order in which they are tried: persons, then recordings
PERSONS = [
    "group", "person", "persons", "people", "subject", "subjects", "subj", "sub", "participant", "participants",
    "actor", "actors", "actress", "speaker", "signer", "performer", "user", "patient", "individual", "volunteer",
    "player", "athlete", "dancer", "singer", "child", "infant", "student", "driver", "worker", "human", "identity",
    "proband", "respondent", "teilnehmer", "versuchsperson", "sujet", "sujeto", "personne", "persona", "soggetto",
]  # fmt: skip
RECORDINGS = [
    "recording", "record", "recordings", "rec", "session", "scene", "source", "video", "film", "movie", "episode",
    "youtube", "yt",
]  # fmt: skip
_BESIDE_GROUP = [
    "id", "ids", "uid", "uuid", "no", "nr", "num", "number", "name", "names", "code", "index", "idx", "key", "the",
    "of", "label", "original", "orig", "parent", "full", "long", "raw",
]  # fmt: skip

_STARTS = [
    "start", "starts", "begin", "beginning", "begins", "onset", "from", "first", "in", "st", "since", "anfang",
    "beginn", "debut", "inicio", "inizio", "von",
]  # fmt: skip
_ENDS = [
    "end", "ends", "stop", "stops", "offset", "to", "last", "out", "ed", "et", "until", "finish", "ende", "fin",
    "fine", "fim", "bis",
]  # fmt: skip
# words of times in pairs only
_VAGUE = {"in", "from", "first", "st", "since", "von", "offset", "to", "last", "out", "ed", "et", "until", "bis", "fin"}
CANONICAL = ("start", "end")
_DURATIONS = ["duration", "dur", "length", "len", "dauer", "duree"]
_TIMES = ["time", "times", "timestamp", "timestamps", "t", "ts"]
_IS_TIME = re.compile(r"-?\d+(?:[.:]\d+)*\.?")  # form of a cell
_FRAMES = ["frame", "frames", "f", "fr", "frm"]
_SCALES = {"ms": 1e-3, "msec": 1e-3, "millis": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3}
_SCALES |= {"minute": 60.0, "minutes": 60.0}
_BESIDE_TIME = {
    *(*_TIMES, *_FRAMES, *_SCALES),
    "s", "sec", "secs", "second", "seconds", "stamp", "tc", "timecode",
    "clip", "segment", "seg", "video", "action", "event",
    "annotation", "point", "position", "pos", "index", "idx", "no", "nr", "number", "label", "of", "in", "at", "the",
}  # fmt: skip
_PAIRS = (("0", "1"), ("1", "2"), ("min", "max"))  # endings of two names that are the same but for them

_LONG = {
    word
    for words_of_role in (SPLIT_WORDS, _SPLIT_NAMES, PERSONS, RECORDINGS, _STARTS, _ENDS, _DURATIONS, _TIMES, _FRAMES)
    for word in words_of_role
    if len(word) >= 3
}
_LONG |= {
    "clip", "segment", "video", "file", "path", "name", "number", "code", "index", "second", "seconds", "sec", "label",
    "class", "action",
}  # fmt: skip
_TIME_WORDS = {word for word in (*_STARTS, *_ENDS) if len(word) >= 3}  # may follow a t, as in tstart
_PARTS = _LONG | {"id", "no", "nr", "is", "ms"}  # words of a name that is written as one, such as subjectid


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case: ``clip, start`` of ``clipStart``, ``clip_start`` and ``clipstart``."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    words: list[str] = []
    plain = re.sub(r"[\u0300-\u036f]", "", normalize("NFKD", apart.casefold()))  # without accents
    for word in re.findall(r"\d+|[^\W\d_]+", plain):
        words += _parts(word)
    return words


@lru_cache(2**12)
def _parts(word: str) -> tuple[str, ...]:
    """Return the known words of which a word is made, at most three; the word itself if it is known or they are not."""
    if word in _LONG or not word.isascii():
        return (word,)
    if word[0] == "t" and word[1:] in _TIME_WORDS:
        return "t", word[1:]

    for end in range(len(word) - 2, 1, -1):
        first, rest = word[:end], word[end:]
        if first in _PARTS and rest in _PARTS:
            return first, rest
    for end in range(len(word) - 4, 1, -1):
        if word[:end] in _PARTS:
            rest_parts = _parts(word[end:])
            if len(rest_parts) == 2:
                return word[:end], *rest_parts
    return (word,)


def split_meant(name: str) -> str | None:
    """Return the split that a cell or a name means, or :data:`EVAL`; ``None`` if it means none, or two."""
    words = [word for word in words_of(name) if not word.isdecimal()]
    joined = "".join(words)
    if joined in SPLIT_WORDS:
        return SPLIT_WORDS[joined]
    meant = {SPLIT_WORDS[word] for word in words if word in SPLIT_WORDS}
    others = {word for word in words if word not in SPLIT_WORDS}
    if len(meant) == 1 and others <= _BESIDE_SPLIT:
        return meant.pop()
    return None


def with_eval(splits: Collection[str]) -> dict[str, str]:
    """Return the split that each meaning stands for: ``eval`` is the test, or the validation where there is a test."""
    stands_for = {split: split for split in splits}
    if EVAL in stands_for:
        stands_for[EVAL] = "val" if "test" in splits else "test"
    return stands_for


class SplitColumns(NamedTuple):
    """Splits of a table's rows, and the columns that say so."""

    columns: Sequence[str]
    splits: Sequence[str]  # split or fold of each row
    words: str  # the columns and their roles


def read_splits(
    where: str, rows: Sequence[AnnotationRow], names: Sequence[str], asked: str | None = None
) -> SplitColumns | None:
    """Return the splits of a table's rows: by a column's name, or by its cells; ``None`` if no column looks like them.

    Args:
        where: the table, for messages.
        rows: the rows.
        names: columns that may hold the splits.
        asked: the column that the user names; ``none`` for none.

    Raises:
        UserError: several columns could hold the splits, or a cell of the one that does means none.
    """
    if asked == "none":
        return None
    if asked is not None:
        names = [name for name in names if name.casefold() == asked.casefold()]
        if not names:
            raise UserError(f"--split {asked}: {where} has no such column; columns: {', '.join(rows[0].cells)}")

    flags = [name for name in names if _is_flag(name, rows)]
    columns = [
        name for name in names if name not in flags and (asked or _names_split(name) or _holds_splits(name, rows))
    ]
    kinds = [*columns, *([", ".join(flags)] if flags else [])]
    if len(kinds) > 1:
        raise UserError(
            f"{where}: columns {', '.join(kinds)} could all name the splits; keep one, or give --split COLUMN"
        )
    if flags:
        return _of_flags(rows, flags)
    return _of_cells(rows, columns[0]) if columns else None


def _names_split(name: str) -> bool:
    """Return whether a column's name is one of a split."""
    words = {word for word in words_of(name) if not word.isdecimal()}
    if "".join(words_of(name)) in {"dataset", "set"}:  # a data set is a source
        return name.casefold() == "set"
    return bool(words & _SPLIT_NAMES) and words <= _SPLIT_NAMES | _BESIDE_SPLIT_NAME | {*SPLIT_WORDS} - {"dev"}


def _holds_splits(name: str, rows: Sequence[AnnotationRow]) -> bool:
    """Return whether the cells of a column, or most of them, name splits, and at least two of them."""
    counts = Counter(row.cells.get(name, "") for row in rows)
    if len(counts) > MOST_SPELLINGS:  # too many for splits, so the rest needs no look
        return False
    meant = {cell: split_meant(cell) for cell in counts}
    number = sum(count for cell, count in counts.items() if meant[cell])
    return number == len(rows) or (2 * number > len(rows) and len({*meant.values()} - {None}) > 1)


def _is_flag(name: str, rows: Sequence[AnnotationRow]) -> bool:
    """Return whether a column says of each row whether it is in one split, such as ``is_test``: 0 and 1."""
    if not _split_of_flag(name):
        return False
    cells = {row.cells.get(name, "").casefold() for row in rows}
    return cells <= _TRUE | _FALSE and bool(cells & _TRUE) and bool(cells & _FALSE)


def _split_of_flag(name: str) -> str | None:
    """Return the split, or :data:`EVAL`, that a name such as ``is_test`` or ``used_for_training`` asks for."""
    words = [word for word in words_of(name) if word not in _BESIDE_FLAG]
    meant = {SPLIT_WORDS.get(word) for word in words}
    return meant.pop() if len(meant) == 1 else None


def _of_flags(rows: Sequence[AnnotationRow], flags: Sequence[str]) -> SplitColumns:
    """Read the splits from columns that each are true in one split; a row of none trains, or is tested."""
    meanings = {name: meaning for name in flags if (meaning := _split_of_flag(name))}
    stands_for = with_eval({*meanings.values()})
    split_of = {name: stands_for[meaning] for name, meaning in meanings.items()}
    otherwise = "train" if "train" not in split_of.values() else None
    if otherwise is None and len(flags) == 1:
        otherwise = "test"

    numbered = [name for name in flags if len({row.cells.get(name, "") for row in rows} - {""}) > 1]
    splits: list[str] = []
    for row in rows:
        for name in numbered:
            if not row.cells.get(name, ""):
                raise row.error(name, "is empty, expected 0 or 1; fill it in, or give --split none")
        true = [name for name in flags if row.cells.get(name, "").casefold() in _TRUE]
        if len(true) > 1 or (not true and otherwise is None):
            fault = f"{', '.join(true) or 'none of them'} is true, expected one of {', '.join(flags)}"
            raise row.error(flags[0], f"{fault}; correct it, or give --split none")
        splits.append(split_of[true[0]] if true else str(otherwise))
    return SplitColumns(flags, splits, _split_words(flags, [*split_of.values()]))


def _of_cells(rows: Sequence[AnnotationRow], column: str) -> SplitColumns:
    """Read the splits from a column: names of splits, or of folds; refuse any other cell."""
    cells = [row.cells.get(column, "") for row in rows]
    folds = {*cells}
    if FOLD_NAME in words_of(column) and len(folds) > 1 and all(cell and not split_meant(cell) for cell in folds):
        if len(folds) > MOST_FOLDS:
            fault = f"holds {len(folds)} folds, expected at most {MOST_FOLDS}; give --split none to divide at random"
            raise rows[0].error(column, fault)
        names = {cell: f"{FOLD_NAME}{place}" for place, cell in enumerate(sorted(folds, key=natural), 1)}
        words = f"{len(names)} folds: column `{column}`"
        return SplitColumns([column], [names[cell] for cell in cells], words)

    meaning = {cell: split_meant(cell) for cell in {*cells}}
    meant = [meaning[cell] for cell in cells]
    for row, cell, split in zip(rows, cells, meant, strict=True):
        if split is None:
            stated = f"is {cell!r}" if cell else "is empty"
            raise row.error(column, f"{stated}, expected train, val or test; correct it, or give --split none")
    stands_for = with_eval({split for split in meant if split})
    splits = [stands_for[split] for split in meant if split]
    spellings: dict[str, set[str]] = {}
    for cell, split in zip(cells, splits, strict=True):
        spellings.setdefault(split, set()).add(cell)
    taken = [f"{', '.join(sorted(spelled))} as {split}" for split, spelled in spellings.items() if spelled != {split}]
    return SplitColumns([column], splits, _split_words([column], taken))


def _split_words(columns: Sequence[str], taken: Sequence[str]) -> str:
    words = f"split: column {quoted(columns)}"
    return f"{words} ({'; '.join(taken)})" if taken else words


def quoted(names: Iterable[str]) -> str:
    """Return names of columns in backquotes, with commas."""
    return ", ".join(f"`{name}`" for name in names)


def group_columns(names: Iterable[str]) -> list[str]:
    """Return the columns whose names are of a person or a recording, persons first."""
    ranks: dict[str, int] = {}
    words_in_order = [*PERSONS, *RECORDINGS]
    for name in names:
        words = [word for word in words_of(name) if not word.isdecimal() and word not in _BESIDE_GROUP]
        if words and all(word in words_in_order for word in words):
            ranks[name] = min(words_in_order.index(word) for word in words)
    return sorted(ranks, key=ranks.__getitem__)


def refuse_half_known(rows: Sequence[AnnotationRow], column: str, flag: str) -> None:
    """Refuse a column with empty cells beside filled ones; ``flag`` does without it."""
    empty = [row for row in rows if not row.cells.get(column, "")]
    if empty and len(empty) < len(rows):
        raise empty[0].error(column, f"is empty ({len(empty)} of {len(rows)} rows); fill it in, or give {flag}")


def same_names(cells: Sequence[str]) -> list[str]:
    """Return each cell in the spelling in which its value comes first: S1 and s1, 1 and 1.0, 01 and 1 are one."""
    first_of: dict[str, str] = {}
    names: list[str] = []
    for cell in cells:
        value = "".join(cell.casefold().split())
        if re.fullmatch(r"[-+]?\d+\.0*", value):
            value = value.partition(".")[0]
        value = re.sub(r"(?<!\d)(?<!\d[.,])0+(?=\d)", "", value)  # without zeros that lead a number
        names.append(first_of.setdefault(value, cell))
    return names


class _Time(NamedTuple):
    """Column of times."""

    name: str
    role: str  # start, end or duration
    scale: float | None  # seconds of one; None for frames


class Times(NamedTuple):
    """Rows with their segments in cells ``start`` and ``end``, in seconds."""

    rows: Sequence[AnnotationRow]
    columns: Sequence[str]  # columns that the segments were read from
    words: str  # the columns and their roles; empty without segments


def read_times(where: str, rows: Sequence[AnnotationRow], names: Sequence[str]) -> Times:
    """Read the segments of a table's rows from columns of start, end or duration, in any usual spelling.

    Times are seconds or ``HH:MM:SS``, unless the column's name says milliseconds or minutes. Rows without start and end
    are whole videos.

    Raises:
        UserError: a cell is no time, or the columns are counted in frames, or several could be the segment's.
    """
    columns: list[_Time] = []
    for time in _time_columns(names):
        holds_times = any(_IS_TIME.fullmatch(row.cells.get(time.name, "")) for row in rows)
        if time.name in CANONICAL or holds_times:
            columns.append(time)
    columns = _in_pairs(where, columns)
    if not {time.role for time in columns} & {"start", "end"}:  # a duration alone is a video's
        return Times(rows, [], "")

    in_seconds = [time for time in columns if time.scale is not None]
    if not {time.role for time in in_seconds} & {"start", "end"}:
        advice = "write start and end in seconds (frame / frames per second), or rename it to train whole videos"
        raise UserError(f"{where}: column {columns[0].name!r} looks like a segment, counted in frames; {advice}")

    of_role = {role: [time for time in in_seconds if time.role == role] for role in ("start", "end", "duration")}
    if of_role["end"] or not of_role["start"]:
        of_role["duration"] = []
    for role, times in of_role.items():
        if len(times) > 1:
            both = ", ".join(time.name for time in times)
            raise UserError(f"{where}: columns {both} could all be a segment's {role}; rename all but one")

    used = [time for times in of_role.values() for time in times]
    is_canonical = all(time.name in CANONICAL and time.scale == 1.0 for time in used)
    converted = rows if is_canonical else [_with_segment(row, used) for row in rows]
    whole = sum(not row.cells.get("start") and not row.cells.get("end") for row in converted)
    text = f"segment: {quoted(time.name for time in used)} in seconds"
    if whole:
        text += f", {whole} rows without are whole videos"
    return Times(converted, [time.name for time in used], text)


def _in_pairs(where: str, columns: Sequence[_Time]) -> list[_Time]:
    """Return the columns without those whose name says little alone, such as ``in``; refuse a lone time."""
    starts = [time for time in columns if time.role == "start"]
    ends = [time for time in columns if time.role == "end"]
    lengths = [time for time in columns if time.role == "duration"]
    if ends and lengths and not starts and "offset" in words_of(ends[0].name):
        starts, ends = [ends[0]._replace(role="start")], []
    if not ends and not lengths and len(starts) == 1 and not {*words_of(starts[0].name)} & {*_STARTS}:
        advice = "name it start, and give end or duration; or rename it to train whole videos"
        raise UserError(f"{where}: column {starts[0].name!r} could be the start of a segment; {advice}")
    if not (starts and (ends or lengths)):
        starts = [time for time in starts if not {*words_of(time.name)} & _VAGUE]
        ends = [time for time in ends if not {*words_of(time.name)} & _VAGUE]
    return [*starts, *ends, *lengths]


def _time_columns(names: Sequence[str]) -> list[_Time]:
    """Return the columns whose names are of a start, an end or a duration."""
    columns: list[_Time] = []
    lone: list[str] = []
    for name in names:
        words = words_of(name)
        roles = []
        for role, role_words in (("start", _STARTS), ("end", _ENDS), ("duration", _DURATIONS)):
            if any(word in role_words for word in words):
                roles.append(role)
        beside = {word for word in words if not word.isdecimal()} - {*_STARTS, *_ENDS, *_DURATIONS}
        if beside <= _BESIDE_TIME and roles:
            columns.append(_Time(name, roles[0], _scale(words)))
        elif {*words} & {*_TIMES} and beside <= _BESIDE_TIME:
            lone.append(name)

    roles_there = {time.role for time in columns}
    if "start" not in roles_there and "end" not in roles_there:
        # two columns such as t0 and t1, tmin and tmax, time_1 and time_2
        numbered = r"(?:t|ts|time|sec|seconds|second|s)[_\-. ]?([012]|min|max)"
        matches = {name: re.fullmatch(numbered, name.casefold()) for name in names}
        endings = {match[1]: name for name, match in matches.items() if match}
        pair = next((pair for pair in _PAIRS if {*pair} == endings.keys()), None)
        if pair:
            first, second = pair
            columns += [_Time(endings[first], "start", 1.0), _Time(endings[second], "end", 1.0)]
        if ({time.role for time in columns} == {"duration"} and len(lone) == 1) or (
            not columns and len(lone) == 1
        ):  # time and duration
            columns.append(_Time(lone[0], "start", _scale(words_of(lone[0]))))
    return columns


def _scale(words: Sequence[str]) -> float | None:
    """Return the seconds of one unit of a column by its words; ``None`` for frames."""
    if {*words} & {*_FRAMES}:
        return None
    return next((_SCALES[word] for word in words if word in _SCALES), 1.0)


def _with_segment(row: AnnotationRow, used: Sequence[_Time]) -> AnnotationRow:
    """Return a row with its segment in the cells ``start`` and ``end``, in seconds; empty for none."""
    seconds: dict[str, float | None] = {"start": None, "end": None}
    for time in used:
        value = row.seconds(time.name)
        if value is None:
            continue
        seconds[time.role] = value * (time.scale or 1.0)

    last = used[-1].name
    if "duration" in seconds:
        length = seconds.pop("duration") or 0.0
        seconds["end"] = (seconds["start"] or 0.0) + length

    start, end = seconds["start"], seconds["end"]
    if end is not None and end <= (start or 0.0):
        fault = f"ends at {end:g} s, not after its start at {start or 0:g} s; correct one of them"
        raise row.error(last, fault)

    texts = {name: "" if value is None else f"{value:.10g}" for name, value in (("start", start), ("end", end))}
    return AnnotationRow(row.where, {**row.cells, **texts})


def unused_words(rows: Sequence[AnnotationRow], names: Sequence[str], flags: Mapping[str, str]) -> str:
    """Name the columns that are not used, with what they may be by their names or cells; empty if there are none.

    Args:
        rows: the rows.
        names: the columns.
        flags: what uses a column that looks like a ``split`` or a ``group``, to be named beside it.
    """
    groups = group_columns(names)
    lines: list[str] = []
    for name in names:
        values = {row.cells.get(name, "") for row in rows} - {""}
        line = name
        if "group" in flags and (name in groups or FEW_SHARED <= len(values) <= len(rows) // 2):
            line = f"{name} ({plural(len(values), 'value')}; if they say what was recorded together: {flags['group']})"
        if "split" in flags and (_names_split(name) or _holds_splits(name, rows) or _is_flag(name, rows)):
            line = f"{name} ({shortened(sorted(values))}; if they are the splits: {flags['split']})"
        lines.append(line)

    times = [name for name in names if all(re.fullmatch(r"\d+(?:\.\d*)?", row.cells.get(name, "")) for row in rows)]
    for first, second in pairwise(times):
        if all(float(row.cells[first]) < float(row.cells[second]) for row in rows):
            lines.append(f"if {first} and {second} are the seconds of a segment, name them start and end")
    return ", ".join(lines)
