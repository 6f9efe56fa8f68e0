"""Test settings of the papers' tables that an audit corrected, by its finding (A: the second audit, S: the third)."""

import pytest

from lit_video.experiment.request import Run
from lit_video.tables.reading import read_table
from tests.tables.experiments import EXPERIMENTS, at, request_of, resolved

ROOT = EXPERIMENTS.parent
I3D = {"trainer.max_epochs": 118, "model.optimization.lr": 0.01, "model.optimization.warmup": 0}
I3D |= {"model.optimization.milestones": [0.372881, 0.745763], "global_batch": 64, "data.batch_size": 8}
HR, SOFTMAX = {"data.augmentation.short_side": [448, 512]}, {"model.view_average": "softmax"}
CLOCK, NESTEROV = {"data.sampling.fps": 30}, {"model.optimization.nesterov": True}
EQ11 = {"model.cls_in_time": True, "model.hidden_head": True}
VIVIT = {"data.short_side": 256, "data.short": "loop", "model.optimization.whole_cosine": True}  # V1, V7, V11
VIEWS = {"data.test_clips": 4, "data.test_crops": 1}
TA = {"model.ta_attention": "cross", "model.summary_before_norm": True, "model.cls_in_summary": True}
IN1K = "timm:vit_base_patch16_224.augreg_in1k"
IN21K = "timm:vit_base_patch16_224.orig_in21k"

