"""Actors of drawn videos: a shape, a person, a chain of links, a pair of shapes; from a pose to sprites."""

from dataclasses import replace
from typing import Protocol

import numpy as np

from benchmarks.pretraining.drawn.contours import cover, limb
from benchmarks.pretraining.drawn.paths import NUMBER
from benchmarks.pretraining.drawn.sprites import Sprites
from benchmarks.pretraining.drawn.textures import HUES, Pixels, coloured, texture, two_colours
from lit_video.datamodules.drawing import Rng

ACTOR_KINDS = ("shape", "person", "chain", "pair")
# in sides of the picture
TORUS = 1.2  # side of the square that travelling actors leave at one edge to enter at the opposite one
SWAY = 0.3  # range of a sway about the middle
ORBIT = 0.11  # radius of an orbit
ROCK = 0.8  # range of small turns, in radians
ROOM = {"shape": 1.0, "person": 0.6, "chain": 0.8, "pair": 0.8}  # factor of these ranges for each kind of actor
LIMB = 0.3  # half the thickness of a limb, as a share of half its length
LINKS = 6

# parts of a person, from the back to the front: joint at which it begins, and its length as a share of the height
LEGS = {"hip": 0.22, "knee": 0.23}
ARMS = {"shoulder": 0.19, "elbow": 0.17}
TORSO = 0.3
HEAD = 0.085  # radius
# range of each joint in radians: 0 is hanging down, and positive angles point outwards; knees bend inwards
RANGES = {"hip": (-0.05, 1.1), "knee": (0.0, -1.3), "shoulder": (-0.1, 2.4), "elbow": (0.1, 2.0), "neck": (-0.6, 0.6)}


class Pose:
    """Coordinates of a video by name, ``(frames,)`` each."""

    def __init__(self, values: Pixels) -> None:
        self.values = values

    def __getitem__(self, name: str) -> Pixels:
        return self.values[NUMBER[name]]

    def between(self, name: str, least: float, most: float) -> Pixels:
        """Return a coordinate scaled from [0, 1] to a range."""
        return np.float32(least) + np.float32(most - least) * self[name]

    def joint(self, name: str, kind: str) -> Pixels:
        """Return the angle of a joint in radians, in the range of its kind."""
        least, most = RANGES[kind]
        return self.between(name, least, most)

    def times(self, name: str, most: float) -> Pixels:
        """Return a coordinate as a factor from ``1 / most`` to ``most``."""
        return np.float32(most) ** (2 * self[name] - 1)


def shape(rng: Rng, pose: Pose, look: "Look", *, side: int) -> Sprites:
    """Draw one shape that can be squashed and bent, and over which a ripple runs."""
    size = np.float32(rng.uniform(0.17, 0.28))
    pixels = _pixels(2.2 * float(size) * side)
    picture = _covered(look.paint(rng, pixels), cover(rng, look.contour, pixels))

    squash = pose.times("squash", 1.3)
    radius = size * pose.times("scale", 1.4) * squash
    angle = np.float32(2 * np.pi) * pose["turn"] + pose.between("rock", -ROCK / 2, ROCK / 2)
    x, y = np.zeros((2, len(radius)), np.float32)
    return Sprites(
        pictures=picture[None],
        x=x[None],
        y=y[None],
        angle=angle[None],
        radius=radius[None],
        width=(squash**-2)[None],
        bend=pose.between("bend", -0.6, 0.6),
        ripple=pose["ripple"],
        reach=1.4,
    )


