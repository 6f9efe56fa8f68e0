"""Sprites: small textured pictures with transparency, put into every frame at a position, angle and size."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from benchmarks.pretraining.drawn.contours import EDGE
from benchmarks.pretraining.drawn.textures import Pixels


@dataclass(kw_only=True)
class Sprites:
    """Sprites of one actor, from the back to the front, and where they are in every frame.

    Positions and sizes are shares of the picture's side, angles are in radians and grow clockwise.

    Attributes:
        pictures: colours and opacity, ``(sprites, 4, side, side)``; the colours are multiplied by the opacity.
        x: centres, ``(sprites, frames)``.
        y: centres, ``(sprites, frames)``.
        angle: angles, ``(sprites, frames)``.
        radius: radii along the sprite, ``(sprites, frames)``.
        width: radii across, as a share of ``radius``, ``(sprites, frames)``.
        bend: how far the ends are bent, as a share of the radius, ``(frames,)``; ``None`` for straight sprites.
        ripple: phase of a wave along the sprite, in cycles, ``(frames,)``; ``None`` for no wave.
        reach: distance of the sprite's farthest covered point from its centre, in radii.
    """

    pictures: Pixels
    x: Pixels
    y: Pixels
    angle: Pixels
    radius: Pixels
    width: Pixels
    bend: Pixels | None = None
    ripple: Pixels | None = None
    reach: float = 1.05

    def seen_from(self, zoom: Pixels, tilt: Pixels) -> "Sprites":
        """Return the sprites as seen by a camera that zooms and rolls about the middle; both are ``(frames,)``."""
        cos = zoom * np.cos(tilt)
        sin = zoom * np.sin(tilt)
        dx = self.x - np.float32(0.5)
        dy = self.y - np.float32(0.5)
        return replace(
            self,
            x=np.float32(0.5) + cos * dx - sin * dy,
            y=np.float32(0.5) + sin * dx + cos * dy,
            angle=self.angle + tilt,
            radius=self.radius * zoom,
        )


RIPPLE = 0.14  # height of a ripple, as a share of the radius


LONGEST_STEP = 0.4  # displacement from which on a sprite jumps to the opposite edge, in sides of the picture


def overlay(canvas: Pixels, sprites: Sprites) -> None:
    """Put sprites into frames ``(frames, channels, side, side)`` in place, from the back to the front.

    Three channels are the colours. Six are the colours, the displacement to the next frame (x, y, in sides of the
    picture), and whether it is known. Sprites of one frame are put into every frame of the canvas, and do not move.
    """
    side = canvas.shape[-1]
    far = sprites.reach * sprites.radius * np.maximum(sprites.width, 1)
    away = np.maximum(np.abs(sprites.x - np.float32(0.5)), np.abs(sprites.y - np.float32(0.5)))
    visible = away - far < 0.5
    if not visible.any():
        return
    size = min(side, int(np.ceil(2 * float(far.max()) * side)) + 2)

    left = (sprites.x * side - size / 2).round().clip(0, side - size).astype(np.int64)
    top = (sprites.y * side - size / 2).round().clip(0, side - size).astype(np.int64)
    u, v = _places(sprites, left, top, size=size, side=side)
    grid = np.stack([u, v], -1).astype(np.float32, copy=False)

    count, frames = sprites.x.shape
    sampled = F.grid_sample(
        torch.from_numpy(np.ascontiguousarray(sprites.pictures)),
        torch.from_numpy(grid.reshape(count, frames * size, size, 2)),
        align_corners=False,
    )
    drawn = sampled.numpy().reshape(count, 4, frames, size, size)
    cover = drawn[:, 3]
    through = 1 - cover
    added = drawn[:, :3]
    if canvas.shape[1] > 3:
        moved = _displacement(sprites, left, top, u=u, v=v, side=side) * cover[:, None]
        added = np.concatenate([added, moved], 1)
    for sprite, frame in np.argwhere(visible).tolist():
        row = top[sprite, frame]
        column = left[sprite, frame]
        shown = slice(frame, frame + 1) if frames > 1 else slice(None)
        region = canvas[shown, :, row : row + size, column : column + size]
        region *= through[sprite, frame]
        region += added[sprite, :, frame]


def _places(
    sprites: Sprites, left: NDArray[np.int64], top: NDArray[np.int64], *, size: int, side: int
) -> tuple[Pixels, Pixels]:
    """Return where the pixels of the boxes are in the sprites, -1 to 1: ``(sprites, frames, size, size)`` each."""
    pixels = np.arange(size, dtype=np.float32) + np.float32(0.5)
    dx = (left - sprites.x * side).astype(np.float32)[..., None] + pixels
    dy = (top - sprites.y * side).astype(np.float32)[..., None] + pixels
    along = np.float32(1 / (side * EDGE)) / sprites.radius
    across = along / sprites.width
    cos = np.cos(sprites.angle)
    sin = np.sin(sprites.angle)

    # a column and a row of each box, whose sum broadcasts to the whole box
    u = (along * cos)[..., None, None] * dx[..., None, :] + (along * sin)[..., None, None] * dy[..., :, None]
    v = (across * cos)[..., None, None] * dy[..., :, None] - (across * sin)[..., None, None] * dx[..., None, :]
    v += _deformation(sprites, u)
    return u, v


def _deformation(sprites: Sprites, u: Pixels, ahead: int = 0) -> Pixels:
    """Return how far the points at ``u`` along the sprite are moved across it, ``ahead`` frames later."""
    moved = np.zeros_like(u)
    if sprites.bend is not None:
        moved += np.roll(sprites.bend, -ahead)[:, None, None] * (u * u - np.float32(0.3))
    if sprites.ripple is not None:
        cycles = np.roll(sprites.ripple, -ahead)[:, None, None] - np.float32(0.9) * u
        moved += np.float32(RIPPLE) * np.sin(np.float32(2 * np.pi) * cycles)
    return moved


def _displacement(
    sprites: Sprites, left: NDArray[np.int64], top: NDArray[np.int64], *, u: Pixels, v: Pixels, side: int
) -> Pixels:
    """Return where the boxes' pixels move until the next frame, and whether that is known.

    Unknown are those of a frame after which a sprite jumps to the opposite edge; after the last frame comes the first.

    Returns:
        ``(sprites, 3, frames, size, size)``: x and y in sides of the picture, and 1 or 0.
    """
    later = {name: np.roll(getattr(sprites, name), -1, 1)[..., None, None] for name in ("x", "y", "angle", "radius")}
    width = np.roll(sprites.width, -1, 1)[..., None, None]
    along = u * np.float32(EDGE) * later["radius"]
    across = (v - _deformation(sprites, u, 1)) * np.float32(EDGE) * later["radius"] * width
    cos = np.cos(later["angle"])
    sin = np.sin(later["angle"])

    pixels = (np.arange(u.shape[-1], dtype=np.float32) + np.float32(0.5)) / np.float32(side)
    column = (left / np.float32(side)).astype(np.float32)[..., None, None] + pixels
    row = (top / np.float32(side)).astype(np.float32)[..., None, None] + pixels[:, None]
    dx = later["x"] + cos * along - sin * across - column
    dy = later["y"] + sin * along + cos * across - row

    step = np.maximum(np.abs(later["x"][..., 0, 0] - sprites.x), np.abs(later["y"][..., 0, 0] - sprites.y))
    is_known = np.broadcast_to((step < LONGEST_STEP)[..., None, None], dx.shape).astype(np.float32)
    return np.stack([dx * is_known, dy * is_known, is_known], 1)
