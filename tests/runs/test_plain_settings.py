"""Flat keys of a configuration at W&B."""

from lit_video.runs.identity import plain_settings

CONFIG = {
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
    assert plain_settings(CONFIG) == {
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
