"""Test every row of the papers' tables, with every recipe, as ``fit`` checks it before training.

The data sets are made up, and networks are on the meta device. A row's cost is compared with the printed one at the
scales with numbers in its table or named in its file. Rows of equal settings are tested once.

The quick tests cover all rows at a scale of their table with its first recipe, without the largest networks: they read
each section of settings (model, data, trainer) once, by the parser of its class, and build each network once. The slow
tests do so with all other recipes and at all other scales, start every row as ``fit`` does, and count its cost.
"""

import json
from functools import cache
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch
from lightning.pytorch.cli import LightningArgumentParser

from lit_video.datamodules import VideoDataModule
from lit_video.engine.global_batch import accumulation, check_scaling
from lit_video.errors import UserError
from lit_video.experiment.cli import VideoCLI
from lit_video.experiment.ignored import LINKED_SETTINGS, refuse_ignored
from lit_video.experiment.request import Run
from lit_video.experiment.spec import Spec
from lit_video.modules import VideoClassifier
from lit_video.network.multiply_adds import count_params_and_macs, value
from lit_video.runs.folder import RUN
from lit_video.training.check import checked
from lit_video.utils.yaml_files import read_yaml
from lit_video.weights.loading import load_pretrained
from tests.command_line import parse_request
from tests.datamodules.test_released import DIVING, EPIC, HOWTO, MOMENTS, SOMETHING, kinetics
from tests.tables.experiments import EXPERIMENTS, PAPERS, resolved, table_of

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


# a row of other data, with more test clips than the release's sampling of this data set has
REFUSED = {("xvit_k600", "ssv2", "x3d_xl"): "test_clips is 10"}


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


def refused(part, row):
    """Return what is said of a row that is refused; ``None`` for one that starts."""
    return REFUSED.get((part.table, part.scale, row.name))


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
            own = named or table_of(path, overlay).on_papers_data
            for recipe in read_yaml(overlay)["recipes"][family]:
                rows = {False: [], True: []}
                for row in table_of(path, overlay, recipe=recipe).rows:
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


def runs_of(part, roots, folder):
    """Return the runs of a part's rows with the made-up data set."""
    flags = [f"--config={file}" for file in part.files]
    flags += ["--recipe", part.recipe, "--runs", str(folder), f"--data.root={roots / part.scale}"]
    request = parse_request([*flags, "--data.missing=skip", *SMALLER.get(part.scale, [])])
    return [Run(request, request.table.row(name), 0) for name in part.rows]


def start(part, roots, folder):
    """Start every row of a part as ``fit`` does, up to training."""
    for run in runs_of(part, roots, folder):
        if run.start:
            finished(run.start)
        if reason := refused(part, run.row):
            with pytest.raises(UserError, match=reason):
                checked(Spec(run))
            continue
        built = checked(Spec(run))
        if run.start:
            check_start(built.model, run.start)
        if part.own:
            check_cost(built, run.row, part)


KINDS = {"data": VideoDataModule, "model": VideoClassifier}
READ, BUILT = {}, {}


@cache
def parser_of(section):
    """Return the parser of a section that names a class."""
    parser = LightningArgumentParser(exit_on_error=False)
    parser.add_lightning_class_args(KINDS[section], section, subclass_mode=True)
    return parser


def read(section, settings):
    """Read a section's settings, equal ones once; the model's numbers from the data set are left open."""
    key = json.dumps([section, settings], sort_keys=True)
    if key not in READ:
        content = {**settings, "init_args": {**settings.get("init_args", {})}}
        if section == "model":
            content["init_args"]["num_classes"] = 2
        READ[key] = parser_of(section).parse_object({section: content})
    return key, READ[key].clone()


def built(section, settings, **links):
    """Build a section's object on the meta device and check its files, equal ones once."""
    key, config = read(section, settings)
    key = json.dumps([key, links], default=str)
    if key not in BUILT:
        for name, value in links.items():
            config[section].init_args[name] = value
        with torch.device("meta"):
            BUILT[key] = parser_of(section).instantiate(config)[section]
        if section == "model":
            BUILT[key].check_image_weights()
        else:
            BUILT[key].check()
    return BUILT[key]


@cache
def trainer_of(text):
    """Read the settings besides model and data, given as JSON."""
    root = {"class_path": "VideoFolder", "init_args": {"root": "."}}
    return VideoCLI({**json.loads(text), "model": {"class_path": "XViT"}, "data": root}).config


