"""``python -m lit_video``: runs a command; a user's mistake prints one line."""
# PYTHON_ARGCOMPLETE_OK: argcomplete's script looks for this mark before it asks for completions

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from lit_video.commands.parser import parse, tree
from lit_video.errors import RunFailed, UserError
from lit_video.utils.startup import prepare
from lit_video.utils.stop_signals import DONE, FAILED, INTERRUPTED, MISTAKE, finish


def main(words: Sequence[str]) -> int:
    """Run a command; returns the exit status."""
    try:
        try:
            arguments = parse(words or ["--help"])
        except SystemExit:  # help or version, which is printed
            return DONE
        status: int = arguments.run(arguments)
        return status
    except UserError as error:
        print(f"error: {error.on_command_line}", file=sys.stderr)
        return FAILED if isinstance(error, RunFailed) else MISTAKE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except MemoryError:
        print("error: out of memory", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        return 141


def run() -> None:
    """Entry point of the installed command."""
    if "_ARGCOMPLETE" in os.environ:
        try:
            from argcomplete import autocomplete
        except ImportError:
            sys.exit("completion: argcomplete is not installed; pip install 'lit_video[completion]'")
        autocomplete(tree(), always_complete_options="long")  # answers the shell, and ends the process
        return
    prepare()
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal without ± shows a question mark
        utf_8 = sys.stdout.encoding.lower() == "utf-8"
        sys.stdout.reconfigure(errors="surrogateescape" if utf_8 else "replace")  # names of files as they are
    status = main(sys.argv[1:])
    finish(status)
    sys.exit(status)


if __name__ == "__main__":
    run()
