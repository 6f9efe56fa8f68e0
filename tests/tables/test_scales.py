"""Every table at every scale: rows build and keep their settings, recipes are used whole; the papers' numbers again."""

import pytest

from lit_video.datamodules.temporal_skills import SKILLS
from lit_video.tables.identity import flatten
from lit_video.tables.reading import read_table
from lit_video.training.cli import refuse_ignored
from lit_video.utils.yaml_files import read_yaml
from tests.tables.experiments import EXPERIMENTS, PAPERS, differing, request_of, resolved

AVLETTERS = EXPERIMENTS / "scale" / "avletters.yaml"  # ours, on real video that is not in the repository
OWN = ("avletters*.yaml", "embedded_*.yaml")  # these are tested on their own
OTHER = {path for pattern in OWN for path in (EXPERIMENTS / "scale").glob(pattern)}
SCALES = sorted(set((EXPERIMENTS / "scale").glob("*.yaml")) - OTHER)
RECIPES = {scale: read_yaml(scale).get("recipes", {}) for scale in SCALES}
FAMILIES = {"xvit", "timesformer", "vivit", "cnn"}
DATA = {
    "embedded": ("TemporalSkills", 16),
    "gpu": ("TemporalSkills", 16),
    "ssv2": ("SomethingV2", 174),
    "k400": ("Kinetics400", 400),
    "k600": ("Kinetics600", 600),
    "epic100": ("EpicKitchens100", {"verb": 97, "noun": 300}),
    "diving48": ("Diving48", 48),
    "howto100m": ("HowTo100MTasks", 1059),
    "avletters": ("VideoCSV", 2),  # letters of the test's videos
}


def check(table, scale, row=None, **more):
    """Build rows of a table at a scale; all their settings must be in what they resolve to."""
    for chosen in [one for one in request_of(table, scale, **more).rows if row in (None, one.name)]:
        built = resolved(chosen.name, table, scale, **more)
        assert not differing(chosen.settings, built.settings), chosen.name
        name, classes = DATA[scale.stem]
        assert type(built.datamodule).__name__ == name
        assert built.datamodule.num_classes == classes
        if "model.optimization" in chosen.settings:  # nothing is left of the embedded part's
            given = chosen.settings["model.optimization"]
            for key in ("optimizer", "lr", "weight_decay", "warmup", "warmup_start"):
                assert key in given, f"{chosen.name}: {key} would be the embedded scale's"


def own_scales(table):
    """The scale of a table's data set, by its source, and the one that no paper has."""
    source = read_table([table]).source
    words = {
        "k400": "Kinetics-400",
        "k600": "Kinetics-600",
        "epic100": "Epic",
        "diving48": "Diving",
        "howto100m": "HowTo",
    }
    own = next((scale for scale, word in words.items() if word in source), "ssv2")
    return [EXPERIMENTS / "scale" / f"{name}.yaml" for name in (own, "gpu")]


PAIRS = [(table, scale) for table in PAPERS for scale in own_scales(table)]
# a table of every data set and family here, the others in the slow tests
FEW = {("ablation_tw", "ssv2"), ("ablation_tw", "gpu"), ("timesformer_cnns", "gpu"), ("vivit_models", "k400")}
FEW |= {("xvit_k400", "k400"), ("xvit_k600", "k600"), ("xvit_epic", "epic100"), ("timesformer_diving48", "diving48")}
FEW |= {("timesformer_long_video", "howto100m")}
BUILT = [pytest.param(*pair, marks=[pytest.mark.slow] * (tuple(p.stem for p in pair) not in FEW)) for pair in PAIRS]


@pytest.mark.parametrize(("table", "scale"), BUILT, ids=lambda path: path.stem)
def test_the_last_row_of_every_table_builds_at_its_scale_and_ours(table, scale):
    check(table, scale, read_table([table]).rows[-1].name)


def test_the_papers_batch_is_that_of_eight_gpus_on_any_number_of_them():
    recipes = [(path.stem, recipe) for path in SCALES for names in RECIPES[path].values() for recipe in names.values()]
    papers = [recipe for scale, recipe in recipes if scale != "gpu"]
    assert len(papers) == 31
    assert all(recipe["global_batch"] == 8 * recipe["data.batch_size"] for recipe in papers)


@pytest.mark.parametrize("scale", SCALES, ids=lambda path: path.stem)
def test_every_row_of_every_table_reads_at_every_scale(scale):
    for table in PAPERS:
        request = request_of(table, scale)
        for row in request.rows:
            refuse_ignored(request.row_args(row, 0), f"{table.stem} {row.name}")


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES, ids=lambda path: path.stem)
@pytest.mark.parametrize("table", PAPERS, ids=lambda path: path.stem)
def test_every_row_builds_at_every_scale(table, scale):
    check(table, scale)


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


