"""Groups of videos that were recorded together: by a table's column, file names, equal content and one file's parts."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from lit_video.errors import UserError
from lit_video.own_videos.finding import OwnVideo, labels_of, rare_labels, splits_of
from lit_video.utils.columns import group_columns, same_names
from lit_video.utils.text import plural

# file names of published data sets, and of cameras that split a recording; the group in parentheses names the recording
FORMS = {
    "UCF101": r"v_.+_(g\d{2})_c\d{2}",
    "KTH": r"(person\d{2})_.+_d\d.*",
    "NTU RGB+D": r"S\d{3}C\d{3}(P\d{3})R\d{3}A\d{3}.*",
    "Kinetics": r"(.{11})_\d{6}_\d{6}",
    "RAVDESS": r"\d{2}(?:-\d{2}){5}-(\d{2})",
    "HMDB51": r"(.+)_LABEL_[hulf]_(?:cm|nm)_np\d_(?:fr|ba|le|ri)_(?:bad|med|goo)_\d+",
    "a GoPro's chapters": r"(?:G[HXPL]\d{2}|GOPR)(\d{4})",
}
RECORDING_GAP = 5 * 60  # seconds between the times in two file names from which on they are of different groups
# a class needs at least 3 videos and 3 groups: for training, validation and test
LEAST = 3
LEAST_OF_FOLDS = 2  # groups of a class that cross-validation needs
UNKNOWN = (
    "Neither a column nor every file name says which videos were recorded together. If some were, accuracy will look "
    "too high and its interval, which counts videos, too narrow: name them in a table's column and give --group COLUMN."
)
_DATE = r"(?<!\d)(20\d\d)[-_.]?([01]\d)[-_.]?([0-3]\d)"
_CLOCK = r"([0-2]\d|(?<!\d)\d(?=[-_.:h]))[-_.:h]?([0-5]\d)[-_.:m]?([0-5]\d)(?:[-_.\s]?([ap])\.?m\b)?"
TIME = re.compile(_DATE + r"(?:[-_. T,]| at )*" + _CLOCK, re.I)
# words before a number that name a person, then words that name a group or a recording; a letter says less than a word
WORDS_OF_PERSONS = [
    "person", "persons", "subject", "subjects", "subj", "sub", "participant", "actor", "speaker", "signer",
    "performer", "user", "patient", "player", "child", "individual", "volunteer", "id", "pid",
]  # fmt: skip
LETTERS = ["p", "s"]
WORDS_OF_RECORDINGS = ["g", "group", "rec", "session", "sess", "scene", "day", "film", "source"]
_BEFORE_A_BLANK = {*WORDS_OF_PERSONS, "group", "session", "scene", "day"}  # words whose number may stand apart
# words that phones, cameras and messengers put before a counter or a date
CAMERA = re.compile(
    r"(?:img|e|vid|pxl|mvi|mov|mah|dsc[nf]?|gopr|g[hpxs]?|dji|sam|p|c|v|wa|whatsapp|signal|telegram|video|movie|clip|file"
    r"|screen|recording|record|capture|rec|untitled|trim|copy|edit|at|lv|tl|hdr|final|part)?\d*",
    re.I,
)
_CODES = re.compile(r"(?:[A-Za-z]{1,3}\d+){2,}")  # parts written as one, such as S001C002P003
_CODE = re.compile(r"([A-Za-z]*)(\d+)")
_DIGITS = 4  # most digits of a person's or a recording's number; cameras have longer ones
_LONGEST_CODE = 3  # letters before a number that are no name: cam is a word, a03 is a code


class Groups(NamedTuple):
    """Groups of videos that were recorded together, with an explanation for the user.

    A known group may be too large to be kept in one split. Its videos are then divided, but still are one draw.
    """

    names: Sequence[str] | None  # group of each video, to be kept in one split; None to divide videos one by one
    reason: str
    draws: Sequence[str] | None = None  # draw of each video, for intervals; None if unknown, or if each video is one
    if_mixed: str = ""  # explanation if the splits that the user gave have groups in both training and test


def find_groups(videos: Sequence[OwnVideo], column: str | None = None, least: int = LEAST) -> Groups:
    """Group the videos that were recorded together, by a column of their table or by their file names.

    Args:
        videos: the user's videos.
        column: a column of their table; ``none`` for no groups; ``None`` for the first sign of groups, a column or a
            part of the file names, by which every class has at least ``least`` groups.
        least: number of groups that every class needs.
    """
    if column == "none":
        return Groups(None, "Every video stands for itself (--group none).")
    if column:
        return _groups_of_column(videos, column, least)

    warning = ""
    too_large: Sequence[str] | None = None  # most certain groups that cannot be kept together
    for sign in _signs(videos):
        if not all(sign.names):
            continue
        poor_class = _class_with_few_groups(videos, sign.names, least)
        if poor_class is None and (len(set(sign.names)) < len(videos) or sign.is_last):
            return _whole(sign, warning)
        if poor_class is not None and sign.is_likely and not warning:
            warning = _not_together(f"class {poor_class!r} has fewer than {least} groups {sign.how}")
            if len(set(sign.names)) > 1:
                too_large = sign.names
        if sign.is_last:
            break
    if warning:
        return Groups(None, warning, too_large)
    return Groups(None, UNKNOWN)


def _groups_of_column(videos: Sequence[OwnVideo], column: str, least: int) -> Groups:
    """Group the videos by a column that the user names; refuse one that is missing or too coarse."""
    name = next((name for name in videos[0].columns if name.casefold() == column.casefold()), column)
    sign = GroupSign(_cells(videos, name), f"by the column {name}")
    if not all(sign.names):
        columns = ", ".join(videos[0].columns) or "there is no table"
        raise UserError(f"--group {column}: no such column, or an empty cell in it; columns: {columns}")

    poor_class = _class_with_few_groups(videos, sign.names, least)
    if poor_class is not None:
        raise UserError(f"--group {column}: class {poor_class!r} has fewer than {least} groups, too few for a test")
    return _whole(sign)


def _class_with_few_groups(videos: Sequence[OwnVideo], names: Sequence[str], least: int) -> str | None:
    """Return the first class, by name, with fewer groups than ``least``."""
    pairs = {*zip(labels_of(videos), names, strict=True)}
    rare = rare_labels((label for label, _ in pairs), least)
    return next(iter(rare), None)


def _whole(sign: "GroupSign", warning: str = "") -> Groups:
    """Return groups that are kept in one split each; a ``warning`` about a more certain sign comes first."""
    mixed = UNKNOWN
    if sign.is_likely:
        mixed = _not_together(f"the given splits have groups in both training and test, {sign.how}")

    together = f"{sign.how}: {len(set(sign.names))} groups ({min(sign.names)!r}, ...)."
    reason = f"Videos recorded together stay together, {together}"
    if sign.is_guess:
        advice = "If that is wrong, name the recordings in a table's column and give --group COLUMN."
        reason = f"Videos are kept together, {together} {advice}"
    return Groups(sign.names, f"{warning}{reason}", sign.names, f"{warning}{mixed}")


def _not_together(fault: str) -> str:
    """Warn that recordings are divided, and why."""
    warning = f"Videos recorded together are not kept together: {fault}. "
    return warning + "So the model is tested on recordings that it knows, and its accuracy will look too high. "


def refuse_equal_files(videos: Sequence[OwnVideo], contents: Sequence[str]) -> None:
    """Refuse equal files in two classes, or in two splits that the user gave.

    Args:
        videos: the videos.
        contents: for each video that has copies, a name that they share; for others an empty text.
    """
    first_of: dict[str, OwnVideo] = {}
    in_two_classes: list[str] = []
    in_two_splits: list[str] = []
    for video, content in zip(videos, contents, strict=True):
        if not content:
            continue
        first = first_of.setdefault(content, video)
        if first.label != video.label:
            in_two_classes.append(f"{video.path} is {first.path}")
        elif first.split != video.split:
            in_two_splits.append(f"{video.path} is {first.path}")

    if in_two_classes:
        count = f"{plural(len(in_two_classes), 'file')} in two classes, by content ({in_two_classes[0]})"
        raise UserError(f"{count}; keep each in the class that it shows")
    if in_two_splits:
        count = f"{plural(len(in_two_splits), 'file')} in two splits, by content ({in_two_splits[0]})"
        raise UserError(f"{count}; the test would be of videos that were learned: keep each in one split")


def with_copies(groups: Groups, contents: Sequence[str]) -> Groups:
    """Join the groups of equal files, so that no copy of a training video is tested; add their number to the reason.

    Equal files are one draw, too. ``contents``: see :func:`refuse_equal_files`.
    """
    copies = sum(map(bool, contents)) - len(set(filter(None, contents)))
    if not copies:
        return groups
    names = _joined_by_content(groups.names, contents)
    draws = names if groups.draws is None else _joined_by_content(groups.draws, contents)
    line = f" {plural(copies, 'video')} with the bytes of another stay with it."
    return groups._replace(names=names, reason=groups.reason + line, draws=draws)


def with_segments(groups: Groups, videos: Sequence[OwnVideo], least: int) -> Groups:
    """Join the groups of segments of one video, which were recorded together, if every class then has enough groups."""
    number_of = Counter(video.path for video in videos)
    files = [video.path if number_of[video.path] > 1 else "" for video in videos]
    if not any(files):
        return groups

    names = _joined_by_content(groups.names, files)
    draws = names if groups.draws is None else _joined_by_content(groups.draws, files)
    poor_class = _class_with_few_groups(videos, names, least)
    if poor_class is None:
        return groups._replace(names=names, reason=f"{groups.reason} Segments of one video stay together.", draws=draws)
    warning = _not_together(f"class {poor_class!r} has segments of fewer than {least} videos")
    return groups._replace(reason=f"{warning}{groups.reason}", draws=draws)


def refuse_segments_of_learned_videos(videos: Sequence[OwnVideo]) -> None:
    """Refuse given splits of which one tests segments of videos that train too, next to those that were learned."""
    trained = {video.path for video in videos if video.split == "train"}
    tested = [video for video in videos if video.split in ("val", "test") and video.path in trained]
    if tested:
        count = f"{plural(len(tested), 'segment')} of {tested[0].split} are parts of videos that train too"
        advice = "keep each video in one split, or ask for it by --group none"
        raise UserError(f"{count} ({tested[0].name}): the test would be of recordings that were learned; {advice}")


def explanation(groups: Groups, videos: Sequence[OwnVideo]) -> str:
    """Return the reason of groups after the videos were divided: given splits may mix what is to be kept together."""
    if groups.names is None:
        return groups.reason

    pairs = {*zip(groups.names, splits_of(videos), strict=True)}
    is_mixed = any((name, "train") in pairs and (name, "test") in pairs for name in groups.names)
    return groups.if_mixed if is_mixed else groups.reason


def _joined_by_content(names: Sequence[str] | None, contents: Sequence[str]) -> list[str]:
    """Return the group of each video after groups with equal files are joined; ``None`` stands for single videos."""
    if names is None:
        names = [f"video {number}" for number in range(len(contents))]

    joined: dict[str, str] = {}  # name of a group -> name of the group that it is joined to
    group_of: dict[str, str] = {}  # content -> name of the first group with it
    for name, content in zip(names, contents, strict=True):
        if not content:
            continue
        group = _joined(joined, name)
        group_of_copy = _joined(joined, group_of.setdefault(content, name))
        if group != group_of_copy:
            joined[group] = group_of_copy
    return [_joined(joined, name) for name in names]


def _joined(joined: Mapping[str, str], name: str) -> str:
    """Return the name of the group that a group is part of after all joins."""
    while name in joined:
        name = joined[name]
    return name


class GroupSign(NamedTuple):
    """Sign by which videos were recorded together: the group of each (empty if unknown), and how sure this is."""

    names: Sequence[str]
    how: str
    is_guess: bool = False
    is_likely: bool = True  # sure enough for a warning if the groups are too few to be kept together
    is_last: bool = False  # names of this form tell nothing else, whatever the number of groups


def _signs(videos: Sequence[OwnVideo]) -> Iterator[GroupSign]:
    """Yield signs of videos that were recorded together, most certain first."""
    for column in group_columns(videos[0].columns):
        yield GroupSign(_cells(videos, column), f"by the column {column}")

    labels = labels_of(videos)
    stems = [video.path.rpartition("/")[2].rpartition(".")[0] for video in videos]
    if len({*stems}) == len(stems):  # equal names mean that numbers begin again in every folder
        for form, pattern in FORMS.items():
            names: list[str] = []
            for stem, label in zip(stems, labels, strict=True):
                match = re.fullmatch(pattern.replace("LABEL", re.escape(label.replace(" ", "_"))), stem)
                names.append(match[1] if match else "")
            if all(names):
                yield GroupSign(names, f"by the form of their file names ({form})", is_last=True)

    times = f"a guess by the times in their file names (less than {RECORDING_GAP // 60} minutes apart)"
    of_times = GroupSign(_by_time(stems), times, is_guess=True)
    parts = recording_parts(stems, labels)
    if not parts.by_word:
        yield of_times
    part = f"a guess by a part of their file names such as {min(parts.names, default='')}"
    yield GroupSign(parts.names, part, is_guess=True, is_likely=False, is_last=True)


def _cells(videos: Sequence[OwnVideo], column: str) -> list[str]:
    """Return each video's cell in a column; empty without one."""
    return same_names([video.columns.get(column, "") for video in videos])


