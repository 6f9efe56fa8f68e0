"""History of a run: which changes leave it the same run when it is resumed, and which make it another one.

The run stays the same if

- settings that affect no number (``FREE``) or tell where the videos are (``FOLDERS``) change;
- a step's batch is divided over other devices (``SPREAD``), or other code resumes the run; ``changes`` records both;
- training becomes longer, unless its weights are averaged or the run is packed and so has no checkpoint;
- its videos, labels or a user's own callbacks change before it is finished.

Any other change of a setting, video, label or starting weight makes another run. ``fit --reuse`` takes the weights of
another run with the same code and videos if only settings of the test differ (``TESTS``). Rows of a table are compared
only if they differ in nothing but the seed and the rows' own settings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from lit_video.errors import UserError
from lit_video.runs.folder import packed_files
from lit_video.runs.record import Change, Identity, Record, differences
from lit_video.settings.differences import AVERAGING, Difference, DifferenceKind
from lit_video.settings.nested import CALLBACKS, flatten, lightning_name


@dataclass(frozen=True)
class History:
    """Identity and changes of a run, kept in its checkpoints and its result."""

    identity: Identity  # identity of the last attempt
    changes: Sequence[Change] = ()  # since the run began
    finished: bool = False  # True if there is a result, and its training was at least as long as requested
    news: Sequence[Difference] = ()  # changes since the last attempt

    def going_on(self, now: Identity) -> "History":
        """Return the history of this run once it is resumed with the identity ``now``."""
        news = [difference for difference in differences(self.identity, now) if difference.kind != "folder"]
        changes = [Change(difference.key, difference.was, difference.now) for difference in news]
        longer = any(difference.kind == "longer" for difference in news)
        kept = structs.replace(now, weights={**self.identity.weights, **now.weights})
        return History(kept, [*self.changes, *changes], self.finished and not longer, news)

    def with_weights(self, digests: Mapping[str, str]) -> "History":
        """Return the history with digests of further starting weights, which are known once training begins."""
        return replace(self, identity=structs.replace(self.identity, weights={**self.identity.weights, **digests}))

    @property
    def record(self) -> Record:
        """Record of a run that is not finished, for its folder and its checkpoints."""
        return Record(identity=self.identity, changes=list(self.changes))

    def refuse_other(self, run_dir: Path, now: Identity, where: str) -> None:
        """Refuse to resume a folder's run with an identity that makes it another run; ``where`` is for the message."""
        reasons: dict[DifferenceKind, str] = {"training": "", "test": ""}
        if self.finished:
            reasons["data"] = " (other videos, labels or callbacks)"

        callbacks = flatten(now.settings).get(CALLBACKS, [])
        if any(lightning_name(callback) in AVERAGING for callback in callbacks):
            reasons["longer"] = " (averaged weights cannot be trained longer)"
        if packed_files(run_dir):
            reasons["longer"] = " (packed, without a checkpoint to go on from)"

        for difference in differences(self.identity, now):
            if difference.kind in reasons:
                why = f"{run_dir} is another run: {difference}{reasons[difference.kind]}"
                raise UserError(f"{where}: {why}; give another --runs, or delete that folder")
