"""Results of many videos, kept one by one as they are done, so that the same command goes on where it stopped."""

import json
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import FileLock, Timeout

from lit_video.errors import OptionError
from lit_video.utils.files import write_atomically
from lit_video.video.probe import stamp

Entry = dict[str, Any]  # a video's result as plain data


class KeptResults:
    """``FILE.part`` beside an output ``FILE``: the settings on its first line, then a line per video, each at once.

    It is deleted when the output is written, which is whole or not there. A video whose file has changed since is
    done again.

    Args:
        output: the file that the results are for.
        settings: that the results depend on, by the name of their option; those of a part file must be the same.

    Raises:
        UserError: there is a part file of other settings, or another process is writing it.
    """

    def __init__(self, output: Path, settings: Mapping[str, Any]) -> None:
        self.output = output
        self.part = output.with_name(f"{output.name}.part")
        self.settings = dict(settings)
        self.entries: dict[str, Entry] = {}
        self._before: dict[str, list[int | None]] = {}  # of files that were asked for, which then are read
        self._open = ExitStack()
        try:
            self._start()
        except BaseException as error:
            self._open.close()
            if isinstance(error, Timeout):
                raise OptionError("output", f"{output}: another process is writing it; wait or stop it") from None
            if isinstance(error, OSError):
                raise OptionError("output", f"{self.part}: {error.strerror}") from error
            raise

    def _start(self) -> None:
        lock = self.output.with_name(f".{self.output.name}.lock")
        self._open.enter_context(FileLock(lock, timeout=0))
        self._open.callback(lock.unlink, missing_ok=True)
        self.entries = self._read()
        self.count = len(self.entries)
        lines = [self.settings, *self.entries.values()]
        write_atomically(self.part, "".join(f"{json.dumps(line)}\n" for line in lines))
        self._file = self._open.enter_context(self.part.open("a", encoding="utf-8"))

    def get(self, path: Path) -> Entry | None:
        """The result of a video, if there is one of its file as it is now."""
        entry, now = self.entries.get(str(path)), _file(path)
        self._before[str(path)] = now
        return entry["result"] if entry and entry["file"] == now else None

    def add(self, path: Path, result: Entry) -> None:
        """Keep a video's result, as one of the file that there was before it was read."""
        file = self._before.get(str(path)) or _file(path)
        self._file.write(json.dumps({"path": str(path), "file": file, "result": result}) + "\n")
        self._file.flush()
        self.count += 1

    def __enter__(self) -> "KeptResults":
        """For a block in which the work is done and the output written."""
        if self.entries:
            print(f"going on: {_videos(len(self.entries))} done already are in {self.part}", file=sys.stderr)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete the part file, unless something stopped the work that is to go on."""
        if error is None or not self.count:
            self.part.unlink()
        else:
            print(f"{_videos(self.count)} done are kept in {self.part}; the same command goes on", file=sys.stderr)
        self._open.close()

    def _read(self) -> dict[str, Entry]:
        """What an earlier process has kept."""
        if not self.part.exists():
            return {}
        lines = []
        for line in self.part.read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(json.JSONDecodeError):  # cut off when that process ended
                lines.append(json.loads(line))
        if not lines[1:]:
            return {}
        if not isinstance(lines[0], dict) or lines[0].keys() != self.settings.keys():
            raise OptionError("output", f"{self.part} is no file of this command; delete it, or give another --output")
        if other := [name for name in self.settings if lines[0][name] != self.settings[name]]:
            then = ", ".join(_words(name, lines[0][name]) for name in other)
            advice = f"give the same, or delete {self.part} to begin anew"
            raise OptionError("output", f"{self.output} was begun with {then}; {advice}")
        return {line["path"]: line for line in lines[1:]}


def _file(path: Path) -> list[int | None]:
    """What tells a file from a later state of it."""
    state = stamp(path, "")
    return [state.size, state.mtime]


def _videos(count: int) -> str:
    return "1 video" if count == 1 else f"{count} videos"


def _words(option: str, value: object) -> str:
    if option == "ckpt":
        return "another --ckpt"
    return f"no --{option}" if value is None else f"--{option} {value}"
