"""One file per command: its arguments, then a call."""
