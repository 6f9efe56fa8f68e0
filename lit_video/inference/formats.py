"""Endings of the pictures that can be written."""

MOVING = (".gif", ".mp4")
STILL = (".png",)
FIGURES = (".png", ".svg", ".pdf")