def person(rng: Rng, pose: Pose, look: "Look", *, side: int) -> Sprites:
    """Draw a person from the front: torso, head, arms and legs of two parts; the lower foot stays on the ground."""
    height = np.float32(rng.uniform(0.6, 0.8)) * pose.times("scale", 1.2)
    pixels = _pixels(0.3 * side)
    skin = np.array([[0.95, 0.76, 0.6]], np.float32) * rng.uniform(0.35, 1.0) * np.ones((2, 1), np.float32)
    skin_picture = _covered(coloured(texture(rng, "flat", pixels), skin), limb(pixels, 0.98))
    shirt = look.paint(rng, pixels)
    trousers = coloured(texture(rng, look.texture, pixels), two_colours(rng, int(rng.integers(len(HUES)))))
    sleeve = _covered(shirt, limb(pixels, LIMB))
    leg = _covered(trousers, limb(pixels, LIMB))
    pictures = []
    places: list[tuple[Pixels, Pixels, Pixels, float]] = []  # x, y, angle, radius as a share of the height

    lowest = np.zeros_like(height)
    for name, sign in (("left", -1), ("right", 1)):
        hip = (np.float32(sign * 0.06), np.float32(0.02))
        feet = _limb(places, pose, name, sign=sign, start=hip, parts=LEGS)
        lowest = np.maximum(lowest, feet)
        pictures += [leg, leg]

    flat = np.zeros_like(height)
    places.append((flat, flat - np.float32(TORSO / 2), flat + np.float32(np.pi / 2), 0.19))
    pictures.append(_covered(shirt, limb(pixels, 0.5)))

    tilt = pose.joint("neck", "neck")
    places.append((np.sin(tilt) * np.float32(0.12), -np.float32(TORSO) - np.cos(tilt) * np.float32(0.1), tilt, HEAD))
    pictures.append(skin_picture)

    for name, sign in (("left", -1), ("right", 1)):
        shoulder = (np.float32(sign * 0.1), np.float32(-TORSO + 0.03))
        _limb(places, pose, name, sign=sign, start=shoulder, parts=ARMS)
        pictures += [sleeve, sleeve]

    lean = pose.between("rock", -ROCK / 2, ROCK / 2)
    ground = np.float32(LEGS["hip"] + LEGS["knee"]) - lowest  # 0 if a leg is straight
    x, y, angle = (np.stack([place[axis] for place in places]) for axis in range(3))
    radius = np.array([place[3] for place in places], np.float32)[:, None] * height
    y = y + ground - np.float32(0.02)
    cos = height * np.cos(lean)
    sin = height * np.sin(lean)
    return Sprites(
        pictures=np.stack(pictures),
        x=cos * x - sin * y,
        y=sin * x + cos * y,
        angle=angle + lean,
        radius=radius,
        width=np.ones_like(radius),
    )


def chain(rng: Rng, pose: Pose, look: "Look", *, side: int) -> Sprites:
    """Draw six links in a row, of which the first is the head."""
    length = np.float32(rng.uniform(0.085, 0.12)) * pose.times("scale", 1.3)
    pixels = _pixels(0.3 * side)
    picture = look.paint(rng, pixels)
    link = _covered(picture, limb(pixels, 0.42))
    head = _covered(1 - picture, limb(pixels, 0.9))

    heading = np.float32(2 * np.pi) * pose["turn"] + pose.between("rock", -ROCK / 2, ROCK / 2)
    bends = np.stack([pose.between(f"link{number}", -0.75, 0.75) for number in range(1, LINKS + 1)])
    angle = heading + bends.cumsum(0)
    dx = length * np.cos(angle)
    dy = length * np.sin(angle)
    x = dx.cumsum(0) - dx / 2
    y = dy.cumsum(0) - dy / 2
    radius = np.repeat(np.float32(0.68) * length[None], LINKS, 0)

    # from the tail to the head, which is in front
    order = np.arange(LINKS)[::-1]
    pictures = np.stack([link] * (LINKS - 1) + [head])
    return Sprites(
        pictures=pictures,
        x=(x - x.mean(0))[order],
        y=(y - y.mean(0))[order],
        angle=angle[order],
        radius=radius,
        width=np.ones_like(radius),
    )


def two_shapes(rng: Rng, pose: Pose, look: "Look", *, side: int) -> Sprites:
    """Draw a bright and a dark shape of the same contour, on opposite sides of their middle."""
    size = np.float32(rng.uniform(0.11, 0.16))
    pixels = _pixels(2.2 * float(size) * side)
    painted = look.paint(rng, pixels)
    inside = cover(rng, look.contour, pixels)
    bright = _covered(painted * np.float32(0.4) + np.float32(0.6), inside)
    dark = _covered(painted * np.float32(0.4), inside)

    away = pose.between("gap", 0.12, 0.3)
    angle = np.float32(2 * np.pi) * pose["turn"]
    x = away * np.cos(angle)
    y = away * np.sin(angle)

    tones = ("bright", "dark")
    scales = np.stack([pose.times(f"{tone}_scale", 1.5) for tone in tones])
    turns = np.stack([pose.between(f"{tone}_rock", -0.8, 0.8) for tone in tones])
    radius = size * scales
    return Sprites(
        pictures=np.stack([bright, dark]),
        x=np.stack([x, -x]),
        y=np.stack([y, -y]),
        angle=np.float32(rng.uniform(0, 2 * np.pi)) + turns,
        radius=radius,
        width=np.ones_like(radius),
        reach=1.32,
    )