def _by_time(stems: Sequence[str]) -> list[str]:
    """Return the time at which each video's series of recordings began, from file names; empty without a time."""
    times = [_time(stem) for stem in stems]
    first = datetime.min
    last = datetime.min
    names: dict[datetime | None, str] = {None: ""}
    for time in sorted({time for time in times if time is not None}):
        if (time - last).total_seconds() >= RECORDING_GAP:
            first = time
        names[time] = str(first)
        last = time
    return [names[time] for time in times]


def _time(stem: str) -> datetime | None:
    """Return the time in a file's name; ``None`` without one, or with an impossible one such as month 13."""
    match = TIME.search(stem)
    if not match:
        return None

    *numbers, half_of_day = match.groups()
    year, month, day, hour, minute, second = (int(number) for number in numbers)
    try:
        time = datetime(year, month, day, hour=hour, minute=minute, second=second)
    except ValueError:
        return None
    if half_of_day:
        time = time.replace(hour=time.hour % 12 + 12 * (half_of_day in "pP"))
    return time


class RecordingParts(NamedTuple):
    """The part of each file's name that may name its recording (empty texts if none does), and how it is known."""

    names: Sequence[str]
    by_word: bool  # by a word before a number, such as person01; else by the start of the name


def recording_parts(stems: Sequence[str], labels: Sequence[str]) -> RecordingParts:
    """Return the part of each file's name that may name its person or recording.

    Parts that say nothing of recordings are set aside first: date and time, functions of the label, the word that ends
    all names, and the last number, which counts repetitions. A number behind the word of a person names the person.
    Otherwise the first part that is no code (``a03``) names the recording, or the code whose letter says most. No files
    are counted, so more files of the same form change nothing.
    """
    parts = [_without_label(_parts(stem), label) for stem, label in zip(stems, labels, strict=True)]
    persons = _numbered_by(parts, WORDS_OF_PERSONS)
    if persons:
        return RecordingParts(persons, by_word=True)

    if all(parts) and len({words[-1] for words in parts}) == 1 and not parts[0][-1][-1].isdecimal():
        parts = [words[:-1] for words in parts]  # the word that ends all names, such as rgb

    def tells_label(values: Sequence[str]) -> bool:  # each label has one value
        return len({*values}) > 1 and len({*zip(labels, values, strict=True)}) == len({*labels})

    parts = _without_places(parts, tells_label)
    without_counter = [words[:-1] if words and _CODE.fullmatch(words[-1]) else words for words in parts]
    rests = _without_places(without_counter, lambda values: len({*values}) == 1)
    if any(_is_name(word) for words in rests for word in words):
        return RecordingParts(_starts(_without_places(rests, _counts)), by_word=False)
    for words in (LETTERS, WORDS_OF_RECORDINGS):  # codes alone
        names = _numbered_by(rests, words) or _numbered_by(parts, words)
        if names:
            return RecordingParts(names, by_word=True)
    return RecordingParts(_starts(rests), by_word=False)


