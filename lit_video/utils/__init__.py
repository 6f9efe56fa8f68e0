"""Helpers that two packages or more share; imports errors only."""