class Actor(Protocol):
    """A function that draws one kind of actor, about the origin."""

    def __call__(self, rng: Rng, pose: Pose, look: "Look", *, side: int) -> Sprites:
        """Draw an actor in a pose for a picture of ``side`` pixels."""


ACTORS: dict[str, Actor] = {"shape": shape, "person": person, "chain": chain, "pair": two_shapes}


class Look:
    """Appearance of an actor: contour (shapes only), texture, and hue of its first colour."""

    def __init__(self, rng: Rng, *, contour: str, texture: str, hue: int) -> None:
        self.contour = contour
        self.texture = texture
        self.hue = hue
        self.colours = two_colours(rng, hue)

    def tones(self, kind: str) -> tuple[float, ...]:
        """Return the brightness of the actor, 0 to 1: one value, or a bright and a dark one for a pair."""
        mean = float(self.colours.mean())
        if kind == "pair":
            return 0.6 + 0.4 * mean, 0.4 * mean
        return (mean,)

    def paint(self, rng: Rng, pixels: int) -> Pixels:
        """Draw a textured square ``(3, pixels, pixels)``."""
        return coloured(texture(rng, self.texture, pixels), self.colours)


def placed(sprites: Sprites, x: Pixels, y: Pixels) -> Sprites:
    """Return an actor's sprites, which are drawn about the origin, moved to a point of the picture, ``(frames,)``."""
    return replace(sprites, x=sprites.x + x, y=sprites.y + y)


def positions(rng: Rng, pose: Pose, *, travels: bool, extent: float, room: float) -> list[tuple[Pixels, Pixels]]:
    """Return the positions of an actor in every frame, with several entries if it is to be drawn several times.

    A travelling actor leaves the picture and comes back at the opposite edge; for a while it is seen at both.

    Args:
        rng: random generator.
        pose: coordinates of the video.
        travels: whether the actor travels, or stays near the middle.
        extent: radius of the actor.
        room: factor of the ranges in which it sways and orbits.
    """
    if not travels:
        about = 0.5 + rng.uniform(-0.05, 0.05, 2).astype(np.float32)
        orbit = np.float32(2 * np.pi) * pose["orbit"]
        sway = room * SWAY / 2
        radius = np.float32(room * ORBIT)
        x = about[0] + pose.between("sway_x", -sway, sway) + radius * np.cos(orbit)
        y = about[1] + pose.between("sway_y", -sway, sway) + radius * np.sin(orbit)
        return [(x, y)]

    edge = (TORUS - 1) / 2
    x = pose.between("x", -edge, 1 + edge)
    y = pose.between("y", -edge, 1 + edge)
    return [(x + dx, y + dy) for dx in _shifts(x, extent) for dy in _shifts(y, extent)]


def _shifts(place: Pixels, extent: float) -> list[np.float32]:
    """Return the shifts of the copies of an actor that are in the picture at any time."""
    shifts = np.array([-TORUS, 0, TORUS], np.float32)
    return [shift for shift in shifts if (np.abs(place + shift - np.float32(0.5)) < 0.5 + extent).any()]


def _limb(
    places: list[tuple[Pixels, Pixels, Pixels, float]],
    pose: Pose,
    side: str,
    *,
    sign: int,
    start: tuple[np.float32, np.float32],
    parts: dict[str, float],
) -> Pixels:
    """Append the two parts of a limb that hangs from ``start``; return the y of its end."""
    x: Pixels = np.asarray(start[0])
    y: Pixels = np.asarray(start[1])
    angle: Pixels = np.zeros((), np.float32)
    for joint, length in parts.items():
        angle = angle + pose.joint(f"{side}_{joint}", joint)
        dx: Pixels = np.asarray(np.float32(sign * length) * np.sin(angle), np.float32)
        dy: Pixels = np.asarray(np.float32(length) * np.cos(angle), np.float32)

        middle_x = x + dx / np.float32(2)
        middle_y = y + dy / np.float32(2)
        places.append((middle_x, middle_y, np.arctan2(dy, dx), 0.62 * length))
        x = x + dx
        y = y + dy
    return np.asarray(y)


def _covered(picture: Pixels, inside: Pixels) -> Pixels:
    """Return a sprite's four channels: colours multiplied by the cover, and the cover."""
    return np.concatenate([picture * inside, inside[None]])


def _pixels(size: float) -> int:
    """Return the side of a sprite's picture, a multiple of 4 near its size in the video."""
    return int(np.clip(4 * round(size / 4), 12, 96))