def _parts(stem: str) -> list[str]:
    """Return the parts of a name between marks, codes that are written as one apart; without date and time."""
    parts: list[str] = []
    for word in re.split(r"[_\-. ()\[\],+]+", re.sub(_DATE, " ", TIME.sub(" ", stem))):
        if _CODES.fullmatch(word):
            parts += re.findall(r"[A-Za-z]+\d+", word)
        elif parts and word.isdecimal() and parts[-1].lower() in _BEFORE_A_BLANK and len(word) <= _DIGITS:
            parts[-1] += word  # the number of a person or a recording: ``person 1`` is ``person1``
        elif word:
            parts.append(word)
    return parts


def _without_label(parts: Sequence[str], label: str) -> list[str]:
    """Return the parts without those that spell the label, and without a number behind it, which counts: ``walk2``."""
    spelled = _letters(label)
    for first in range(len(parts)):
        for last in range(first + 1, len(parts) + 1):
            if spelled and _letters("".join(parts[first:last])) == spelled:
                return [*parts[:first], *parts[last:]]
        glued = re.fullmatch(r"(.*?)[_\W]*(\d+)", parts[first])
        if glued and spelled and _letters(glued[1]) == spelled:
            return [*parts[:first], *parts[first + 1 :]]
    return [*parts]


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


