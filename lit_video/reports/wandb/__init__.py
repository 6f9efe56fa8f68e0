"""The W&B workspace and report that compare schemes, made from the tables of ``experiments``. Imports no torch."""
