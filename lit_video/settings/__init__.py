"""Settings as nested data: reading, merging, flags of a command line, and what each setting affects."""
