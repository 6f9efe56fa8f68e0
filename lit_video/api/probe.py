"""Skills that probes of a trained model's frozen features tell."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from lit_video.api.arguments import File, existing_path
from lit_video.api.schemes import function_in_file
from lit_video.errors import OptionError, UserError
from lit_video.probes.library_names import refuse_unknown_model
from lit_video.schemes.built_in import KNOWN
from lit_video.utils.arguments import Count, Positive, Range, Whole, refuse_wrong_values
from lit_video.utils.files import PROGRAMS, is_picture, is_video, user_path, write_bytes, writing
from lit_video.utils.startup import set_up_process
from lit_video.utils.text import Part, Shown, TextTable
from lit_video.weights.hub import IMAGES, VIDEOS, find_start
from lit_video.weights.integrity import refuse_no_checkpoint

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor, nn

    from lit_video.inference.predict import TrainedModel
    from lit_video.probes.frozen import ClipFormat
    from lit_video.probes.measure import ProbeAccuracies, SkillSeen
    from lit_video.tables.statistics import Interval

Side = int | Sequence[int]  # a side, or height and width
Shares = float | Sequence[float]  # one, or for red, green and blue
Pairs = Annotated[int, Range(4)]  # two pairs of each skill train the probe, two test it
HEADER = ["skill", "kind", "recognised", "direction", "seen", "one frame", "two frames", "pixels", "sum (bound)"]


# On tokens into which the direction was planted, an attentive probe found it in 73 to 92 % of videos after 48 training
# videos, in 92 to 96 % after 256; a linear probe of the mean token found it in 98 to 100 %
WEAK = (
    "an attentive probe of few videos tells less than the tokens hold: its numbers are no limit of the model, and the "
    "linear probe of the mean token may tell more"
)


@dataclass(frozen=True, repr=False)
class Probed(Shown):
    """Accuracies of probes of a frozen model's features, by skill, beside floors."""

    name: str
    clip: ClipFormat  # its clips, and where their settings come from
    reads: str  # in words: the layer that the probe reads
    measured: ProbeAccuracies
    remarks: Sequence[str] = ()  # facts that a reader must know of the model
    picture: Path | None = None  # PNG of the accuracies by skill

    @property
    def skills(self) -> dict[str, SkillSeen]:
        """Accuracies by the skill's name."""
        return {skill.name: skill for skill in self.measured.skills}

    @property
    def data(self) -> list[dict[str, Any]]:
        """A row of numbers for each skill, in percent, for a data frame.

        Beside an attentive probe, columns ``mean_token_recognised``, ... are of a linear probe of the mean token.
        """
        rows: list[dict[str, Any]] = []
        for skill in self.measured.skills:
            names = {"skill": skill.name, "kind": skill.kind}
            floors = {
                "one_frame": 50.0,
                "two_frames": skill.two_frames,
                "pixels": skill.pixels.value,
                "sum_bound": skill.sum_bound,
            }
            rows.append(names | _of_probe(skill) | floors)

        if self.measured.mean_token:
            for row, skill in zip(rows, self.measured.mean_token.skills, strict=True):
                row |= {f"mean_token_{name}": value for name, value in _of_probe(skill).items()}
        return rows

    @property
    def sentences(self) -> list[str]:
        """Sentences on the skills that are seen, those that are not shown, and the width of the intervals."""
        from lit_video.tables.statistics import FEWEST_CLUSTERS  # here, because importing numpy takes time

        measured = self.measured
        sentences = [
            f"direction is seen of: {_listed(measured.skills, seen=True)} (above 50, after Holm's correction)",
        ]
        if not all(skill.is_seen for skill in measured.skills):
            sentences.append(f"not shown for: {_listed(measured.skills, seen=False)}")
        if measured.mean_token:
            seen = _listed(measured.mean_token.skills, seen=True)
            sentences.append(f"by the linear probe of the mean token direction is seen of: {seen}")
        sentences.append(
            f"{measured.rounds} pairs of a video and its reverse for each skill; every other pair tests the probe"
        )
        weak = [WEAK] if measured.probe == "attentive" else []
        if not all(skill.direction.bounded for skill in measured.skills):
            fewest = 2 * FEWEST_CLUSTERS
            sentences.append(f"so few pairs give no interval for a single skill; {fewest} pairs would")
        return [*sentences, measured.resolution, *weak, *self.remarks]

    @cached_property
    def figure(self) -> Figure:
        """Picture of the accuracies by skill."""
        from lit_video.probes.picture import figure_of

        return figure_of(f"What {self.name} sees ({self.measured.probe} probe)", self.measured)

    def parts(self) -> Sequence[Part]:
        """Return the clips, a table with a line for each skill, and sentences."""
        measured = self.measured
        kind = "attentive probe of all frozen tokens" if measured.mean_token else "linear probe of frozen features"
        grids = [_grid(kind, measured)]
        if measured.mean_token:
            grids.append(_grid("linear probe of the mean of these tokens", measured.mean_token))
        return [f"{self.name}: {self.clip}; read: {self.reads}", *grids, "\n".join(self.sentences)]

    def _repr_html_(self) -> str:
        from lit_video.utils.figures import content_of

        return content_of(self.figure, "svg").decode() + super()._repr_html_()

    def write(self, folder: Path) -> Path:
        """Write the picture as ``skills.png`` and the numbers as ``skills.csv``; return the picture's path."""
        from lit_video.utils.figures import content_of
        from lit_video.utils.files import write_table

        picture = folder / "skills.png"
        with writing("--output", folder):
            folder.mkdir(parents=True, exist_ok=True)
            write_bytes(picture, content_of(self.figure))
            rows = self.data
            write_table(folder / "skills.csv", [list(rows[0]), *(list(row.values()) for row in rows)])
        return picture