@pytest.mark.parametrize("scale", SCALES, ids=lambda path: path.stem)
def test_a_scale_serves_every_family_and_names_recipes_for_what_they_are(scale):
    content = read_yaml(scale)
    assert "model" not in content
    if scale.stem == "embedded":
        assert "recipes" not in content
        return
    assert set(RECIPES[scale]) == FAMILIES
    expected = {"own"} if scale.stem == "gpu" else {"paper", "released", "borrowed"}
    assert {name for names in RECIPES[scale].values() for name in names} <= expected
    assert "ot run" in scale.read_text() or "has been run" in scale.read_text()


def test_scales_are_the_data_sets():
    assert {scale.stem for scale in [*SCALES, AVLETTERS]} == set(DATA)


@pytest.mark.parametrize("table", ["ablation_tw", "ablation_ratio", "timesformer_schemes", "vivit_models"])
def test_tables_of_every_transformer_build_on_real_video(table, letters):
    path = EXPERIMENTS / f"{table}.yaml"
    check(path, AVLETTERS, read_table([path]).rows[-1].name, flags=(f"--data.root={letters}",))


@pytest.mark.parametrize("table", ["xvit_k400", "xvit_k600", "xvit_ssv2"])
def test_timesformer_knows_time_beside_xvit_too(table, letters):
    """X-ViT's settings of the embedded scale have no positions in time, without which divided attention is blind."""
    names = ("gpu",) if table == "xvit_k600" else ("gpu", "avletters")  # which has no CNNs
    for name in names:
        files = (EXPERIMENTS / f"{table}.yaml", EXPERIMENTS / f"scale/{name}.yaml")
        flags = (f"--data.root={letters}",) if name == "avletters" else ()
        (row,) = [row.name for row in request_of(*files, flags=flags).rows if row.name.startswith("timesformer")]
        assert resolved(row, *files, flags=flags).settings["model"]["init_args"]["positions"] == "space-time", name


WITH_SIDES = [table for table in PAPERS if "data.side" in table.read_text()]


@pytest.mark.parametrize("table", WITH_SIDES, ids=lambda path: path.stem)
def test_all_rows_of_a_table_are_tested_on_the_same_pictures(table):
    """Crops may differ in size, the videos that they are cut from may not."""
    for scale in ("embedded", "gpu"):
        rows = read_table([table, EXPERIMENTS / "scale" / f"{scale}.yaml"]).rows
        keys = ("data.side", "data.length", "data.frames_per_step", "data.skills", "data.pairs")
        assert len({tuple(str(row.settings.get(key)) for key in keys) for row in rows}) == 1, scale


@pytest.mark.parametrize(("overlay", "train", "val"), [("back", [2], [1]), ("third", [1, 2], [3])])
def test_repetitions_are_chosen_by_an_overlay(overlay, train, val, letters):
    files, flags = (
        (EXPERIMENTS / "avletters.yaml", AVLETTERS.with_name(f"avletters_{overlay}.yaml")),
        (f"--data.root={letters}",),
    )
    request = request_of(*files, flags=flags)
    data = resolved(request.rows[0].name, *files, flags=flags).settings["data"]["init_args"]
    assert (request.table.scale, data["train_values"], data["val_values"]) == (f"avletters_{overlay}", train, val)


EVEN = [name if name[:5] != "order" else f"order{int(name[5:]) + 1}" for name in SKILLS]


@pytest.mark.parametrize(
    ("overlay", "table", "changed"),
    [
        ("wide", "ablation_ratio", {"model.init_args.size.width": (48, 96)}),
        ("one_head", "ablation_ratio", {"model.init_args.size.heads": (4, 1)}),
        ("two_heads", "ablation_ratio", {"model.init_args.size.heads": (4, 2)}),
        ("two_heads", "ablation_mixed", {"model.init_args.size.heads": (4, 2)}),
        ("longer", "ablation_mixed", {"trainer.max_epochs": (3, 24), "trainer.check_val_every_n_epoch": (3, 24)}),
        ("even", "ablation_tw", {"data.init_args.skills": (list(SKILLS), EVEN)}),
        ("longer", "vivit_models", {"trainer.max_epochs": (8, 24), "trainer.check_val_every_n_epoch": (8, 24)}),
    ],
)
def test_a_follow_up_changes_what_it_is_about_and_no_more(overlay, table, changed):
    was = (EXPERIMENTS / f"{table}.yaml",)
    now = (*was, EXPERIMENTS / "scale" / f"embedded_{overlay}.yaml")
    names = [row.name for row in request_of(*was).rows]
    assert names == [row.name for row in request_of(*now).rows]
    a, b = (flatten(resolved(names[-1], *files).settings) for files in (was, now))
    assert {key: (a.get(key), b.get(key)) for key in a.keys() | b.keys() if a.get(key) != b.get(key)} == changed


