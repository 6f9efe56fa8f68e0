"""Weights that authors have published: where they are, and the settings of their evaluation. Imports no torch."""
