"""Whether a run's folder is of the videos and labels that are listed now: settings name a folder, not what it holds."""

from pathlib import Path

from lit_video.datamodules import TemporalSkills, VideoDataModule
from lit_video.datamodules.digest import data_digest
from lit_video.errors import UserError
from lit_video.tables.results import FILE, read_result
from lit_video.training.checkpoint_file import peek

LISTED_KEY = "lit_video_listed"  # of a checkpoint


def listed(data: VideoDataModule) -> str | None:
    """Digest of the videos and labels; ``None`` of videos that are drawn, which the settings decide."""
    return None if isinstance(data, TemporalSkills) else data_digest(data)


def refuse_other_data(run_dir: Path, data: VideoDataModule, where: str) -> None:
    """Refuse to take a finished run for one of other videos or labels.

    Raises:
        UserError: its result was measured on others than are listed now.
    """
    try:
        measured = (read_result(run_dir) or {}).get("data_digest")
    except UserError:
        return  # damaged: the run measures again
    if measured and (now := listed(data)) not in (None, measured):
        raise UserError(
            f"{where}: {run_dir / FILE} was measured on other videos or labels (data_digest {measured}) than are "
            f"listed now ({now}); give another --runs, or delete that folder"
        )


def changed_data(checkpoint: Path | None, data: VideoDataModule) -> dict[str, tuple[str, str | None]]:
    """The digest of the data that a training had so far, and that of now, where they differ."""
    before = peek(checkpoint).get(LISTED_KEY) if checkpoint else None
    if not before or (now := listed(data)) in (None, before):
        return {}
    return {"data_digest": (before, now)}
