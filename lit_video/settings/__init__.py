"""Settings as nested data: reading, merging, flags, what each affects, and the differences of two runs."""
