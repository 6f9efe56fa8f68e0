"""Published weights: their list, and their download."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from lit_video.utils.text import Part, Shown, TextTable
from lit_video.weights.hub import Release, fetch, find, releases

WEIGHTS_HEADER = ["name", "model", "data", "clip", "views", "top-1", "top-5", "file", "fetched"]
NOT_OURS = (
    "top-1 and top-5 are those that the authors report; we have fetched and tested none of these weights but drawn, "
    "which are ours and come along: a start for a few videos of your own (docs/drawn_videos.md)"
)


@dataclass(frozen=True, repr=False)
class PublishedWeights(Shown):
    """Published weights by name, for ``hub:NAME``."""

    releases: dict[str, Release]

    def parts(self) -> Sequence[Part]:
        """Return a line for each release."""
        return [
            TextTable("Published weights", WEIGHTS_HEADER, [_row(release) for release in self.releases.values()]),
            NOT_OURS,
        ]


def _row(release: Release) -> list[str]:
    settings = release.settings
    size = settings["model.size"]
    if isinstance(size, Mapping):
        size = f"{size['embed_dim']}x{size['depth']}"

    kind = {1: "", 2: " FE"}.get(settings.get("model.variant", 1), "")
    fetched = "yes" if release.place.exists() else "no"
    if release.inside:
        fetched = "comes along"

    return [
        release.name,
        f"{settings['model']}-{size}{kind}",
        str(settings["data"]),
        f"{settings['data.num_frames']} x {settings['data.image_size']}",
        f"{settings['data.test_clips']} x {settings['data.test_crops']}",
        *(f"{release.published[key]:.1f}" if key in release.published else "" for key in ("top1", "top5")),
        release.repository or release.place.name,
        fetched,
    ]


def published_weights() -> PublishedWeights:
    """Return the list of published weights."""
    return PublishedWeights(releases())


def list_models(pattern: str = "*") -> list[str]:
    """Return the names of trained models that ``load`` and ``from_pretrained`` take, such as ``timesformer-*``.

    Args:
        pattern: pattern of a shell, for some of the names.
    """
    return [name for name in releases() if fnmatch(name, pattern)]


def fetch_weights(*names: str) -> dict[str, Path]:
    """Download published weights into ``$LIT_VIDEO_DATA``, else ``~/.cache/lit_video``; return their paths by name.

    Raises:
        UserError: a name is unknown, or a download fails.
    """
    chosen = [find(name) for name in names]  # refuses an unknown name before the first download
    return {release.name: fetch(release) for release in chosen}