def _listed(skills: Sequence[SkillSeen], *, seen: bool) -> str:
    """Return the names of the skills whose direction is seen, or is not shown to be."""
    return ", ".join(skill.name for skill in skills if skill.is_seen == seen) or "no skill"


def _grid(kind: str, measured: ProbeAccuracies) -> TextTable:
    chance = 100 / len(measured.skills)
    title = (
        f"{kind}, % of test videos with 95 % intervals; chance: {chance:.1f} recognised, 50 direction; "
        f"turns of {measured.steps} steps"
    )

    body = []
    for skill in measured.skills:
        bound = "-" if skill.sum_bound is None else f"{skill.sum_bound:.1f}"
        seen = "yes" if skill.is_seen else ""
        both = [_cell(skill.recognised), _cell(skill.direction)]
        floors = ["50.0", f"{skill.two_frames:.1f}", f"{skill.pixels.value:.1f}", bound]
        body.append([skill.name, skill.kind, *both, seen, *floors])
    both = [_cell(measured.recognised), _cell(measured.direction)]
    body.append(["all", "", *both, "", "50.0", "", f"{measured.pixels_direction.value:.1f}", ""])
    return TextTable(title, HEADER, body)


def _cell(interval: Interval) -> str:
    if not interval.bounded:
        return f"{interval.value:.1f}"
    return f"{interval.value:.1f} [{interval.low:.0f}, {interval.high:.0f}]"


def _of_probe(skill: SkillSeen) -> dict[str, float | None]:
    """Return what a probe tells of a skill: both accuracies with their intervals, and the p-value of the direction.

    The bounds of an interval are ``None`` where the test videos are too few for one.
    """
    numbers: dict[str, float | None] = {}
    for name, interval in (("recognised", skill.recognised), ("direction", skill.direction)):
        low = interval.low if interval.bounded else None
        high = interval.high if interval.bounded else None
        numbers |= {name: interval.value, f"{name}_low": low, f"{name}_high": high}
    return numbers | {"p": skill.chance}


