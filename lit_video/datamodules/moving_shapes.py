"""The smallest embedded data set: shapes that move one way or the other."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from lit_video.datamodules.drawing import SHAPES
from lit_video.datamodules.moving_shapes_rendering import MOTIONS, SHORTEST, ZOOMS, draw_scene, render
from lit_video.datamodules.reversed_pairs import Drawn, ReversedPairs
from lit_video.video.sampling import Dense, Sampling

VERSION = 1  # of the pictures: a change of what is drawn for a seed raises it


class MovingShapes(ReversedPairs):
    """Shapes that drift left or right over a torus, or grow or shrink: class = shape x motion, 4 x 2 = 8 classes.

    Models that are blind to order see the shape, and guess the motion: at most 50 % (see :class:`ReversedPairs`);
    chance is 12.5 %. Most others end near 100 %: :class:`TemporalSkills` grades them.

    Nuisance, drawn per pair: start (uniform over the torus), speed, slope of the path, size, colours, background
    gradient and texture, noise, duration and frame rate.

    Args:
        root: see :class:`ReversedPairs`.
        difficulty: 0 to 1; raises noise and texture, lowers contrast and size (see ``draw_scene``).
        pairs: pairs of videos per shape in train, val and test.
        motion: ``drift`` left or right; or ``zoom``: the shape stays in its place and grows or shrinks, which is
            easier: it takes what one place shows, and when.
        sampling: how clips are cut, ``Dense`` or ``Segments``; ``None`` for 1 second.
        **kwargs: see :class:`VideoDataModule`.

    Raises:
        ValueError: a value out of its range, a flip, a sampling that cuts no symmetric clips, or dense clips longer
            than the shortest video, whose repeated last frame would differ between the members of a pair.
    """

    def __init__(
        self,
        root: str | None = None,
        difficulty: float = 0.25,
        pairs: tuple[int, int, int] = (128, 8, 64),
        motion: Literal["drift", "zoom"] = "drift",
        sampling: Sampling | None = None,
        **kwargs: Any,
    ) -> None:
        self.motion = motion
        folder = f"moving_shapes-v{VERSION}-d{difficulty:g}{'-zoom' if motion == 'zoom' else ''}"
        sampling = sampling or Dense(seconds=1.0)
        super().__init__(root, folder, VERSION, difficulty, pairs, sampling=sampling, **kwargs)
        if isinstance(self.sampling, Dense) and self.sampling.seconds > SHORTEST:
            raise ValueError(f"sampling.seconds is {self.sampling.seconds}, the shortest video lasts {SHORTEST:.3f}")

    @property
    def kinds(self) -> Sequence[str]:
        """The shapes."""
        return SHAPES

    def directions(self, kind: str) -> tuple[str, str]:
        """``disk moving left`` and ``disk moving right``, or ``disk shrinking`` and ``disk growing``."""
        backward, forward = ZOOMS if self.motion == "zoom" else tuple(f"moving {motion}" for motion in MOTIONS)
        return f"{kind} {backward}", f"{kind} {forward}"

    def draw(self, kind: str, seed: int, difficulty: float) -> Drawn:
        """A video that moves right, or grows."""
        scene = draw_scene(seed, kind, difficulty, self.motion == "zoom")
        return Drawn(render(scene), scene.fps, str(asdict(scene)))
