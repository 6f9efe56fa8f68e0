"""Run a command of ``python -m lit_video``; report a user's mistake in one line."""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from lit_video.commands.parser import parse
from lit_video.errors import OptionError, RunFailed, RunStopped, UserError
from lit_video.utils.messages import shown_messages
from lit_video.utils.processes import CLOSED, DONE, FAILED, INTERRUPTED, MISTAKE, process_of_command
from lit_video.utils.startup import refuse_no_folder, set_up_process
from lit_video.utils.text import printable


def main(words: Sequence[str]) -> int:
    """Run a command; return the exit status."""
    with shown_messages(), process_of_command():
        try:
            refuse_no_folder()
            try:
                arguments = parse(words or ["--help"])
            except SystemExit:  # after printing the help or the version
                return DONE
            status: int = arguments.run(arguments)
            return status
        except RunStopped as stop:
            return stop.status
        except UserError as error:
            message = error.of_flags if isinstance(error, OptionError) else str(error)
            print(f"error: {printable(message)}", file=sys.stderr)
            return FAILED if isinstance(error, RunFailed) else MISTAKE
        except ModuleNotFoundError as error:
            if (error.name or "lit_video").partition(".")[0] == "lit_video":  # a fault of the package
                raise
            environment = Path(__file__).parents[1] / ".venv"
            advice = "install lit_video: in its folder run pip install -e . -c constraints.txt, or make setup"
            if (environment / "bin/activate").is_file() and environment != Path(sys.prefix):
                advice = f"lit_video is installed in another environment: source {environment}/bin/activate"
            print(f"error: no module {error.name} in {sys.executable}; {advice}", file=sys.stderr)
            return MISTAKE
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return INTERRUPTED
        except MemoryError:
            print("error: out of memory", file=sys.stderr)
            return FAILED
        except OSError as error:
            return _stopped_by(error)


def _stopped_by(error: OSError) -> int:
    """Report an error of the system in one line with its path; return the exit status."""
    if isinstance(error, BrokenPipeError):
        return CLOSED
    if error.filename is None or not error.strerror:  # a fault of the package
        raise error
    print(f"error: {printable(str(error.filename))}: {error.strerror}", file=sys.stderr)
    return FAILED


def run() -> None:
    """Run the installed command."""
    set_up_process()
    if isinstance(out := sys.stdout, TextIOWrapper):
        # UTF-8 output keeps the bytes of file names; other encodings print ? for characters that they lack, such as ±
        errors = "surrogateescape" if out.encoding.lower() == "utf-8" else "replace"
        # argparse ignores errors of writing; with this large buffer, the final flush raises them
        sys.stdout = os.fdopen(out.fileno(), "w", 2**20, out.encoding, errors, closefd=False)
        sys.stdout.reconfigure(line_buffering=out.line_buffering, write_through=out.write_through)
    try:
        status = main(sys.argv[1:])
    finally:
        _flush()
    sys.exit(status)


def _flush() -> None:
    """Flush the output; exit if it cannot be written."""
    try:
        print(end="", flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes again at exit
        if isinstance(error, BrokenPipeError):
            sys.exit(CLOSED)
        print(f"error: the output cannot be written: {error.strerror}", file=sys.stderr)
        sys.exit(FAILED)


if __name__ == "__main__":
    run()
