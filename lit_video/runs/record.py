"""Record of a run, the content of ``run.json``: the one place that knows its form."""

import json
import os
import socket
import time
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from lit_video.runs.identity import Identity
from lit_video.runs.result import RunResult
from lit_video.utils.processes import job_name

Running = Literal["starting", "image model", "preparing data", "training", "testing", "writing"]
State = Literal[Running, "queued", "preempted", "stopped", "failed"]


class Status(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """State of a run; numbers are 0 while unknown.

    ``queued``: in Slurm's queue. Without a result: ``preempted`` (resumes by itself or by the same command),
    ``stopped`` (Ctrl-C or SIGTERM), ``failed`` (an error).
    """

    state: State
    step: int = 0  # optimizer step
    steps: int = 0  # in the whole training
    clips_per_second: float = 0.0
    seconds_left: float = 0.0  # until training ends
    data_wait: float = 0.0  # percent of the training time spent waiting for data
    message: str = ""  # why the run ended, in one line
    host: str = msgspec.field(default_factory=socket.gethostname)
    pid: int = msgspec.field(default_factory=os.getpid)  # rank 0
    job: str = msgspec.field(default_factory=job_name)  # Slurm's job number
    time: float = msgspec.field(default_factory=time.time)  # time of writing, in seconds since 1970


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"was": "from", "now": "to"}):
    """Change of a setting, the videos or the code while a run went on."""

    key: str
    was: Any
    now: Any


class Correction(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"was": "from", "now": "to"}):
    """Correction of a packed run's record by a script of this repository."""

    key: str
    was: Any
    now: Any
    reason: str
    by: str  # the script


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Record of a run; a part is ``None`` before it is known and after it is removed."""

    identity: Identity | None = None  # identity of the last attempt
    changes: Sequence[Change] | None = None  # since the run began
    state: Status | None = None  # until the run is finished
    result: RunResult | None = None
    corrections: Sequence[Correction] | None = None

    def __post_init__(self) -> None:
        if self.result and (self.identity is None or self.changes is None):
            raise ValueError("result without identity and changes")

    @classmethod
    def of(cls, content: Any) -> "Record":
        """Return the record of plain data.

        Raises:
            ValueError: a part is missing, unknown or of another type, as in a record of another version.
        """
        return msgspec.convert(content, cls)

    @classmethod
    def of_json(cls, text: bytes) -> "Record":
        """Return the record in a file's content; see :meth:`of`."""
        return cls.of(json.loads(text))

    def plain(self) -> dict[str, Any]:
        """Return the record as plain data, without the parts that are ``None``.

        Raises:
            ValueError: a part is of another type than a reader expects.
        """
        content: dict[str, Any] = msgspec.to_builtins(self)
        Record.of(content)
        return content

    def with_parts(self, **parts: Any) -> "Record":
        """Return the record with other parts; ``None`` removes one."""
        return msgspec.structs.replace(self, **parts)
