"""Levels of all intervals and tests."""

CONFIDENCE = 0.95
LEVEL = (1 - CONFIDENCE) / 2  # level of a one-sided test