# Typed a second time. TimeSformer, arXiv:2102.05095, Tables 1-8: by data set, rows of the paper alone first
TIMESFORMER = {
    "timesformer_schemes": {"ssv2": [36.6, 58.5, 59.5, 56.3, 56.2], "k400": [76.9, 77.4, 78.0, 75.9, 73.5]},
    "timesformer_cnns": {"k400": [71.0, 70.0, 75.6, 73.4, 76.4, 75.8, 78.0]},
    "timesformer_pretraining": {
        "k400": [75.8, 78.0, 77.8, 79.7, 78.1, 80.7],
        "ssv2": [59.5, 59.5, 62.2, 62.5, 62.4, 62.3],
    },
    "timesformer_positions": {"ssv2": [45.8, 52.5, 59.5], "k400": [75.4, 77.8, 78.0]},
    "timesformer_k400": {
        "k400": [72.0, 73.5, 74.7, 74.7, 75.7, 75.9, 77.7, 77.8, 79.2, 79.4, 79.8, 80.4, 78.0, 79.7, 80.7]
    },
    "timesformer_k600": {"k600": [79.8, 81.5, 81.8, 81.9, 79.1, 81.8, 82.2]},
    "timesformer_ssv2": {"ssv2": [61.7, 63.4, 64.2, 64.7, 65.1, 65.2, 59.5, 62.2, 62.4]},
    "timesformer_diving48": {"diving48": [77.6, 74.9, 78.0, 81.0]},
    "timesformer_long_video": {"howto100m": [48.2, 50.8, 51.5, 51.2, 56.8, 61.2, 62.2, 62.6]},
    "timesformer_clips": {"k400": [78.0, 80.7]},
    "timesformer_tokens": {},
    "timesformer_data_share": {},
    "timesformer_cost": {},
}
# ViViT, arXiv:2103.15691, Tables 2 and 1
VIVIT = {
    "vivit_models": {"k400": [80.0, 78.8, 77.4, 76.3, 75.8], "epic100": [43.1, 43.7, 39.1, 39.5, 38.8]},
    "vivit_tubelets": {"k400": [73.2, 78.5, 77.6, 79.2]},
}
TOP5 = {
    "timesformer_k400": [90.0, 91.2, 93.4, 93.3, 92.8, 94.4, 93.9, 94.6, 93.7, 94.4, 94.7],
    "timesformer_k600": [94.4, 95.6, 95.1, 95.5, 94.4, 95.8, 95.6],
}
HOURS = [444, 448, 3840, 1440, 6336, 416, 416]
COSTS = {
    "timesformer_k400": ["17.5T", "0.84T", "0.84T", "10.8T", "3.2T", "6.7T", "7.0T", "5.8T", "0.59T", "5.11T", "7.14T"],
    "timesformer_cnns": ["1.11T", "1.97T", "1.97T", "1.11T", "1.97T", "0.59T", "0.59T"],
    "timesformer_schemes": ["0.59T"],
    "vivit_models": ["455.2G", "284.4G", "372.3G", "277.1G", "283.9G"],
}
PARAMS = {
    "timesformer_cnns": ["28.0M", "34.6M", "34.6M", "28.0M", "34.6M", "121.4M", "121.4M"],
    "timesformer_schemes": ["85.9M", "85.9M", "121.4M", "121.4M", "156.8M"],
    "vivit_models": ["88.9M", "115.1M", "117.3M", "88.9M", "86.7M"],
}


def rows(table, scale=None):
    """Rows that only the paper has, then ours, with the paper's numbers for a scale."""
    content = read_table([EXPERIMENTS / f"{table}.yaml", *([EXPERIMENTS / "scale" / f"{scale}.yaml"] if scale else [])])
    return [*content.reported, *content.rows]


@pytest.mark.parametrize("table", [*TIMESFORMER, *VIVIT])
def test_the_numbers_of_timesformer_and_vivit_are_the_papers(table):
    expected = (TIMESFORMER | VIVIT)[table]
    for scale, numbers in expected.items():  # at the data set's scale its numbers are those that are compared
        all_rows = rows(table, scale)
        assert [row.paper["test/video_top1"] for row in all_rows if "test/video_top1" in row.paper] == numbers
    printed = {data_set for row in read_yaml(EXPERIMENTS / f"{table}.yaml")["table"]["rows"].values()
               for data_set in row.get("paper", {}) if data_set != "V100 hours"}  # fmt: skip
    assert printed == set(expected)
    all_rows = rows(table)
    top5 = [row.paper["test/video_top5"] for row in all_rows if "test/video_top5" in row.paper]
    assert top5 == TOP5.get(table, [])
    assert [row.paper["V100 hours"] for row in all_rows if "V100 hours" in row.paper] == (
        HOURS if table == "timesformer_cnns" else []
    )
    for key, printed in (("cost", COSTS), ("params", PARAMS)):
        if table in printed:
            assert [row.published[key] for row in all_rows if key in row.published] == printed[table]


def test_all_tables_are_compared_with_a_second_copy():
    ours = {table.stem for table in PAPERS if table.stem.startswith(("timesformer", "vivit"))}
    assert ours == set(TIMESFORMER) | set(VIVIT)
