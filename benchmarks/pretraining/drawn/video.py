"""Drawing of one video: its labels, its pose in every frame, and its pictures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from benchmarks.pretraining.drawn.actors import ACTOR_KINDS, ACTORS, ROOM, Look, Pose, placed, positions
from benchmarks.pretraining.drawn.catalogue import CAMERAS, MOTIONS
from benchmarks.pretraining.drawn.contours import CONTOURS, cover
from benchmarks.pretraining.drawn.degradations import blurred, compressed, lit, noisy
from benchmarks.pretraining.drawn.paths import COORDINATES, SPEEDS, Motion, Track, move
from benchmarks.pretraining.drawn.sprites import Sprites, overlay
from benchmarks.pretraining.drawn.textures import HUES, TEXTURES, Pixels, away_from, coloured, texture, two_colours
from lit_video.datamodules.drawing import Rng

ZOOM = 1.2  # the camera magnifies by 1 / ZOOM to ZOOM
TILT = 0.5  # range of the camera's roll, in radians
# in sides of the picture
TILE = 1.25  # side of the square texture that the background repeats
SCENE = 1.8  # side of the square of still things, which repeats too: what leaves at the left comes in at the right
SHAKE = 0.05  # range of a shaking camera
LIGHTS = (
    (Track("light", "swing", (0.5, 2.0)),),
    (Track("light", "swing", (0.3, 0.6)),),
    (),
)

# names of the classes of each task, in the order of their numbers
TASKS: dict[str, tuple[str, ...]] = {
    "motion": tuple(MOTIONS),
    "speed": tuple(SPEEDS),
    "camera": tuple(CAMERAS),
    "form": (*CONTOURS, *ACTOR_KINDS[1:3]),  # a person and a chain are forms of their own; others have contours
    "texture": TEXTURES,
    "hue": HUES,
}


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Labels of a video, by name."""

    motion: str
    speed: str
    camera: str
    kind: str  # kind of actor
    contour: str  # contour of a shape or a pair
    texture: str
    hue: int

    @property
    def numbers(self) -> tuple[int, ...]:
        """The class number of each task, in the order of ``TASKS``."""
        form = self.kind if self.kind in ("person", "chain") else self.contour
        names = (self.motion, self.speed, self.camera, form, self.texture, HUES[self.hue])
        return tuple(classes.index(name) for classes, name in zip(TASKS.values(), names, strict=True))

    @property
    def reversed(self) -> "Labels":
        """The labels of the same video played backwards."""
        return replace(
            self,
            motion=MOTIONS[self.motion].reverse,
            speed=SPEEDS[self.speed],
            camera=CAMERAS[self.camera].reverse,
        )


@dataclass(frozen=True)
class Drawn:
    """A drawn video.

    Attributes:
        frames: ``(frames, 3, side, side)``.
        flow: displacement of each pixel until the next frame, x and y in sides of the picture, and 1 where that is
            known, else 0: ``(frames, 3, side, side)``. Unknown: the last frame, and what jumps to the opposite edge.
            ``None``: not asked for.
    """

    frames: NDArray[np.uint8]
    flow: Pixels | None


def draw_labels(rng: Rng, motions: tuple[str, ...], moving_camera: float) -> Labels:
    """Draw a video's labels independently, except the kind of actor, which must be able to do the motion."""
    motion = MOTIONS[motions[rng.integers(len(motions))]]
    camera = "still"
    if rng.random() < moving_camera:
        camera = _MOVING[rng.integers(len(_MOVING))]

    return Labels(
        motion=motion.name,
        speed=_SPEEDS[rng.integers(len(_SPEEDS))],
        camera=camera,
        kind=motion.kinds[rng.integers(len(motion.kinds))],
        contour=CONTOURS[rng.integers(len(CONTOURS))],
        texture=TEXTURES[rng.integers(len(TEXTURES))],
        hue=int(rng.integers(len(HUES))),
    )


_MOVING = tuple(name for name in CAMERAS if name != "still")
_SPEEDS = tuple(SPEEDS)