def _without_places(parts: Sequence[Sequence[str]], is_left_out: Callable[[Sequence[str]], bool]) -> list[list[str]]:
    """Return the parts without the places whose values, one of each name, are to be left out."""
    if len({len(words) for words in parts}) != 1:
        return [[*words] for words in parts]
    kept = [place for place, values in enumerate(zip(*parts, strict=True)) if not is_left_out(values)]
    return [[words[place] for place in kept] for words in parts]


def _counts(values: Sequence[str]) -> bool:
    """Return whether parts count, from 0 or 1: beside names they are no persons."""
    return all(value.isdecimal() for value in values) and min(map(int, values)) <= 1


def _numbered_by(parts: Sequence[Sequence[str]], words_before: Sequence[str]) -> list[str]:
    """Return each name's first code of a word and a number, of the first word that all names have; else nothing."""
    for word_of_code in words_before:
        names: list[str] = []
        for words in parts:
            matches = [_CODE.fullmatch(word) for word in words]
            fitting = [match for match in matches if match and match[1].lower() == word_of_code]
            codes = [match[0].lower() for match in fitting if len(match[2]) <= _DIGITS]
            names.append(codes[0] if codes else "")
        if all(names):
            return names
    return []


def _is_name(word: str) -> bool:
    """Return whether a part is more than a number, a code or a word of a camera."""
    match = _CODE.fullmatch(word)
    if match:
        return len(match[1]) > _LONGEST_CODE and match[1].lower() not in (*WORDS_OF_RECORDINGS, *WORDS_OF_PERSONS)
    return not CAMERA.fullmatch(word)


def _starts(parts: Sequence[Sequence[str]]) -> list[str]:
    """Return the start of each name: its first part, or all parts if names have different numbers of them.

    Empty texts if any name is left without a part of its own, or has words of cameras alone.
    """
    if len({len(words) for words in parts}) == 1:
        starts = [words[0] if words else "" for words in parts]  # constants are left out
    else:
        starts = ["_".join(words) for words in parts]
    for start in starts:
        if not start or (all(CAMERA.fullmatch(word) for word in start.split("_")) and not start[:1].isdigit()):
            return [""] * len(parts)
    return starts
