"""Test every table at every scale: rows build and keep their settings, recipes are used whole."""

import pytest

from lit_video.__main__ import main
from lit_video.experiment.ignored import refuse_ignored
from lit_video.tables.reading import read_table
from lit_video.utils.yaml_files import read_yaml
from tests.tables.experiments import EXPERIMENTS, PAPERS, differing, equal, request_of, resolved

OWN = ("avletters*.yaml", "embedded_*.yaml", "twelve.yaml", "utd_mhad*.yaml")  # tested elsewhere
OTHER = {path for pattern in OWN for path in (EXPERIMENTS / "scale").glob(pattern)}
SCALES = sorted(set((EXPERIMENTS / "scale").glob("*.yaml")) - OTHER)
RECIPES = {scale: read_yaml(scale).get("recipes", {}) for scale in SCALES}
DATA = {
    "embedded": ("TemporalSkills", 16),
    "gpu": ("TemporalSkills", 16),
    "ssv2": ("SomethingV2", 174),
    "k400": ("Kinetics400", 400),
    "k600": ("Kinetics600", 600),
    "epic100": ("EpicKitchens100", {"verb": 97, "noun": 300}),
    "diving48": ("Diving48", 48),
    "howto100m": ("HowTo100MTasks", 1059),
    "moments": ("MomentsInTime", 339),
}


def check(table, scale, row=None, **more):
    """Build rows of a table at a scale, and check that they keep all their settings."""
    for chosen in [one for one in request_of(table, scale, **more).rows if row in (None, one.name)]:
        built = resolved(chosen.name, table, scale, **more)
        assert not differing(chosen.settings, built.settings), chosen.name
        name, classes = DATA[scale.stem]
        assert type(built.datamodule).__name__ == name
        assert built.datamodule.num_classes == classes
        built.model.check_image_weights()
        if "model.optimization" in chosen.settings:  # no value is left of the embedded scale
            given = chosen.settings["model.optimization"]
            for key in ("optimizer", "lr", "weight_decay", "warmup", "warmup_start"):
                assert key in given, f"{chosen.name}: {key} would be the embedded scale's"


# a table of every data set and family; test_rehearsal.py builds every row
FEW = [("ablation_tw", "ssv2"), ("ablation_tw", "gpu"), ("timesformer_cnns", "gpu"), ("vivit_models", "k400")]
FEW += [("xvit_k400", "k400"), ("xvit_k600", "k600"), ("xvit_epic", "epic100"), ("timesformer_diving48", "diving48")]
FEW += [("timesformer_long_video", "howto100m")]


@pytest.mark.parametrize(("table", "scale"), FEW)
def test_the_last_row_of_a_table_builds_at_its_scale(table, scale):
    path = EXPERIMENTS / f"{table}.yaml"
    check(path, EXPERIMENTS / f"scale/{scale}.yaml", read_table([path]).rows[-1].name)


def test_weights_of_another_size_are_refused_before_anything_is_started(tiny, tmp_path, capsys):
    flags = ["--model.image_weights=timm:vit_tiny_patch16_224.augreg_in21k", "--runs", str(tmp_path)]
    assert main(["fit", "--config", str(EXPERIMENTS / "ablation_tw.yaml"), "--row", "tw1", *flags]) == 2
    assert (
        "image_weights: timm:vit_tiny_patch16_224.augreg_in21k: it is another ViT, embed_dim 192"
        in capsys.readouterr().err
    )
    assert not list(tmp_path.iterdir())


def test_the_papers_batch_is_that_of_eight_gpus_on_any_number_of_them():
    families = [recipes for path in SCALES for recipes in RECIPES[path].values()]
    papers = [recipe for recipes in families for name, recipe in recipes.items() if name != "own"]
    assert len(papers) > 30
    assert all(recipe["global_batch"] == 8 * recipe["data.batch_size"] for recipe in papers)


@pytest.mark.parametrize("scale", SCALES, ids=lambda path: path.stem)
def test_every_row_of_every_table_reads_at_every_scale(scale):
    for table in PAPERS:
        request = request_of(table, scale)
        for run in request.runs:
            refuse_ignored(run.request.configs, [(run.name, run.row.settings.items())], seed=run.seed)


OTHERS = [
    (scale, family, name)
    for scale, families in RECIPES.items()
    for family, names in families.items()
    for name in list(names)[1:]
]
OF_FAMILY = {"xvit": "ablation_tw", "timesformer": "timesformer_positions", "vivit": "vivit_models"}


@pytest.mark.parametrize(("scale", "family", "name"), OTHERS, ids=lambda value: getattr(value, "stem", value))
def test_recipes_that_are_not_the_default_build_too(scale, family, name):
    table = EXPERIMENTS / f"{OF_FAMILY[family]}.yaml"
    assert set(RECIPES[scale][family][name]) <= set(read_table([table, scale], name).rows[0].settings)
    check(table, scale, read_table([table]).rows[0].name, recipe=name)


@pytest.mark.parametrize("table", ["xvit_k400", "xvit_k600", "xvit_ssv2"])
def test_timesformer_knows_time_beside_xvit_too(table, letters, persons):
    """X-ViT's settings of the embedded scale have no positions in time, without which divided attention is blind."""
    real = {} if table == "xvit_k600" else {"avletters": letters, "utd_mhad": persons}  # scales without CNNs
    for name, folder in {"gpu": None, **real}.items():
        files = (EXPERIMENTS / f"{table}.yaml", EXPERIMENTS / f"scale/{name}.yaml")
        flags = (f"--data.root={folder}",) if folder else ()
        (row,) = [row.name for row in request_of(*files, flags=flags).rows if row.name.startswith("timesformer")]
        assert resolved(row, *files, flags=flags).settings["model"]["init_args"]["positions"] == "space-time", name


@pytest.mark.parametrize("table", OF_FAMILY.values())
def test_rows_of_every_family_build_on_persons_with_one_optimization(table, persons):
    files = (EXPERIMENTS / f"{table}.yaml", EXPERIMENTS / "scale" / "utd_mhad.yaml")
    own = read_yaml(EXPERIMENTS / "parts" / "xvit_utd_mhad.yaml")["init_args"]
    shared = {key: own[key] for key in ("size", "patch_size", "optimization")}
    flags = (f"--data.root={persons}",)
    row = request_of(*files, flags=flags).rows[-1]
    built = resolved(row.name, *files, flags=flags).settings
    assert not differing(row.settings, built)
    assert equal(shared, built["model"]["init_args"])


@pytest.mark.parametrize(
    ("table", "overlay", "train", "val"),
    [
        ("avletters", "avletters_back", [2], [1]),
        ("avletters", "avletters_third", [1, 2], [3]),
        ("utd_mhad", "utd_mhad_held", ["s01", "s03", "s05"], ["s07"]),
        ("utd_mhad", "utd_mhad_other", ["s02", "s04", "s06", "s08"], ["s01", "s03", "s05", "s07"]),
    ],
)
def test_videos_trained_and_tested_on_are_chosen_by_an_overlay(table, overlay, train, val, letters, persons):
    files = (EXPERIMENTS / f"{table}.yaml", EXPERIMENTS / "scale" / f"{overlay}.yaml")
    flags = (f"--data.root={letters if table == 'avletters' else persons}",)
    request = request_of(*files, flags=flags)
    data = resolved(request.rows[0].name, *files, flags=flags).settings["data"]["init_args"]
    assert (request.table.scale, data["train_values"], data["val_values"]) == (overlay, train, val)