def draw_pose(rng: Rng, labels: Labels, num_frames: int) -> NDArray[np.float64]:
    """Draw every coordinate in every frame, ``(coordinates, frames)``, from 0 to 1.

    Each coordinate is a random constant, except those that the motion, the camera and the light move.
    """
    pose = np.repeat(rng.random((len(COORDINATES), 1)), num_frames, 1)
    paces = rng.random(3)
    camera_speed = _SPEEDS[rng.integers(2) * 3]  # steady or surging, speeds that are the same backwards
    light = LIGHTS[rng.integers(len(LIGHTS))]
    move(pose, MOTIONS[labels.motion], labels.speed, pace=float(paces[0]))
    move(pose, CAMERAS[labels.camera], camera_speed, pace=float(paces[1]))
    move(pose, Motion("light", light, "light"), "steady", pace=float(paces[2]))
    return pose


def draw_video(
    rng: Rng,
    labels: Labels,
    num_frames: int,
    *,
    side: int,
    degradation: float = 1.0,
    flow: bool = False,
    backwards: bool = False,
) -> Drawn:
    """Draw a video of some labels.

    Args:
        rng: random generator.
        labels: the labels.
        num_frames: number of frames.
        side: side of a frame in pixels.
        degradation: strength of light, blur, noise and compression, 0 to 1.
        flow: whether to tell how pixels move, which changes no pixel.
        backwards: whether to play the frames of these labels backwards; the flow is then that of the reversed labels.
    """
    motion = MOTIONS[labels.motion]
    drawn_pose = draw_pose(rng, labels, num_frames).astype(np.float32)
    played = slice(None, None, -1) if backwards else slice(None)
    pose = Pose(np.ascontiguousarray(drawn_pose[:, played]))
    zoom = pose.times("zoom", ZOOM)
    tilt = pose.between("tilt", -TILT / 2, TILT / 2)
    look = Look(rng, contour=labels.contour, texture=labels.texture, hue=labels.hue)

    # a camera that stands still sees the same scene in every frame
    seen = slice(None) if labels.camera != "still" else slice(1)
    scene = Pose(pose.values[:, seen])
    tones = look.tones(labels.kind)
    canvas = _background(rng, scene, zoom[seen], tilt=tilt[seen], tones=tones, side=side, flow=flow)
    behind, before = _still_things(rng, scene, side)
    for thing in behind:
        overlay(canvas, thing.seen_from(zoom[seen], tilt[seen]))
    canvas = np.repeat(canvas, num_frames // len(canvas), 0)

    actor = ACTORS[labels.kind](rng, pose, look, side=side)
    extent = float((np.hypot(actor.x, actor.y) + actor.radius).max()) * ZOOM
    room = ROOM[labels.kind]
    for x, y in positions(rng, pose, travels=motion.travels, extent=extent, room=room):
        overlay(canvas, placed(actor, x, y).seen_from(zoom, tilt))
    for thing in before:
        overlay(canvas, thing.seen_from(zoom[seen], tilt[seen]))

    canvas[-1, 3:] = 0  # nothing follows
    pixels = np.ascontiguousarray(canvas[played, :3])  # the frames in the order of the labels, for their noise
    lit(rng, pixels, pose["light"][played], strength=degradation)
    blurred(rng, pixels, degradation)
    noisy(rng, pixels, degradation)
    pixels = compressed(rng, pixels, degradation)
    pixels *= 255
    np.rint(pixels, out=pixels)
    np.clip(pixels, 0, 255, out=pixels)
    return Drawn(pixels[played].astype(np.uint8), canvas[:, 3:] if flow else None)


def _background(
    rng: Rng, pose: Pose, zoom: Pixels, *, tilt: Pixels, tones: Sequence[float], side: int, flow: bool
) -> Pixels:
    """Draw the background of every frame, a periodic texture seen by the camera, and its displacement with ``flow``.

    Returns:
        ``(frames, 3, side, side)``, with ``flow`` ``(frames, 6, side, side)``.
    """
    family = TEXTURES[rng.integers(len(TEXTURES))]
    tile = coloured(texture(rng, family, side), away_from(rng, tones))
    tile = np.pad(tile, ((0, 0), (0, 1), (0, 1)), "wrap")

    # where each pixel of the picture is on the tile
    pan_x, pan_y = _pan(pose)
    places: Pixels = (np.arange(side, dtype=np.float32) + np.float32(0.5)) / np.float32(side) - np.float32(0.5)
    cos = (np.cos(tilt) / zoom)[:, None, None]
    sin = (np.sin(tilt) / zoom)[:, None, None]
    x = (pan_x[:, None, None] + cos * places + sin * places[:, None]) / np.float32(TILE)
    y = (pan_y[:, None, None] + cos * places[:, None] - sin * places) / np.float32(TILE)
    grid = np.stack([x, y], -1)
    grid -= np.floor(grid)
    grid *= 2
    grid -= 1

    frames = len(zoom)
    seen = F.grid_sample(
        torch.from_numpy(np.ascontiguousarray(tile))[None],
        torch.from_numpy(grid.reshape(1, frames * side, side, 2)),
        align_corners=True,
    )
    canvas = np.empty((frames, 6 if flow else 3, side, side), np.float32)
    canvas[:, :3] = seen.numpy().reshape(3, frames, side, side).transpose(1, 0, 2, 3)
    if flow:
        canvas[:, 3:] = _camera_flow(pan_x, pan_y, zoom=zoom, tilt=tilt, places=places)
    return canvas


def _camera_flow(pan_x: Pixels, pan_y: Pixels, *, zoom: Pixels, tilt: Pixels, places: Pixels) -> Pixels:
    """Return the background's displacement until the next frame and where it is known, ``(frames, 3, side, side)``."""
    dx = (np.roll(pan_x, -1) - pan_x)[:, None, None]
    dy = (np.roll(pan_y, -1) - pan_y)[:, None, None]
    # a period of the background looks the same
    dx = dx - np.float32(TILE) * np.rint(dx / np.float32(TILE))
    dy = dy - np.float32(TILE) * np.rint(dy / np.float32(TILE))

    now = (np.exp(1j * tilt) / zoom)[:, None, None]
    later = np.roll(now, -1, 0)
    point = places + 1j * places[:, None]
    # pan + point * conj(now) is a place on the background; the camera of the next frame sees it elsewhere
    moved = (point * now.conj() - (dx + 1j * dy)) / later.conj() - point
    flow = np.ones((len(pan_x), 3, len(places), len(places)), np.float32)
    flow[:, 0] = moved.real
    flow[:, 1] = moved.imag
    return flow


def _pan(pose: Pose) -> tuple[Pixels, Pixels]:
    """Return the camera's place on the background, in sides of the picture."""
    shake = np.float32(SHAKE)
    x = np.float32(TILE) * pose["pan_x"] + shake * pose["shake_x"]
    y = np.float32(TILE) * pose["pan_y"] + shake * pose["shake_y"]
    return x, y


def _still_things(rng: Rng, pose: Pose, side: int) -> tuple[list[Sprites], list[Sprites]]:
    """Draw still things of the scene, those behind the actor and those in front of it; only the camera moves them."""
    pan_x, pan_y = _pan(pose)
    behind: list[Sprites] = []
    before: list[Sprites] = []
    for _ in range(rng.integers(0, 5)):
        size = rng.uniform(0.06, 0.22)
        pixels = int(np.clip(4 * round(2 * size * side / 4), 12, 96))
        family = TEXTURES[rng.integers(len(TEXTURES))]
        hues = two_colours(rng, int(rng.integers(len(HUES))))
        inside = cover(rng, CONTOURS[rng.integers(len(CONTOURS))], pixels)
        picture = np.concatenate([coloured(texture(rng, family, pixels), hues) * inside, inside[None]])

        place = rng.uniform(0, SCENE, 2).astype(np.float32)
        x = (place[0] - pan_x) % np.float32(SCENE) + np.float32(0.5 - SCENE / 2)
        y = (place[1] - pan_y) % np.float32(SCENE) + np.float32(0.5 - SCENE / 2)
        angle = np.full_like(x, rng.uniform(0, 2 * np.pi))
        radius = np.full_like(x, size)
        thing = Sprites(
            pictures=picture[None],
            x=x[None],
            y=y[None],
            angle=angle[None],
            radius=radius[None],
            width=np.ones_like(x)[None],
            reach=1.32,
        )
        (before if rng.random() < 0.3 else behind).append(thing)
    return behind, before
