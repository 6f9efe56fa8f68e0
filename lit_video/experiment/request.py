"""A request to ``fit`` rows of a table with seeds and settings, and the runs that it asks for."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.experiment.ignored import of_file
from lit_video.experiment.layers import of_files, of_row, refuse_varied, with_user_settings
from lit_video.runs.folder import has_result
from lit_video.settings.class_names import CLASS_FOLDERS, DRAWN_ON_USE, classes_of
from lit_video.settings.flags import UserSetting
from lit_video.settings.messages import refuse_unknown_setting
from lit_video.settings.nested import Nested, short_key
from lit_video.tables.reading import read_table
from lit_video.tables.table import OF_RUN, Row, Table
from lit_video.utils.files import data_root, refuse_no_root
from lit_video.utils.yaml_files import EXPERIMENTS, find_config, find_part


@dataclass(frozen=True)
class Request:
    """Rows and seeds to run, the folder of their runs, and their settings."""

    table: Table
    configs: list[Path]
    rows: list[Row]
    seeds: list[int]
    folder: Path  # parent of all runs' folders
    user_settings: list[UserSetting]  # settings on the command line
    single: bool  # one row with one seed
    recipe: str | None = None  # name of a recipe of the scale; by default each family's first recipe
    reuse: bool = False  # take the weights of a finished run with the same training, from any table

    @property
    def runs(self) -> list["Run"]:
        """Runs of every row with every seed, ordered by seed, then by row."""
        return [Run(self, row, seed) for seed in self.seeds for row in self.rows]

    @cached_property
    def files(self) -> Nested:
        """Settings of the files of table and scale, merged; later files win."""
        return of_files(self.base_files)

    @property
    def base_files(self) -> list[Path]:
        """Files of table and scale, over which rows win; the others are the user's own."""
        return [path for path in self.configs if find_config(path) not in self.table.own]


