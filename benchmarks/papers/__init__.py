"""Write the pages of the papers' tables and claims, REPRODUCE.md and docs/results, from the packed runs.

``python -m benchmarks.papers`` writes those that are out of date; with ``--check`` it writes nothing and ends with 1 if
there are any. The verdicts are those of ``lit_video table`` and ``report``.
"""