def probe(
    model: str | Path | TrainedModel | nn.Module | Callable[[Tensor], Tensor],
    *,
    minutes: Positive | None = None,
    pairs: Pairs | None = None,
    num_frames: Count | None = None,
    image_size: Side | None = None,
    mean: Shares | None = None,
    std: Shares | None = None,
    tokens: bool = False,
    random_weights: bool = False,
    seed: Whole = 0,
    device: Literal["cpu", "cuda"] | None = None,
    output: File | None = None,
) -> Probed:
    """Say what a trained model sees of time; it stays as it is.

    A linear probe reads its features of videos of the temporal skills: which skill is recognised, and which direction
    given the skill, beside floors. Features are kept on disk.

    Args:
        model: a run's folder or checkpoint, ``hub:NAME``, ``torchvision:NAME``, ``timm:NAME`` (an image model, averaged
            over frames), a folder of transformers, an exported program, a model of :func:`lit_video.load`, a module, or
            a function, also as ``FILE.py:FUNCTION``, from normalised clips ``(b, 3, t, height, width)`` to features
            ``(b, d)`` or tokens ``(b, n, d)``, which an attentive probe reads.
        minutes: time for its features, which decides the number of videos; ``None`` for 3, or as long as the fewest
            videos take.
        pairs: number of pairs of a video and its reverse for each skill, from 4, in place of minutes.
        num_frames: frames of its clips; ``None`` for the model's own.
        image_size: side, or height and width, in pixels; ``None`` for the model's own.
        mean: mean of pixels from 0 to 1 that is subtracted, one or for each channel; ``None`` for the model's own.
        std: deviation of pixels by which they are divided; ``None`` for the model's own.
        tokens: read all tokens of a run or a folder of transformers by an attentive probe.
        random_weights: take the model as it is before any training.
        seed: seed of the videos and of random weights.
        device: device to compute on; ``None`` for a GPU if there is one, or for a module where it is.
        output: folder to write; ``None`` for ``probe/NAME``.

    Raises:
        UserError: there is no such model, an argument is wrong, or the model gives no features.
    """
    refuse_wrong_values(probe, locals())
    set_up_process()
    refuse_scheme(model)
    _refuse_no_model(model)

    from lit_video.probes.frozen import ModelOptions  # here, because importing torch takes seconds
    from lit_video.probes.measure import probe_skills
    from lit_video.probes.sources import frozen_model

    options = ModelOptions(
        num_frames,
        image_size,
        mean,
        std=std,
        tokens=tokens,
        random_weights=random_weights,
        seed=seed,
        device=device,
    )
    frozen = frozen_model(function_in_file(model) or model, options)
    measured = probe_skills(frozen, seed=options.seed, minutes=minutes, pairs=pairs)
    probed = Probed(frozen.name, frozen.clip, frozen.what, measured, frozen.remarks)

    name = re.sub(r"[^\w.-]+", "_", frozen.name).strip("._")[-60:] or "model"
    folder = Path("probe") / name if output is None else user_path(output)
    return replace(probed, picture=probed.write(folder))


def refuse_scheme(model: object) -> None:
    """Refuse an attention scheme, which :func:`lit_video.profile` trains."""
    if isinstance(model, type) or str(model) in KNOWN:
        name = model.__name__ if isinstance(model, type) else model
        raise UserError(f"{name} is an attention scheme, not a trained model; profile trains one and says what it sees")


def _refuse_no_model(model: object) -> None:
    """Refuse a name, a file or a folder of no model, before torch is imported."""
    text = str(model)
    if not isinstance(model, str | Path):
        return
    if text.startswith((IMAGES, VIDEOS)):
        refuse_unknown_model(text)
        return

    file, _, name = text.rpartition(":")
    if name and file.endswith(".py"):
        existing_path(file, "no such file")
        return

    path = user_path(model)
    if is_picture(path) or is_video(path) or path.suffix == ".py":
        raise UserError(f"{text}: is no model; give a run's folder or checkpoint, hub:NAME, or FILE.py:FUNCTION")
    if path.suffix in PROGRAMS or (path / "config.json").is_file():
        existing_path(path, "no such file")
        return

    try:
        start = find_start(text)
        if isinstance(start, Path):
            refuse_no_checkpoint(start)
    except OptionError as error:
        raise UserError(error.args[1]) from error