@dataclass(frozen=True)
class Run:
    """A row of a table with a seed."""

    request: Request
    row: Row
    seed: int

    @property
    def label(self) -> str:
        """Row and seed, for messages about one table."""
        return f"{self.row.name} seed {self.seed}"

    @property
    def name(self) -> str:
        """Table, row and seed, for messages about several tables."""
        return f"{self.request.table.name} {self.label}"

    @property
    def folder(self) -> Path:
        """The run's folder, ``RUNS/TABLE/SCALE/ROW/seedK``."""
        return self.request.table.run_dir(self.request.folder, self.row, self.seed)

    @property
    def log(self) -> Path:
        """File of the output of the run's processes."""
        return self.folder / "log.txt"

    @property
    def command(self) -> list[str]:
        """Command that executes the run in its own process."""
        return [sys.executable, "-m", "lit_video", *self.words]

    @property
    def words(self) -> list[str]:
        """Words of the command line that ask for the run, whoever asked for it."""
        request = self.request
        words = ["fit"]
        for path in request.configs:
            words += ["--config", str(path)]
        words += ["--row", self.row.name, "--seeds", str(self.seed), "--runs", str(request.folder)]
        if request.recipe:
            words += ["--recipe", request.recipe]
        if request.reuse:
            words.append("--reuse")
        words += [setting.flag for setting in request.user_settings]
        return words

    @property
    def settings(self) -> Nested:
        """Settings of the run: of table and scale, row, the user's files, flags, and the seed; later ones win."""
        with_own = of_files(self.request.table.own, self.row_settings)
        return with_user_settings(with_own, self.request.user_settings) | {"seed_everything": self.seed}

    @property
    def row_settings(self) -> Nested:
        """Settings of the run without the user's."""
        settings = of_row(self.request.files, self.row, self.start)
        return settings | {"seed_everything": self.seed}

    @property
    def start(self) -> Path | None:
        """Folder of the run to start from, ``run:TABLE/SCALE/ROW`` with this seed; ``None`` if the row names no run."""
        weights = str(self.row.settings.get("model.weights"))
        if not weights.startswith(OF_RUN):
            return None
        return self.request.folder / weights.removeprefix(OF_RUN) / f"seed{self.seed}"

    def refuse_early(self) -> None:
        """Refuse what is known to be wrong before torch is imported: unknown settings, and a folder without videos."""
        for setting in self.request.user_settings:
            group = setting.key.partition(".")[0]
            if group in CLASS_FOLDERS and self._last(group) in classes_of(CLASS_FOLDERS[group]):
                with self._at(setting.key):
                    refuse_unknown_setting(setting.key)
        with self._at("data.root"):
            self._refuse_no_videos()

    @contextmanager
    def _at(self, key: str) -> Iterator[None]:
        """Put a setting's origin before an error."""
        try:
            yield
        except UserError as error:
            raise UserError(f"{self.origin(key)}: {error}") from error

    def _refuse_no_videos(self) -> None:
        """Refuse a data set of this package whose folder does not exist."""
        kind = str(self._last("data"))
        root = self._last("data.root")
        if not isinstance(root, str) or kind not in classes_of("datamodules") or kind == DRAWN_ON_USE:
            return

        source = ""
        if kind == "VideoCSV":
            source = str(self._last("data.source") or "")
            if not source:  # the paths of its tables may be absolute
                return
        refuse_no_root(data_root(root), kind, source)

    def _last(self, key: str) -> Any:
        """Return the last value of a setting in files, row and flags, as it is written; ``None`` without one."""
        request = self.request
        layers = [of_file(path)[1] for path in request.base_files]
        layers += [self.row.settings.items(), *(of_file(path)[1] for path in request.table.own)]
        layers.append([(setting.key, setting.value) for setting in request.user_settings])
        values = [value for layer in layers for name, value in layer if name == key]
        return values[-1] if values else None

    def refuse_unfinished_start(self, weights: str | None) -> None:
        """Refuse to start from the weights of a run that is not finished."""
        start = self.start
        if start is None or weights != str(start) or has_result(start):
            return

        table, scale, row = start.parts[-4:-1]
        recipe = self.request.recipe
        chosen = ""
        if recipe and scale.endswith(f"-{recipe}"):
            scale = scale.removesuffix(f"-{recipe}")
            chosen = f" --recipe {recipe}"

        words = []
        for name in (table, *(f"scale/{part}" for part in scale.split("+"))):
            file = find_part(self.request.table.path, f"{name}.yaml")
            if name == table or file.is_file():  # without an overlay the scale is the table's own
                of_package = file.is_relative_to(EXPERIMENTS) or not file.is_file()
                words.append(f"--config {name if of_package else shlex.quote(str(file))}")
        before = f"{' '.join(words)}{chosen} --row {row} --seeds {self.seed}"
        advice = f"first run lit_video fit {before} --runs {self.request.folder}"
        raise UserError(f"model.weights: {start} is not finished: {advice}, or give other --model.weights")

    def origin(self, key: str = "") -> str:
        """Name a setting's origin for messages: the command line, the file that sets it, or all files, and the row."""
        short = short_key(key)
        request = self.request
        if any(setting.key == short for setting in request.user_settings):
            return "command line"

        own = request.table.own
        files = [path for path in own if short in own[path]]
        if not files and not any(f"{short}.".startswith(f"{name}.") for name in self.row.settings):
            files = [path for path in request.base_files if any(key == short for key, _ in of_file(path)[1])]
        return f"{', '.join(map(str, files[-1:] or request.configs))}: row {self.row.name}"


def build_request(
    configs: Sequence[Path],
    rows: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    *,
    runs: Path = Path("runs"),
    recipe: str | None = None,
    user_settings: Sequence[UserSetting] = (),
    reuse: bool = False,
) -> Request:
    """Read a table and its scale's files into a :class:`Request`.

    Args:
        configs: the table's file, then files of its scale, which rows adapt, and the user's own, which win.
        rows: names or numbers of rows, also several in a text with commas; ``None`` for all rows.
        seeds: a run for each, of each row.
        runs: folder of all runs.
        recipe: name of a recipe of the scale.
        user_settings: settings on the command line.
        reuse: take the weights of a finished run with the same training.

    Raises:
        UserError: a file is wrong, or one of the user's own sets what the table varies.
    """
    table = read_table(list(configs), recipe)
    chosen = table.rows if rows is None else _chosen_rows(table, rows)

    is_one_row = len(chosen) == 1 and (rows is not None or len(table.rows) == 1)
    request = Request(
        table=table,
        configs=list(configs),
        rows=chosen,
        seeds=list(seeds),
        folder=runs,
        user_settings=list(user_settings),
        single=is_one_row and len(seeds) == 1,
        recipe=recipe,
        reuse=reuse,
    )
    for row in chosen if table.own else ():
        refuse_varied(table, row, of_row(request.files, row), user_settings=request.user_settings)
    return request


def _chosen_rows(table: Table, texts: Sequence[str]) -> list[Row]:
    """Return the rows of a table that are named, each once."""
    chosen: dict[str, Row] = {}
    for text in texts:
        for name in text.split(","):
            row = table.row(name)
            chosen[row.name] = row
    return list(chosen.values())
