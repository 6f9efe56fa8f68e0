"""Test that a guess of recordings from file names does not change when more files of the same form are added.

The forms are those of public data sets, after their own documentation; persons, repetitions and classes are crossed.
"""

from itertools import pairwise, product

import pytest

from lit_video.own_videos.finding import OwnVideo
from lit_video.own_videos.groups import find_groups, recording_parts

CLASSES = ["boxing", "walk", "waving", "running", "jack", "skip", "bend", "side", "jump", "hug", "sit", "stand"]
NAMES = ["daria", "denis", "eli", "ido", "ira", "lena", "lyova", "moshe", "shahar", "anya"]
FILMS = [
    "April_09",
    "Veoh_Alpha_Dog_1",
    "50_FIRST_DATES",
    "AmericanGangster",
    "Rocky_Balboa",
    "KUNG_FU",
    "jonhs_netfreemovies_holygrail",
]
FILMS += ["TheBoondockSaints", "Return_of_the_King_3", "GoldenGate"]
SENTENCES = ["IEO", "TIE", "IOM", "IWW", "TAI"]
EMOTIONS = ["ANG", "DIS", "FEA", "HAP", "NEU", "SAD", "SUR", "CAL", "BOR", "EXC", "AWE", "TIR"]

# (person or recording, class, repetition) -> name, each with the place of its description
FORMS = {
    "UTD-MHAD": lambda p, c, r: f"a{c + 1}_s{p + 1}_t{r + 1}_color",  # action, subject, trial
    "MSR Daily Activity 3D": lambda p, c, r: f"a{c + 1:02d}_s{p + 1:02d}_e{r + 1:02d}_rgb",
    "Northwestern-UCLA": lambda p, c, r: f"a{c + 1:02d}_s{p + 1:02d}_e{r:02d}_v01",
    "KTH": lambda p, c, r: f"person{p + 1:02d}_{CLASSES[c]}_d{r + 1}_uncomp",
    "UCF101, UCF50": lambda p, c, r: f"v_{CLASSES[c]}_g{p + 1:02d}_c{r + 1:02d}",
    "UCF11": lambda p, c, r: f"v_{CLASSES[c]}_{p + 1:02d}_{r + 1:02d}",
    "Weizmann": lambda p, c, r: f"{NAMES[p]}_{CLASSES[c]}{r + 1}",
    "NTU RGB+D": lambda p, c, r: f"S001C001P{p + 1:03d}R{r + 1:03d}A{c + 1:03d}_rgb",
    "EPIC-KITCHENS": lambda p, c, r: f"P{p + 1:02d}_{10 * c + r + 1:02d}",  # participant, video
    "Breakfast": lambda p, c, r: f"P{p + 3:02d}_cam{r + 1:02d}_P{p + 3:02d}_{CLASSES[c]}",
    "Toyota Smarthome": lambda p, c, r: f"{CLASSES[c]}_p{p + 2:02d}_r{r:02d}_v02_c03",
    "CREMA-D": lambda p, c, r: f"{1001 + p}_{SENTENCES[r]}_{EMOTIONS[c]}_XX",
    "RAVDESS": lambda p, c, r: f"01-01-{c + 1:02d}-01-01-{r + 1:02d}-{p + 1:02d}",
    "SAVEE": lambda p, c, r: f"{NAMES[p][:2].upper()}_{'adfhnsubcegi'[c]}{r + 1:02d}",
    "UAV-Human": lambda p, c, r: f"P{p:03d}S00G10B10H10UC022000LC021000A{c:03d}R{r}_0824{1716 + 40 * p + 7 * c + r}",
    "HMDB51": lambda p, c, r: f"{FILMS[p]}_{CLASSES[c]}_f_cm_np1_ba_med_{r}",
    "AVLetters": lambda p, c, r: f"{'ABCDEFGHIJKL'[c]}{r + 1}_{NAMES[p]}-lips",
    "person last": lambda p, c, r: f"{CLASSES[c]}-{r + 1:03d}-{NAMES[p]}",
    "phone by person": lambda p, c, r: f"subject {p + 1} - {CLASSES[c]} ({r + 1})",
}
LABELS = {"AVLetters": "ABCDEFGHIJKL", "CREMA-D": EMOTIONS}
SIZES = [
    (3, 1, 2),
    (3, 2, 2),
    (3, 3, 2),
    (4, 3, 3),
    (8, 3, 3),
    (8, 3, 12),
    (10, 5, 12),
]  # persons, repetitions, classes


def videos_of(form, persons, repetitions, classes):
    """Return the videos of all combinations, and the person of each."""
    labels = LABELS.get(form, CLASSES)
    videos, persons_of = [], []
    for person, label, repetition in product(range(persons), range(classes), range(repetitions)):
        videos.append(OwnVideo(f"{labels[label]}/{FORMS[form](person, label, repetition)}.mp4", labels[label]))
        persons_of.append(person)
    return videos, persons_of


def together(videos):
    """Return the sets of videos that are kept together, by path."""
    names = find_groups(videos).names or [video.path for video in videos]
    parts = {name: frozenset(v.path for v, other in zip(videos, names, strict=True) if other == name) for name in names}
    return {frozenset(part) for part in parts.values()}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("form", FORMS)
def test_persons_are_known_whatever_the_number_of_repetitions_and_classes(form, size):
    videos, persons = videos_of(form, *size)
    groups = find_groups(videos)
    assert groups.names is not None
    pairs = {*zip(groups.names, persons, strict=True)}
    assert len(pairs) == len({*groups.names}) == len({*persons})


@pytest.mark.parametrize("form", FORMS)
def test_more_files_of_the_same_form_do_not_change_a_guess(form):
    for few, more in pairwise(SIZES):
        some, _ = videos_of(form, *few)
        paths = {video.path for video in some}
        restricted = {part & paths for part in together(videos_of(form, *more)[0])} - {frozenset()}
        assert (restricted == together(some)) is True, (few, more)


@pytest.mark.parametrize(
    "name",
    [
        lambda label, i: f"{label}_{i:03d}",
        lambda label, i: f"{label}{i}",
        lambda label, i: f"clip {i}",
        lambda label, i: f"{label} ({i})",
        lambda label, i: f"VID_20240101_{i:04d}",
        lambda label, i: f"{i:06d}",
    ],
)
@pytest.mark.parametrize("count", [3, 9, 40])
def test_counters_and_labels_alone_tell_nothing(name, count):
    stems = [name(label, i) for label in CLASSES[:3] for i in range(count)]
    labels = [label for label in CLASSES[:3] for _ in range(count)]
    assert not any(recording_parts(stems, labels).names)
