"""Record of a run, the content of ``run.json``: its identity, result and state; the one place that knows its form."""

import json
import math
import os
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from lit_video.settings.differences import Difference, setting_differences
from lit_video.settings.nested import flatten
from lit_video.utils.processes import job_name

SETTING_GROUPS = ("trainer", "model", "data")  # settings of a resolved configuration that are mappings
Running = Literal["starting", "image model", "preparing data", "training", "testing", "writing"]
State = Literal[Running, "queued", "preempted", "stopped", "failed"]


class Identity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Identity of a run, kept in its folder and its checkpoints."""

    settings: Mapping[str, Any]  # resolved configuration
    data: str = ""  # digest of the videos and labels, or the name of TemporalSkills' folder
    # digests of starting weights and scheme code, by setting; of an image model of stills, by its name
    weights: Mapping[str, str] = {}
    commit: str = ""
    versions: Mapping[str, str] = {}  # packages that numbers depend on

    def __post_init__(self) -> None:
        for name in SETTING_GROUPS:
            if not isinstance(self.settings.get(name, {}), Mapping):
                raise TypeError(f"settings.{name}: expected a mapping, got {type(self.settings[name]).__name__}")
        if not isinstance(self.settings.get("global_batch"), int | None):
            raise TypeError(f"settings.global_batch: expected a number, got {self.settings['global_batch']!r}")

    @property
    def flat(self) -> dict[str, Any]:
        """Identity as a flat dict, keys joined with dots."""
        versions = {f"versions.{name}": number for name, number in self.versions.items()}
        return flatten(self.settings) | {"data": self.data, "commit": self.commit} | versions


def differences(old: Identity, new: Identity) -> list[Difference]:
    """Return the differences that can affect numbers, sorted by key."""
    shared = old.weights.keys() & new.weights.keys()  # compared by digest, because a file may be renamed
    was = dict.fromkeys(shared, "file") | old.flat
    now = dict.fromkeys(shared, "file") | new.flat
    for key in shared:
        if old.weights[key] == new.weights[key]:
            was[key] = now[key]
        else:
            was[key] = f"{was[key]} ({old.weights[key]})"
            now[key] = f"{now[key]} ({new.weights[key]})"
    return setting_differences(was, now)


class Override(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Setting of a run that is not its row's; the file holds it as a list of two values."""

    wanted: Any  # the row's value
    used: Any  # the run's value


class VideoCount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Videos of a split."""

    listed: int
    used: int  # number of videos, missing ones left out


class TestedWeights(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Checkpoint that was tested."""

    file: str  # path in the run's folder
    step: int  # optimizer step
    digest: str | None = None  # see weights.reading.weights_digest; older runs did not record it


class RowFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Row of a run and cost of its model, known before training."""

    table: str
    row: str
    scale: str
    seed: int
    scheme: str
    params: int
    gmacs: float  # multiply-adds of a view, 10^9
    views: int  # views of a test video


class RunResult(RowFacts, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Result of a finished run; a part that a run did not record is ``None``.

    Accuracies are in percent, times in seconds.
    """

    # sight of the model, and needs of the task, both on TemporalSkills
    reach: int | None = None  # largest distance of two frames that interact in the scores
    sees_order: bool | None = None  # whether reversed frames change the scores
    sees_near: bool | None = None  # whether any order of the frames changes the scores, but not their reversal
    blind_ceiling: float | None = None  # highest top-1 that a model blind to the order of frames can reach
    steps_shown: float | None = None  # share of a video's steps that one clip of the test shows
    needed_reach: int | None = None  # distance of the frames that a model must compare to solve the task
    told: Sequence[str] | None = None  # skills whose direction is told from the frames that the model compares
    sum_ceilings: Mapping[str, float] | None = None  # highest direction that a sum over frames can reach, by skill
    two_frames_ceilings: Mapping[str, float] | None = None  # highest of two neighbouring frames

    # the test
    metrics: Mapping[str, float]  # by name: test/video_top1
    test_videos: int  # 0 without a test
    test_broken: int  # videos that could not be read
    test_seen: int | None = None  # test videos that the model was trained on
    test_left_out: int | None = None  # listed test videos that were not tested
    video_counts: Mapping[str, VideoCount]  # by split

    # the training
    steps: int  # optimizer steps
    global_batch: int  # clips of an optimizer step
    overridden: Mapping[str, Override] | None = None  # settings that are not the row's, by key
    weights: TestedWeights
    skipped_steps: int  # updates that were left out because the loss was not finite
    seconds: float  # time of training
    checkpoint_seconds: float  # part of it spent waiting for checkpoints
    device: str
    command: str
    finished: str  # date and time

    # cross-validation, in the run trained on all videos
    temperature: float | None = None  # divisor of the logits
    folds: Mapping[str, float] | None = None  # top-1 by row of a fold

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            value = getattr(self, field)
            numbers = value if isinstance(value, Mapping) else {field: value}
            for name, number in numbers.items():
                if isinstance(number, float) and not math.isfinite(number):
                    raise ValueError(f"{name} is {number}")


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
