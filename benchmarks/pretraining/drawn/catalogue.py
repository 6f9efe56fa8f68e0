"""All classes of motion and of camera motion, most of them in pairs with their time reversal."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from benchmarks.pretraining.drawn.paths import Motion, Track

Motions = Iterator[Motion]

SHAPE = ("shape",)
PERSON = ("person",)
CHAIN = ("chain",)
PAIR = ("pair",)
ANYONE = ("shape", "person", "chain")
NOT_UPRIGHT = ("shape", "chain")  # a person stays upright

# share of a cycle in which a swing rises, with its name
DUTIES = {"": 0.5, "quickly there, slowly back": 0.3}
BACKWARDS = "slowly there, quickly back"

SWING = (0.9, 1.4)  # cycles of a swing in a video
EVENT = (0.7, 0.95)  # cycles of a swing in half a video
DIRECTIONS = {"right": (1, 0), "down": (0, 1), "right and down": (1, 1), "right and up": (1, -1)}
OPPOSITE = {"right": "left", "down": "up", "right and down": "left and up", "right and up": "left and down"}
TURNS = {1: "clockwise", -1: "counterclockwise"}
SIZE_CHANGES = {1: "growing", -1: "shrinking"}


def pair(
    forward: str, backward: str, tracks: Sequence[Track], *, kinds: Sequence[str], travels: bool = False
) -> Motions:
    """Yield a motion and its time reversal."""
    motion = Motion(forward, tuple(tracks), backward, kinds=tuple(kinds), travels=travels)
    yield motion
    yield replace(motion, name=backward, reverse=forward, backwards=True)


def single(name: str, tracks: Sequence[Track], kinds: Sequence[str]) -> Motions:
    """Yield a motion that looks the same when it is played backwards."""
    yield Motion(name, tuple(tracks), name, kinds=tuple(kinds))


def travelling() -> Motions:
    """Yield motions across the picture: in eight directions, also while turning or changing size, and walking."""
    for name, towards in DIRECTIONS.items():
        back = OPPOSITE[name]
        tracks = _towards(*towards)
        yield from pair(f"moves {name}", f"moves {back}", tracks, kinds=ANYONE, travels=True)
        for sign, turn in TURNS.items():
            other = TURNS[-sign]
            rolling = [*tracks, Track("turn", cycles=(0.3, 0.7), sign=sign)]
            yield from pair(
                f"moves {name}, turning {turn}",
                f"moves {back}, turning {other}",
                rolling,
                kinds=NOT_UPRIGHT,
                travels=True,
            )

        for sign, size in SIZE_CHANGES.items():
            other = SIZE_CHANGES[-sign]
            nearing = [*tracks, Track("scale", sign=sign)]
            yield from pair(f"moves {name}, {size}", f"moves {back}, {other}", nearing, kinds=ANYONE, travels=True)

    for name, joints in {"walks": _walk(), "hops": _hop()}.items():
        tracks = [*_towards(1, 0), *joints]
        yield from pair(f"{name} right", f"{name} left", tracks, kinds=PERSON, travels=True)


def turning() -> Motions:
    """Yield motions of even speed about the middle: of angle, size, shape and orbit, and of two of these at once."""
    yield from pair("turns clockwise", "turns counterclockwise", [_spin(1)], kinds=NOT_UPRIGHT)
    yield from pair("grows", "shrinks", [Track("scale")], kinds=ANYONE)
    yield from pair("becomes long", "becomes tall", [Track("squash")], kinds=SHAPE)
    yield from pair("bends up", "bends down", [Track("bend")], kinds=SHAPE)
    yield from pair("ripples right", "ripples left", [_ripple()], kinds=SHAPE)
    yield from pair("orbits clockwise", "orbits counterclockwise", [_orbit()], kinds=ANYONE)

    for sign, turn in TURNS.items():
        other = TURNS[-sign]
        spin = _spin(sign)
        growing = [spin, Track("scale")]
        yield from pair(f"turns {turn}, growing", f"turns {other}, shrinking", growing, kinds=NOT_UPRIGHT)
        lengthening = [spin, Track("squash")]
        yield from pair(f"turns {turn}, becoming long", f"turns {other}, becoming tall", lengthening, kinds=SHAPE)
        yield from pair(
            f"orbits clockwise, turning {turn}",
            f"orbits counterclockwise, turning {other}",
            [_orbit(), spin],
            kinds=NOT_UPRIGHT,
        )

    for sign, size in SIZE_CHANGES.items():
        other = SIZE_CHANGES[-sign]
        tracks = [_orbit(), Track("scale", sign=sign)]
        yield from pair(f"orbits clockwise, {size}", f"orbits counterclockwise, {other}", tracks, kinds=ANYONE)


# coordinates that swing, by the name of the motion, and who can do it
SWINGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "sways across": ("sway_x", ANYONE),
    "bobs": ("sway_y", ANYONE),
    "rocks": ("rock", ANYONE),
    "pulses": ("scale", ANYONE),
    "stretches": ("squash", SHAPE),
    "flexes": ("bend", SHAPE),
}


def swinging() -> Motions:
    """Yield motions that swing: one coordinate, two at once on a path, and one after the other."""
    for name, (coordinate, kinds) in SWINGS.items():
        yield from _swings(name, [Track(coordinate, "swing", SWING)], kinds)
    for name, offset in {"sways down to the right": 0.0, "sways up to the right": 0.5}.items():
        across = Track("sway_x", "swing", SWING, group=1)
        yield from _swings(name, [across, replace(across, coordinate="sway_y", offset=offset)], ANYONE)

    across = Track("sway_x", "swing", SWING, group=1)
    down = replace(across, coordinate="sway_y")
    yield from pair(
        "diamond clockwise", "diamond counterclockwise", [across, replace(down, offset=-0.25)], kinds=ANYONE
    )
    yield from pair("eight", "eight backwards", [across, replace(down, multiple=2, offset=0.25)], kinds=ANYONE)
    wide = replace(across, multiple=2, offset=0.25)
    yield from pair("upright eight", "upright eight backwards", [wide, down], kinds=ANYONE)

    for (name, (coordinate, kinds)), (other, (second, others)) in combinations(SWINGS.items(), 2):
        both = tuple(kind for kind in kinds if kind in others)
        yield from _order(name, other, tracks=[Track(coordinate)], others=[Track(second)], kinds=both)


# joints of a limb, with the phase of each; if the elbow is a quarter of a cycle late, the hand moves in a circle
LIMBS: dict[str, dict[str, float]] = {
    "left arm": {"left_shoulder": 0.0, "left_elbow": 0.0},
    "right arm": {"right_shoulder": 0.0, "right_elbow": 0.0},
    "left leg": {"left_hip": 0.0, "left_knee": 0.0},
    "right leg": {"right_hip": 0.0, "right_knee": 0.0},
    "head": {"neck": 0.0},
}
GESTURES: dict[str, dict[str, float]] = {
    **{f"swings the {name}": joints for name, joints in LIMBS.items()},
    "lifts both arms": LIMBS["left arm"] | LIMBS["right arm"],
    "lifts the arms in turn": LIMBS["left arm"] | {"right_shoulder": 0.5, "right_elbow": 0.5},
    "bends both elbows": {"left_elbow": 0.0, "right_elbow": 0.0},
    "squats": LIMBS["left leg"] | LIMBS["right leg"],
    "jumping jack": LIMBS["left arm"] | LIMBS["right arm"] | {"left_hip": 0.0, "right_hip": 0.0},
    "walks in place": {
        **{"left_hip": 0.0, "left_knee": 0.0, "right_hip": 0.5, "right_knee": 0.5},
        **{"left_shoulder": 0.5, "right_shoulder": 0.0},
    },
    "left arm and right leg": LIMBS["left arm"] | LIMBS["right leg"],
}


def gestures() -> Motions:
    """Yield motions of a person's limbs: swings, circles of a hand, and one limb after the other."""
    for name, joints in GESTURES.items():
        yield from _swings(name, _joints(joints), PERSON)
    for side in ("left", "right"):
        tracks = _joints({f"{side}_shoulder": 0.0, f"{side}_elbow": 0.25})
        yield from pair(f"circles the {side} hand", f"circles the {side} hand backwards", tracks, kinds=PERSON)
    for (name, joints), (other, second) in combinations(LIMBS.items(), 2):
        others = _joints(second, group=2)
        yield from _order(name, other, tracks=_joints(joints), others=others, kinds=PERSON)