def resolve(run):
    """Read a run's settings, section by section, and build its data set and its network."""
    refuse_ignored(run.request.configs, [(run.origin(), run.row.settings.items())], seed=run.seed)
    settings = run.settings
    own = {key: value for key, value in settings.items() if key not in KINDS}

    datamodule = built("data", settings["data"])
    links = {name: getattr(datamodule, name) for name in LINKED_SETTINGS}
    model = built("model", settings["model"], **links)
    return SimpleNamespace(datamodule=datamodule, model=model, config=trainer_of(json.dumps(own)))


def check(part, roots, folder):
    """Check every row of a part; what ``checked`` asks once data and network are built."""
    for run in runs_of(part, roots, folder):
        if reason := refused(part, run.row):
            with pytest.raises(ValueError, match=reason):
                resolve(run)
            continue
        row = resolve(run)
        check_scaling(row.config.trainer, row.config.global_batch, row.datamodule.batch_size)
        if run.start:
            check_start(row.model, run.start)


def check_start(model, folder):
    """Load the weights of the row that another row starts from; on the meta device names and shapes are compared."""
    table, scale, row = folder.parts[-4:-1]
    scale, _, recipe = scale.partition("-")
    given = resolved(row, EXPERIMENTS / f"{table}.yaml", EXPERIMENTS / f"scale/{scale}.yaml", recipe=recipe or None)
    load_pretrained(model.network, given.model.network.state_dict(), fresh_head=True)


COUNTED = {}


def clip_of(row):
    """Return the size of a row's clip, as far as recipe and row set it."""
    return [row.settings.get(f"data.{name}") for name in ("num_frames", "image_size", "test_image_size")]


def check_cost(built, row, part):
    """Pass a clip of the row's size through its network; compare parameters and multiply-adds with printed ones."""
    data = built.datamodule
    settings = {key: value for key, value in built.model.hparams.items() if key not in ("optimization", "weights")}
    key = json.dumps([type(built.model).__name__, data.num_frames, data.test_image_size, settings], default=str)
    if key not in COUNTED:
        COUNTED[key] = count_params_and_macs(built.model, data.num_frames, data.test_image_size)
    params, macs = COUNTED[key]
    papers = table_of(*part.files).row(row.name)
    if part.recipe == "released" and clip_of(row) != clip_of(papers):
        return  # the release's clip is not the printed one
    assert row.published.get("frames", data.num_frames) == data.num_frames, row.name
    views = row.published.get("views", f"{data.test_clips}x{data.test_crops}").split("x")
    ours = {"params": params, "cost": macs * int(views[0]) * int(views[1])}
    for name, figure in ours.items():
        printed = row.published.get(name)
        close = printed is None or abs(figure / value(printed) - 1) < 0.03
        assert close or row.published.get("note"), f"{row.name}: {name} is {figure:.4g}, printed is {printed}"


OWN = [pytest.param(part, id=part.name) for part in parts() if part.own]
OTHER = [pytest.param(part, id=part.name) for part in parts() if not part.own]
FIRST = {part.table: part for part in reversed(parts()) if part.own and not part.large}
# parts without the largest networks; the first of each table is tested at every commit, the others take minutes
MODERATE = [
    pytest.param(part, id=part.name, marks=() if part in FIRST.values() else pytest.mark.slow)
    for part in parts()
    if not part.large
]


@pytest.mark.parametrize("part", MODERATE)
def test_every_row_of_moderate_size_is_resolved_at_every_scale_with_every_recipe(part, roots, tmp_path, capsys):
    check(part, roots, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", OWN)
def test_every_row_starts_at_the_scales_of_its_table(part, roots, tmp_path, capsys):
    start(part, roots, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", OTHER)
def test_every_row_starts_at_every_other_scale(part, roots, tmp_path, capsys):
    start(part, roots, tmp_path)


@pytest.mark.parametrize("scale", RELEASES)
def test_devices_share_the_batch_of_every_row_at_every_scale(scale):
    devices = read_yaml(EXPERIMENTS / f"scale/{scale}.yaml")["trainer"]["devices"]
    checked = 0
    for part in (part for part in parts() if part.scale == scale):
        table = table_of(*part.files, recipe=part.recipe)
        for name in part.rows:
            settings = table.row(name).settings
            batches = accumulation(settings["global_batch"], devices=devices, batch_size=settings["data.batch_size"])
            assert batches >= 1, (part.name, name)
            checked += 1
    assert checked > 100
