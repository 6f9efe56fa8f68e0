"""A guess of recordings by the names of files, which further files of the same form do not change."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

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
