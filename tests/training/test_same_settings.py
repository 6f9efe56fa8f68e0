"""A run's folder goes on with the settings that it was made with, but for those that change no number."""

import pytest
import torch
import yaml

from lit_video.errors import UserError
from lit_video.tables.packing import pack_runs
from lit_video.tables.results import read_result
from lit_video.training.same_settings import flatten, global_batch, same_settings


@pytest.fixture
def settings(finished):
    """The settings of a finished run."""
    return yaml.safe_load((finished / "config.yaml").read_text())


def test_the_batch_of_a_step_may_be_spread_over_other_devices(finished, settings):
    settings["trainer"] |= {"devices": 2, "strategy": "ddp"}
    settings["data"]["init_args"]["batch_size"] //= 2
    changes = same_settings(finished, settings, "here")
    assert changes == {
        "data.init_args.batch_size": (4, 2),
        "trainer.devices": (1, 2),
        "trainer.strategy": ("auto", "ddp"),
    }
    settings["data"]["init_args"]["batch_size"] *= 2
    with pytest.raises(UserError, match=r"here: .* was made with trainer.devices = 1, now it is 2"):
        same_settings(finished, settings, "here")


def test_a_run_goes_on_compiled_or_checkpointed_or_not_but_in_no_other_precision(finished, settings):
    settings["compile"] = "block"
    settings["model"]["init_args"]["activation_checkpointing"] = "attention"
    assert same_settings(finished, settings, "here") == {}
    settings["float32_products"] = "tf32"
    with pytest.raises(UserError, match="float32_products = exact, now it is tf32"):
        same_settings(finished, settings, "here")


def test_a_packed_run_is_finished_and_has_its_settings(finished, settings, tmp_path):
    pack_runs([finished], tmp_path / "packs")
    packed = tmp_path / "packs/two/default/second/seed0"
    assert read_result(packed) and same_settings(packed, settings, "here") == {}
    settings["trainer"]["max_epochs"] = 100
    assert same_settings(finished, settings, "here"), "a run in a folder may become longer"
    with pytest.raises(
        UserError, match=r"max_epochs = 2, now it is 100 \(packed, without a checkpoint to go on from\)"
    ):
        same_settings(packed, settings, "here")


@pytest.mark.parametrize("harm", [None, b"", b"\xff\xfe\x00", b"trainer: [", b"- a list"])
def test_of_a_damaged_configuration_the_checkpoints_counts(harm, finished, settings):
    path = finished / "config.yaml"
    if harm is None:
        path.unlink()
    else:
        path.write_bytes(harm)
    assert same_settings(finished, settings, "here") == {}
    settings["model"]["init_args"]["window"] = 2
    with pytest.raises(UserError, match=r"model.init_args.window = 1, now it is 2"):
        same_settings(finished, settings, "here")


def test_without_any_record_of_its_settings_a_folder_is_refused(finished, settings):
    (finished / "config.yaml").write_text("")
    content = torch.load(finished / "last.ckpt", weights_only=True)
    del content["lit_video_run"]
    torch.save(content, finished / "last.ckpt")
    with pytest.raises(UserError, match=r"what .* was made with is not known: give another --runs, or delete"):
        same_settings(finished, settings, "here")


@pytest.mark.parametrize(
    ("devices", "batch"), [(2, 64), ("4", 128), ([0, 3, 5], 96), ("auto", None), (-1, None), ("0,1", None)]
)
def test_the_batch_of_a_step(devices, batch):
    trainer = {"devices": devices, "num_nodes": 2, "accumulate_grad_batches": 2}
    flat = flatten({"trainer": trainer, "data": {"init_args": {"batch_size": 8}}})
    assert global_batch(flat) == batch
    assert global_batch(flat | {"global_batch": 32}) == 32
