"""Commands, a file for each subject: the arguments of each command, and a function that runs it."""
