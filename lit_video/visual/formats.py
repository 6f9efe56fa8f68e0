"""Endings of the pictures that can be written."""

from __future__ import annotations

MOVING = (".gif", ".mp4")
STILL = (".png",)
FIGURES = (".png", ".svg", ".pdf")