# findings, table, row, scale, recipe (None: the first), settings
SETTINGS = [
    *(("T1", f"timesformer_{one}", "hr", one, None, HR) for one in ("k400", "k600", "ssv2", "diving48")),
    *(("T1", "timesformer_pretraining", f"hr_{one}", "ssv2", None, HR) for one in ("1k", "21k")),
    ("T1", "xvit_k600", "timesformer_hr", "k600", None, HR),
    ("T2 T15 T17", "timesformer_ssv2", "base", "ssv2", "released", NESTEROV | {"data.augmentation.inverse": True}),
    *(("T2 T3", f"timesformer_{one}", "base", one, "released", NESTEROV | CLOCK) for one in ("k400", "k600")),
    *(("T3 T4 T11 T17", f"timesformer_{one}", "base", one, None, CLOCK | {"global_batch": 16} | EQ11 | SOFTMAX)
      for one in ("k400", "k600")),
    *(("T4 T11 T17", f"timesformer_{one}", "base", one, None, {"global_batch": 16} | EQ11 | SOFTMAX)
      for one in ("ssv2", "diving48")),
    ("T4", "timesformer_long_video", "frames8", "howto100m", None, {"global_batch": 16}),
    ("T5 T3 T17", "timesformer_cnns", "i3d", "k400", None, I3D | CLOCK | SOFTMAX),
    *(("T6", "timesformer_clips", f"base{n}", "k400", None, {"data.test_clips": n, "data.test_crops": 1})
      for n in (1, 3, 5, 10)),
    ("T7", "timesformer_diving48", "slowfast", "diving48", None, I3D),
    *(("T7", "timesformer_data_share", f"{one}50", scale, None, I3D)
      for one in ("slowfast", "i3d") for scale in ("k400", "ssv2")),
    *(("T9", table, row, "ssv2", recipe, {"data.num_frames": frames})
      for table, row in (("xvit_ssv2", "timesformer_l"), ("timesformer_ssv2", "l"), ("timesformer_pretraining", "l_1k"),
                         ("timesformer_pretraining", "l_21k"))
      for recipe, frames in ((None, 96), ("released", 64))),
    *(("T13", f"timesformer_{one}", "base", one, "released", {"model.image_weights": f"{IN21K}_ft_in1k"})
      for one in ("k400", "k600")),
    ("T15", "timesformer_data_share", "slowfast100", "ssv2", None,
     {"data.sampling": "ReleasedSegments", "data.augmentation.inverse": True}),
    *(("V1 V2 V6 V7 V10 V11 V16", table, row, "k400", None,
       VIVIT | VIEWS | {"data.augmentation.crop": "stretch", "data.augmentation.colour": 0.8,
                        "data.augmentation.grey": 0.1, "data.sampling.fps": 25})
      for table, row in (("vivit_models", "model1"), ("vivit_tubelets", "central"))),
    ("V1 V2 V3 V6 V7 V8 V9 V11", "vivit_models", "model1", "epic100", None,
     VIVIT | VIEWS | {"data.augmentation.crop": "stretch", "data.augmentation.policy": "vivit-rand-15",
                      "data.augmentation.flip": 0.5, "model.task_loss": "mean"}),
    *(("V4", "vivit_models", row, "epic100", None, {"model.weights": f"runs/vivit_models/k400/{row}/seed0"})
      for row in ("model1", "model2", "model3", "model4", "average_pool")),
    *(("A1", "vivit_crops", row, "k400", recipe, {"model.variant": 1})
      for row in ("crop224", "crop288", "crop320") for recipe in (None, "released")),
    *(("V14 A6", table, row, scale, recipe, {"model.temporal_depth": 24})
      for table, row, scale in (("vivit_k400", "l_1", "k400"), ("vivit_views", "f32_1", "k400"),
                                ("vivit_k600", "l", "k600"))
      for recipe in (None, "released")),
    *(("V14 A6", table, "l", scale, recipe, {"model.temporal_depth": 4})
      for table, scale in (("vivit_epic", "epic100"), ("vivit_ssv2", "ssv2")) for recipe in (None, "released")),
    *(("A5", "vivit_regularisers", row, "epic100", None,
       {"data.augmentation.colour": colour, "data.augmentation.grey": grey})
      for row, colour, grey in (("crop", 0.8, 0.1), ("drop_path", 0.8, 0.1), ("rand_augment", 0.0, 0.0),
                                ("smoothing", 0.0, 0.0), ("mixup", 0.0, 0.0))),
    ("A7", "vivit_models", "model3", "epic100", "released", {"model.drop_path_rate": 0.0}),
    ("A7", "vivit_models", "model3", "epic100", None, {"model.drop_path_rate": 0.2}),
    ("A8", "vivit_views", "f32_1", "k400", "released", {"model.optimization.lr": 0.1}),
    ("A9", "vivit_k600", "l", "k600", None, {"data.num_frames": 128, "data.test_clips": 1, "data.test_crops": 3}),
    ("A9", "vivit_k600", "l", "k600", "released", {"data.num_frames": 32, "data.test_clips": 4, "data.test_crops": 3}),
    *(("A10", table, row, scale, None,
       {"model.weights": None, "model.image_weights": "timm:vit_large_patch16_224.orig_in21k"})
      for table, row, scale in (("vivit_epic", "l", "epic100"), ("xvit_epic", "vivit_l", "epic100"),
                                ("vivit_ssv2", "l", "ssv2"), ("xvit_ssv2", "vivit_l", "ssv2"))),
    *(("A14", "vivit_models", "model2", scale, recipe, {"model.class_token": token})
      for scale in ("k400", "epic100") for recipe, token in ((None, None), ("released", "zero"))),
    ("V1 V5 V6 V7 V9 V11", "xvit_ssv2", "vivit_l", "ssv2", None,
     VIVIT | {"data.image_size": 224, "data.sampling.stride": 2, "data.augmentation.flip": 0.5, "data.test_crops": 3}),
    ("V12", "xvit_k600", "vivit_l", "k600", None, {"model.optimization.lr": 0.1}),
    ("V13", "vivit_models", "model1", "k400", "released", {"model.optimization.lr": 0.1, "data.test_crops": 3}),
    ("V13", "vivit_models", "model2", "k400", "released", {"model.optimization.lr": 0.05}),
    ("X1", "xvit_k600", "x3d_xl", "k600", None,
     {"data.sampling.stride": 5, "data.image_size": 312, "data.test_image_size": 356, "trainer.max_epochs": 256,
      "model.optimization.weight_decay": 5e-5, "data.augmentation.short_side": [356, 446]}),
    *(("X4", table, row, scale, "released", {"data.num_frames": 8, "data.sampling.stride": 32})
      for table, row, scale in (("xvit_k400", "x8_1", "k400"), ("xvit_k600", "x8", "k600"))),
    *(("S1", table, row, "ssv2", None, {"model.image_weights": IN1K, "data.num_frames": 96})
      for table, row in (("xvit_ssv2", "timesformer_l"), ("timesformer_ssv2", "l"),
                         ("timesformer_pretraining", "l_1k"))),
    *(("S2 S3", "ablation_summary", row, scale, None, TA)
      for row in ("summary", "both", "ta") for scale in ("ssv2", "k400")),
    *(("S2", table, "x16", scale, None, TA)
      for table, scale in (("xvit_ssv2", "ssv2"), ("xvit_k600", "k600"), ("xvit_epic", "epic100"))),
    *(("S2", table, row, scale, "released", {"model.ta_attention": "self"})
      for table, row, scale in (("xvit_ssv2", "x16", "ssv2"), ("xvit_k400", "x16_1", "k400"),
                                ("xvit_k600", "x16", "k600"))),
    ("S2", "xvit_ssv2", "x16_k600", "ssv2", None, {"model.ta_attention": "self"}),
    *(("S13", "vivit_models", "model3", scale, recipe, {"model.zero_temporal": recipe is None})
      for scale in ("k400", "epic100") for recipe in (None, "released")),
]  # fmt: skip
# findings, table, row: the paper's modules at the embedded scale, the release's where packed runs have them
EMBEDDED = [
    ("S2 S3", "ablation_ta", "ta3", TA),
    ("S2 S3", "ablation_summary", "both", TA),
    ("S2 S3", "skills", "ta", TA),
    ("S13", "vivit_models", "model3", {"model.zero_temporal": False}),
    ("S13", "vivit_order", "time_first", {"model.zero_temporal": True}),
    *(("S2", table, "xvit1", {"model.ta_attention": "self"}) for table in ("utd_mhad", "avletters", "room_actions")),
]


