"""Measurements on the machine at hand: ratios within one run, medians of interleaved repetitions."""
