"""History of a run: what keeps it the same run when it goes on, and what makes another one.

The run stays the same if

- settings that affect no number (``FREE``) or tell where the videos are (``FOLDERS``) change;
- a step's batch is divided over other devices (``SPREAD``), or other code resumes the run; ``changes`` records both;
- training becomes longer, unless its weights are averaged or the run is packed and so has no checkpoint;
- its videos, labels or a user's own callbacks change before it is finished.

Any other change of a setting, video, label or starting weight makes another run. ``fit --reuse`` takes the weights of
another run with the same code and videos if only settings of the test differ (``TESTS``). Rows of a table are compared
only if they differ in nothing but the seed and the rows' own settings.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.runs.folder import packed_files
from lit_video.runs.identity import Identity, differences
from lit_video.settings.differences import AVERAGING, Difference, Kind
from lit_video.settings.flat import CALLBACKS, flatten, lightning_name


@dataclass(frozen=True)
class History:
    """Identity and changes of a run, kept in its checkpoints and its result."""

    identity: Identity  # identity of the last attempt
    changes: list[dict[str, Any]] = field(default_factory=list)  # changes since the run began: key, from, to
    finished: bool = False  # True if there is a result, and its training was at least as long as requested
    news: list[Difference] = field(default_factory=list)  # changes since the last attempt

    def going_on(self, now: Identity) -> "History":
        """Return the history of this run once it is resumed with the identity ``now``."""
        news = [each for each in differences(self.identity, now) if each.kind != "folder"]
        changes = [{"key": each.key, "from": each.was, "to": each.now} for each in news]
        return History(now, self.changes + changes, self.finished and all(each.kind != "longer" for each in news), news)

    def content(self) -> dict[str, Any]:
        """Return identity and changes for a file."""
        return {"identity": asdict(self.identity), "changes": self.changes}

    def refuse_other(self, run_dir: Path, now: Identity, where: str) -> None:
        """Refuse ``now`` if it is another run than the folder's; ``where`` names the origin of the settings."""
        reasons: dict[Kind, str] = {"training": "", "test": ""}
        if self.finished:
            reasons["data"] = " (other videos, labels or callbacks)"
        callbacks = flatten(now.settings).get(CALLBACKS, [])
        if any(lightning_name(each) in AVERAGING for each in callbacks):
            reasons["longer"] = " (averaged weights cannot be trained longer)"
        if packed_files(run_dir):
            reasons["longer"] = " (packed, without a checkpoint to go on from)"
        for each in differences(self.identity, now):
            if each.kind in reasons:
                why = f"{run_dir} is another run: {each}{reasons[each.kind]}"
                raise UserError(f"{where}: {why}; give another --runs, or delete that folder")