@pytest.mark.parametrize("case", EMBEDDED, ids=lambda case: "-".join(case[:3]))
def test_a_row_at_its_own_scale_has_the_module_of_its_source(case):
    _, table, row, expected = case
    read = read_table([EXPERIMENTS / f"{table}.yaml"])
    settings = read.settings | read.row(row).settings
    assert {key: settings.get(key) for key in expected} == expected


@pytest.mark.parametrize("case", SETTINGS, ids=lambda case: "-".join(str(one) for one in case[:5]))
def test_a_row_has_the_setting_that_its_source_gives(case):
    _, table, row, scale, recipe, expected = case
    files = EXPERIMENTS / f"{table}.yaml", EXPERIMENTS / f"scale/{scale}.yaml"
    request = request_of(*files, recipe=recipe)
    written = Run(request, request.table.row(row), 0).settings
    for key, value in expected.items():
        ours = in_files(written, key)
        if ours is None:
            ours = with_defaults(resolved(row, *files, recipe=recipe), key)
        assert (list(ours) if isinstance(ours, tuple) else ours) == value, key


def in_files(written, key):
    """Return a setting that the files of a row have, a class by its name; ``None`` for one that they leave open.

    A row is trained with what its files have: test_every_row.py resolves all rows.
    """
    try:
        return class_name(written["global_batch"] if key == "global_batch" else at(written, key))
    except (AttributeError, KeyError, TypeError):  # part of a named augmentation
        return None


def with_defaults(built, key):
    """Return a resolved setting, one of a named augmentation from the data module."""
    if key.startswith("data.augmentation."):
        return getattr(built.datamodule.augmentation, key.rpartition(".")[2])
    return class_name(at(built.settings, key))


def class_name(found):
    """Return the name of a class that a setting chooses, and any other setting as it is."""
    return found["class_path"].rpartition(".")[2] if isinstance(found, dict) and "class_path" in found else found


def test_a_figure_has_the_papers_rows_only():
    files = (EXPERIMENTS / "timesformer_clips.yaml", EXPERIMENTS / "scale/k400.yaml")  # T6
    assert {row.settings["data.test_clips"] for row in request_of(*files).rows} == {1, 3, 5, 10}
