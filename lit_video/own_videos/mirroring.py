"""Whether training may mirror clips: only where every class is known to be the same from the other side."""

import re
from collections.abc import Collection, Sequence
from itertools import combinations
from typing import NamedTuple

from lit_video.utils.columns import words_of

FLAG = "--mirror"
# words of actions, postures and things that have no side; in and out, open and close, push and pull may have one where
# the camera stands still, so they are not among them
WITHOUT_SIDE = {
    "a", "an", "and", "the", "with", "while", "no", "not", "none", "other", "nothing", "else", "background", "normal",
    "idle", "still", "empty", "person", "people", "man", "woman", "child", "baby", "hand", "hands", "arm", "arms",
    "leg", "legs", "head", "face", "mouth", "teeth", "hair", "eye", "eyes", "foot", "feet", "body", "knee", "walk",
    "run", "jog", "sprint", "stand", "sit", "lie", "lay", "fall", "stumble", "trip", "slip", "jump", "hop", "leap",
    "squat", "kneel", "crouch", "bend", "crawl", "climb", "dance", "sleep", "rest", "wake", "eat", "drink", "chew",
    "bite", "cough", "sneeze", "yawn", "laugh", "smile", "frown", "cry", "speak", "talk", "sing", "shout", "whisper",
    "read", "write", "draw", "paint", "type", "clap", "applaud", "wave", "nod", "bow", "hug", "kiss", "shake",
    "greet", "pray", "think", "cook", "bake", "chop", "cut", "peel", "stir", "pour", "wash", "rinse", "dry", "brush",
    "clean", "sweep", "mop", "vacuum", "iron", "fold", "sew", "knit", "cycle", "bike", "bicycle", "ride", "swim",
    "dive", "row", "ski", "skate", "surf", "box", "boxing", "kick", "punch", "fight", "wrestle", "throw", "catch",
    "dribble", "shoot", "bowl", "bat", "golf", "tennis", "football", "soccer", "basketball", "volleyball", "baseball",
    "lift", "carry", "hold", "drop", "pick", "stretch", "yoga", "pushup", "situp", "pullup", "plank", "burpee",
    "lunge", "skip", "exercise", "workout", "smoke", "shave", "comb", "dress", "undress", "phone", "call", "text",
    "tickle", "scratch", "massage", "juggle", "fish", "hike", "camp", "garden", "dig", "plant", "water", "feed",
    "pet", "blink", "upright", "up", "down", "standup", "sitdown", "liedown", "laydown", "getup", "lying", "happy",
    "sad", "angry", "fear", "disgust", "surprise", "neutral", "calm", "ball", "dog", "cat", "horse", "bed", "chair",
    "sofa", "table", "floor", "food", "bread", "apple", "book", "paper", "cup", "bottle", "glass", "computer",
    "laptop", "keyboard", "guitar", "piano", "drum", "violin", "flute",
}  # fmt: skip


class Mirroring(NamedTuple):
    """Whether half of the training clips are mirrored, and why."""

    is_on: bool
    reason: str


def mirroring(classes: Sequence[str], asked: bool | None = None) -> Mirroring:
    """Decide whether training mirrors half of the clips, by the names of the classes, and say why.

    No list of words finds all names of sides (L and R, cw and ccw, east and west, letters drawn in the air, any other
    language), and a mirrored clip of one class with the label of another makes both unlearnable. So clips are mirrored
    only if every word of every name is known to have no side, and no two names differ in one word.

    Args:
        classes: names of the classes.
        asked: whether to mirror, where the user decides.
    """
    if asked is not None:
        return Mirroring(asked, f"half of the clips, as {FLAG} asks" if asked else "none, as --no-mirror asks")

    fault = next(filter(None, map(_unknown, classes)), "") or _nearly_equal(classes)
    if fault:
        advice = f"if all classes stay what they are in a mirror, {FLAG}"
        return Mirroring(False, f"none, because {fault}; {advice}")
    return Mirroring(
        True, "half of the clips, as every class is the same from the other side by its name; else --no-mirror"
    )


def _unknown(name: str) -> str:
    """Say why a class is not known to be the same in a mirror; empty if it is."""
    words = words_of(name)
    if not name.isascii():
        return f"{name!r} is in no English letters, so it may name a side"
    if not words or any(word.isdecimal() for word in words):
        return f"{name!r} is a number or has one, so it may name a side or a sign"
    if any(len(word) == 1 and word != "a" for word in words) or words == ["a"]:
        return f"{name!r} has a single letter, which may name a side or be drawn"
    if re.search(r"[^\w\s\-.,()&'/]", name):
        return f"{name!r} has signs, which may point to a side"
    unknown = next((word for word in words if not _has_no_side(word, WITHOUT_SIDE)), "")
    return f"nothing says that {name!r} has no side" if unknown else ""


def _has_no_side(word: str, words: Collection[str]) -> bool:
    """Return whether a word, or the verb or noun that it is a form of, is among some words."""
    forms = {word}
    for ending in ("s", "es", "ed", "ing", "er"):
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            forms |= {stem, f"{stem}e", re.sub(r"(.)\1$", r"\1", stem)}
    return bool(forms & {*words})


def _nearly_equal(classes: Sequence[str]) -> str:
    """Name two classes that differ in one of several words; empty if there are none."""
    words_of_class = {name: words_of(name) for name in classes}
    for first, second in combinations(classes, 2):
        pairs = [*zip(words_of_class[first], words_of_class[second], strict=False)]
        same_length = len(words_of_class[first]) == len(words_of_class[second]) == len(pairs) > 1
        if same_length and sum(word != other for word, other in pairs) == 1:
            return f"{first!r} and {second!r} differ in one word, which may be a side"
    return ""
