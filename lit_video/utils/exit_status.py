"""Exit statuses of commands. Imports no torch."""

DONE = 0  # every result that was asked for is there
FAILED = 1  # a run, or a row of a table, ended without a result: a number that is not finite, a process that died
MISTAKE = 2  # something to change in the command, a file or the disk; one line says what
PREEMPTED = 75  # stopped at a checkpoint by USR1, USR2 or a time limit; the same command goes on (EX_TEMPFAIL)
INTERRUPTED = 130  # Ctrl-C; the same command goes on
TERMINATED = 143  # SIGTERM; the same command goes on
