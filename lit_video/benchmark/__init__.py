"""Measurements on this machine: ratios within one run, medians of interleaved repetitions."""