def chains() -> Motions:
    """Yield motions of a chain: waves along it, all links at once, front and tail in turn."""
    links = [f"link{number}" for number in range(1, 7)]
    for waves in (1, 2):
        tracks = _joints({link: waves * number / 6 for number, link in enumerate(links)})
        name = "one wave" if waves == 1 else "two waves"
        yield from pair(f"{name} to the head", f"{name} to the tail", tracks, kinds=CHAIN)
    yield from _swings("whips", _joints(dict.fromkeys(links, 0.0)), CHAIN)
    curl = [Track(link, group=1) for link in links]
    yield from pair("curls", "uncurls", curl, kinds=CHAIN)
    front = _joints(dict.fromkeys(links[:3], 0.0))
    tail = _joints(dict.fromkeys(links[3:], 0.0), group=2)
    yield from _order("front", "tail", tracks=front, others=tail, kinds=CHAIN)


def pairs_of_shapes() -> Motions:
    """Yield motions of two shapes: they part, circle each other, and move one after the other."""
    yield from pair("parting", "meeting", [Track("gap")], kinds=PAIR)
    yield from pair("circling clockwise", "circling counterclockwise", [_spin(1)], kinds=PAIR)
    for sign, turn in TURNS.items():
        tracks = [_spin(sign), Track("gap")]
        yield from pair(f"circling {turn}, parting", f"circling {TURNS[-sign]}, meeting", tracks, kinds=PAIR)

    for name, coordinate in {"pulses": "scale", "rocks": "rock"}.items():
        bright = [Track(f"bright_{coordinate}")]
        dark = [Track(f"dark_{coordinate}")]
        yield from _order(f"bright {name}", f"dark {name}", tracks=bright, others=dark, kinds=PAIR)

        together = [Track(f"{tone}_{coordinate}", "swing", SWING, group=1) for tone in ("bright", "dark")]
        in_turn = [together[0], replace(together[1], offset=0.5)]
        yield from single(f"both {name[:-1]} together", together, PAIR)
        yield from single(f"both {name[:-1]} in turn", in_turn, PAIR)


