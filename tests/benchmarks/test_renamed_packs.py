"""Test the script that gives packed runs today's settings, so that tables and --reuse then find the runs."""

import copy
import inspect

import pytest

from benchmarks import renamed_packs
from lit_video import modules
from lit_video.runs.folder import RUN
from lit_video.runs.identity import Identity
from lit_video.runs.packs import packed_runs
from lit_video.runs.record import Record
from tests.fake_runs import EXPERIMENTS, fake_result

RESULTS = EXPERIMENTS.parent / "benchmarks/results"
OLD_RECORD = Record(
    identity=Identity(
        {
            "data": {
                "class_path": "lit_video.datamodules.TemporalSkills",
                "init_args": {"frames": 8, "augmentation": {"erasing": 0.0, "smoothing": 0.1}, "seed": 0},
            },
            "model": {
                "class_path": "lit_video.modules.ViViT",
                "init_args": {
                    "size": {"width": 48, "depth": 2, "heads": 4},
                    "patch": 8,
                    "tubelet": 2,
                    "drop_path": 0.0,
                    "dropout": 0.0,
                },
            },
        },
        commit="abc",
    ),
    changes=[],
    result=fake_result(command="lit_video fit --model.patch=8"),
)


def test_settings_get_todays_names_and_all_else_stays():
    before = copy.deepcopy(OLD_RECORD)
    after = renamed_packs.renamed_record(OLD_RECORD)

    assert before == OLD_RECORD
    settings = after.identity.settings
    assert settings["data"]["init_args"] == {
        "num_frames": 8,
        "augmentation": {"random_erasing": 0.0, "label_smoothing": 0.1},
        "seed": 0,
    }
    assert settings["model"]["init_args"] == {
        "size": {"embed_dim": 48, "depth": 2, "num_heads": 4},
        "patch_size": 8,
        "tubelet_size": 2,
        "drop_path_rate": 0.0,
        "dropout": 0.0,
        "zero_temporal": False,
    }
    assert after.result == before.result and after.identity.commit == "abc"
    names, added = after.corrections
    assert (EXPERIMENTS.parent / names.by).is_file()
    assert (added.key, added.was, added.now) == ("model.init_args.zero_temporal", None, False)


def test_settings_that_were_added_since_are_those_of_the_constructors_defaults():
    for family, settings in renamed_packs.ADDED.items():
        arguments = inspect.signature(getattr(modules, family)).parameters
        assert {name: arguments[name].default for name in settings} == settings


def test_a_second_call_changes_nothing():
    after = renamed_packs.renamed_record(OLD_RECORD)
    assert renamed_packs.renamed_record(after) == after


def test_a_convnets_width_is_no_embedding():
    settings = {"class_path": "lit_video.modules.ConvNet", "init_args": {"width": 16, "depth": 50}}
    record = copy.deepcopy(OLD_RECORD)
    record.identity.settings["model"] = settings
    assert renamed_packs.renamed_record(record).identity.settings["model"] == settings


@pytest.mark.parametrize("pack", sorted(RESULTS.glob("*.tar.xz")), ids=lambda pack: pack.name)
def test_committed_packs_have_todays_names(pack):
    for folder, files in packed_runs(pack).items():
        record = Record.of_json(files[RUN])
        assert renamed_packs.renamed_record(record) == record, folder
