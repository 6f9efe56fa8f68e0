"""Flat keys of a configuration, and those of a table's settings, are the same names."""

from lit_video.tables.flat_settings import flat_row, flat_settings
from lit_video.tables.reading import read_table
from lit_video.tables.run_files import read_run
from tests.tables.experiments import OWN, PAPERS, request_of, resolved
from tests.tables.test_committed_results import RESULTS, RUNS

VIDEOS = {"avletters", "avletters_length"}  # tables of videos that are not in the repository
TABLES = [path for path in (*PAPERS, *OWN) if path.stem != "room_actions"]  # which varies what avletters varies
CONFIG = {
    "seed_everything": 3,
    "trainer": {"max_epochs": 8, "callbacks": None, "precision": "bf16", "logger": {"class_path": "a.B"}},
    "data": {
        "class_path": "lit_video.datamodules.TemporalSkills",
        "init_args": {
            "frames": 4,
            "order": "forward",
            "pairs": [2, 1, 1],
            "sampling": {"class_path": "lit_video.datamodules.Dense", "init_args": {"seconds": 1.5}},
        },
    },
    "model": {
        "class_path": "lit_video.modules.ViViT",
        "init_args": {"order": "space_time", "size": {"width": 16}, "pool": None, "layers": [], "exact": False},
    },
}


def test_plain_settings_are_flat_and_the_model_wins():
    assert flat_settings(CONFIG) == {
        "max_epochs": 8,
        "precision": "bf16",
        "logger": "B",
        "data": "TemporalSkills",
        "frames": 4,
        "order": "space_time",
        "pairs": "2,1,1",
        "sampling": "Dense",
        "sampling_seconds": 1.5,
        "model": "ViViT",
        "size_width": 16,
        "exact": False,
    }


def test_what_tables_vary_is_a_flat_key_of_their_runs(letters):
    left = {name for path in TABLES for row in read_table([path]).rows for name in row.settings}
    assert len(left) > 20
    for path in TABLES:
        flags = (f"--data.root={letters}",) if path.stem in VIDEOS else ()
        table = request_of(path, flags=flags).table
        for row in table.rows:
            if left & row.settings.keys():
                left -= row.settings.keys()
                run = RESULTS / path.stem / table.scale / row.name / "seed0"
                record = read_run(run) if run in RUNS else None
                config = record["identity"]["settings"] if record else resolved(row.name, path, flags=flags).settings
                flat = flat_settings(config)
                for name, value in row.settings.items():
                    for key, plain in flat_row({name: value}).items():
                        assert flat[key] == plain, (path, row.name, name)
    assert not left
