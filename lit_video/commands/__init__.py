"""Commands, a file for each: its arguments, and a call of the function that it is a door to."""
