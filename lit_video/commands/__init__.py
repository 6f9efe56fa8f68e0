"""Commands: a file each, with its arguments and the function that runs it."""
