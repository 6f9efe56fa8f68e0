"""Test every row of the papers' tables, with every recipe, as ``fit`` checks it before training.

Each row is resolved by the command line's own parser and built on the meta device, on a made-up data set. Its cost is
compared with the printed one at the scales with numbers in its table or named in its file. Equal rows of two tables
are tested once. A row takes a third of a second, so the quick tests start one row of each table, scale and
recipe, with a network of moderate size, and check the batch of all rows at all scales; slow tests start all rows.
"""

import json
from functools import cache
from typing import NamedTuple

import pytest

from lit_video.network.cost import count, value
from lit_video.runs.files import RUN
from lit_video.tables.reading import read_table
from lit_video.training.global_batch import accumulation
from lit_video.training.request import Run
from lit_video.training.run import checked_row
from lit_video.utils.yaml_files import read_yaml
from lit_video.weights.loading import load_pretrained
from tests.command_line import parse_request
from tests.datamodules.test_released import DIVING, EPIC, HOWTO, MOMENTS, SOMETHING, kinetics
from tests.tables.experiments import EXPERIMENTS, PAPERS, resolved

RELEASES = {
    "ssv2": SOMETHING,
    "k400": kinetics(400),
    "k600": kinetics(600),
    "epic100": EPIC,
    "diving48": DIVING,
    "howto100m": HOWTO,
    "moments": MOMENTS,
}
# classes of the made-up data sets that are smaller than the real ones
SMALLER = {"howto100m": ["--data.classes=2", "--data.least_videos=5"], "moments": ["--data.classes=3"]}


class Part(NamedTuple):
    """Rows of a table at a scale with a recipe, without rows that an earlier part has too."""

    table: str
    scale: str
    recipe: str
    rows: tuple[str, ...]
    own: bool  # a scale that the table has numbers of or names in its file
    large: bool

    @property
    def files(self):
        return EXPERIMENTS / f"{self.table}.yaml", EXPERIMENTS / f"scale/{self.scale}.yaml"

    @property
    def name(self):
        return f"{self.table}-{self.scale}-{self.recipe}"


def large(settings):
    """Return whether a row's network takes seconds to build and count: ViT-L, long clips and large frames."""
    side = settings["data.image_size"] if isinstance(settings.get("data.image_size"), int) else 0
    return settings.get("model.size") == "L" or settings.get("data.num_frames", 0) >= 64 or side >= 288


@cache
def parts():
    """Return all parts of all tables; a row's place is the first part that has its settings."""
    found, seen = [], set()
    for path in PAPERS:
        own_settings = {key: value for key, value in read_yaml(path).items() if key in ("model", "data", "trainer")}
        family = read_yaml(path)["table"]["family"]
        for scale in RELEASES:
            overlay = EXPERIMENTS / f"scale/{scale}.yaml"
            named = f"scale/{scale}.yaml" in path.read_text(encoding="utf-8")
            own = named or read_table([path, overlay]).on_papers_data
            for recipe in read_yaml(overlay)["recipes"][family]:
                rows = {False: [], True: []}
                for row in read_table([path, overlay], recipe).rows:
                    key = json.dumps([scale, own, own_settings, row.settings, row.published], sort_keys=True)
                    if key not in seen:
                        rows[large(row.settings)].append(row.name)
                    seen.add(key)
                for size, names in rows.items():
                    if names:
                        found.append(Part(path.stem, scale, recipe, tuple(names), own, size))
    return found


@pytest.fixture(scope="session")
def roots(tmp_path_factory):
    """Folder with a made-up data set for each scale; files of videos are empty, for nothing reads them here."""
    folder = tmp_path_factory.mktemp("roots")
    for scale, release in RELEASES.items():
        for name, content in release.files.items():
            (folder / scale / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / scale / name).write_text(content if isinstance(content, str) else json.dumps(content))
        for name in (*release.train, *release.val, *release.others):
            (folder / scale / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / scale / name).touch()
    return folder


def finished(folder):
    """Write the file of a finished run, from which another run starts."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RUN).write_text(json.dumps({"result": {}}))


def check(part, roots, runs, rows=None):
    flags = [f"--config={file}" for file in part.files]
    flags += ["--recipe", part.recipe, "--runs", str(runs), f"--data.root={roots / part.scale}", "--data.missing=skip"]
    request = parse_request(flags + SMALLER.get(part.scale, []))
    for name in rows or part.rows:
        row = request.table.row(name)
        run = Run(request, row, 0)
        if run.start:
            finished(run.start)
        built = checked_row(run)
        if run.start:
            check_start(built.model, run.start)
        if part.own:
            check_cost(built, row, part.recipe)


def check_start(model, start):
    """Load the weights of the row that another row starts from; on the meta device names and shapes are compared."""
    table, scale, row = start.parts[-4:-1]
    given = resolved(row, EXPERIMENTS / f"{table}.yaml", EXPERIMENTS / f"scale/{scale}.yaml")
    load_pretrained(model.network, given.model.network.state_dict(), fresh_head=True)


COUNTED = {}


def check_cost(built, row, recipe):
    """Pass a clip of the row's size through its network; compare parameters and multiply-adds with printed ones."""
    data = built.datamodule
    settings = {key: value for key, value in built.model.hparams.items() if key not in ("optimization", "weights")}
    key = json.dumps([type(built.model).__name__, data.num_frames, data.test_image_size, settings], default=str)
    if key not in COUNTED:
        COUNTED[key] = count(built.model, data.num_frames, data.test_image_size)
    params, macs = COUNTED[key]
    if row.published.get("frames", data.num_frames) != data.num_frames:
        assert recipe == "released", row.name
        return  # the release's clip is not the printed one
    views = row.published.get("views", f"{data.test_clips}x{data.test_crops}").split("x")
    ours = {"params": params, "cost": macs * int(views[0]) * int(views[1])}
    for name, figure in ours.items():
        printed = row.published.get(name)
        close = printed is None or abs(figure / value(printed) - 1) < 0.03
        assert close or row.published.get("note"), f"{row.name}: {name} is {figure:.4g}, printed is {printed}"


OWN = [pytest.param(part, id=part.name) for part in parts() if part.own]
OTHER = [pytest.param(part, id=part.name) for part in parts() if not part.own]
QUICK = [pytest.param(part, id=part.name) for part in parts() if part.own and not part.large]


@pytest.mark.parametrize("part", QUICK)
def test_the_last_row_of_a_table_starts_with_every_recipe(part, roots, tmp_path, capsys):
    check(part, roots, tmp_path, part.rows[-1:])


@pytest.mark.slow
@pytest.mark.parametrize("part", OWN)
def test_every_row_starts_at_the_scales_of_its_table(part, roots, tmp_path, capsys):
    check(part, roots, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", OTHER)
def test_every_row_starts_at_every_other_scale(part, roots, tmp_path, capsys):
    check(part, roots, tmp_path)


@pytest.mark.parametrize("scale", RELEASES)
def test_devices_share_the_batch_of_every_row_at_every_scale(scale):
    devices = read_yaml(EXPERIMENTS / f"scale/{scale}.yaml")["trainer"]["devices"]
    checked = 0
    for part in (part for part in parts() if part.scale == scale):
        table = read_table(part.files, part.recipe)
        for name in part.rows:
            settings = table.row(name).settings
            batches = accumulation(settings["global_batch"], devices, settings["data.batch_size"])
            assert batches >= 1, (part.name, name)
            checked += 1
    assert checked > 100
