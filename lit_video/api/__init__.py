"""Functions of the commands: keyword arguments, and results that show themselves."""
