"""A file a command, in one tree of parsers: its arguments, then a call."""