def cameras() -> Motions:
    """Yield motions of the camera; the scene moves the other way."""
    yield from single("still", [], ())
    for name, (dx, dy) in DIRECTIONS.items():
        tracks: list[Track] = []
        for coordinate, sign in (("pan_x", dx), ("pan_y", dy)):
            if sign:
                tracks.append(Track(coordinate, cycles=(0.25, 0.6), sign=sign))
        yield from pair(f"pans {name}", f"pans {OPPOSITE[name]}", tracks, kinds=())
    yield from pair("zooms in", "zooms out", [Track("zoom", cycles=(0.35, 0.6))], kinds=())
    yield from pair("rolls clockwise", "rolls counterclockwise", [Track("tilt", cycles=(0.35, 0.6))], kinds=())
    shaking = [Track("shake_x", "swing", (1.5, 3)), Track("shake_y", "swing", (1.5, 3))]
    yield from single("shakes", shaking, ())


def _towards(dx: int, dy: int) -> list[Track]:
    """Return the tracks of a motion over the torus in a direction."""
    tracks: list[Track] = []
    for coordinate, sign in (("x", dx), ("y", dy)):
        if sign:
            tracks.append(Track(coordinate, cycles=(0.4, 0.75), sign=sign))
    return tracks


def _spin(sign: int) -> Track:
    return Track("turn", cycles=(0.3, 0.7), sign=sign)


def _orbit() -> Track:
    return Track("orbit", cycles=(0.5, 0.9))


def _ripple() -> Track:
    return Track("ripple", cycles=(0.6, 1.1))


def _walk() -> list[Track]:
    return _joints(GESTURES["walks in place"])


def _hop() -> list[Track]:
    return _joints(GESTURES["squats"])


def _joints(phases: dict[str, float], group: int = 1) -> list[Track]:
    """Return the tracks of joints that swing together, with their phases."""
    return [Track(joint, "swing", SWING, group=group, offset=phase) for joint, phase in phases.items()]


def _swings(name: str, tracks: Sequence[Track], kinds: Sequence[str]) -> Motions:
    """Yield a swing that rises as fast as it falls, one that rises faster, and the reversal of the latter."""
    for manner, duty in DUTIES.items():
        swings = [replace(track, duty=duty) for track in tracks]
        if manner:
            yield from pair(f"{name}, {manner}", f"{name}, {BACKWARDS}", swings, kinds=kinds)
        else:
            yield from single(name, swings, kinds)


def _order(name: str, other: str, *, tracks: Sequence[Track], others: Sequence[Track], kinds: Sequence[str]) -> Motions:
    """Yield two classes: one motion and then another, and the two in the other order."""
    first = [replace(track, wave="swing", cycles=EVENT, part="first") for track in tracks]
    second = [replace(track, wave="swing", cycles=EVENT, part="second") for track in others]
    yield from pair(f"{name}, then {other}", f"{other}, then {name}", [*first, *second], kinds=kinds)


GROUPS = {
    "travel": travelling,
    "turn": turning,
    "swing": swinging,
    "gesture": gestures,
    "chain": chains,
    "pair": pairs_of_shapes,
}
MOTIONS: dict[str, Motion] = {motion.name: motion for motions in GROUPS.values() for motion in motions()}
CAMERAS: dict[str, Motion] = {motion.name: motion for motion in cameras()}
