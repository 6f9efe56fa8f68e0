"""Test that the examples of docs/adding.md make a scheme and a table exactly as printed."""

import re
import sys

import torch
import yaml

from lit_video.__main__ import main
from lit_video.modules import TimeSformer
from lit_video.network.vit import ViTSize
from lit_video.schemes.contract import check_contract
from lit_video.schemes.own_classes import import_scheme
from tests.attention import scheme_cases
from tests.attention.test_scheme_oracles import test_equals_its_index_sets_written_as_loops as equals_loops
from tests.conftest import ROOT

PAGE = (ROOT / "docs/adding.md").read_text().partition("## A data set")[0]
BLOCKS = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))


def test_the_example_of_a_scheme_equals_its_index_sets_written_as_loops(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.setitem(scheme_cases.CASES, "even_frames", None)  # removed after the test
    (tmp_path / "my_scheme.py").write_text(BLOCKS["my_scheme.py"])
    name = import_scheme(str(tmp_path / "my_scheme.py"))
    exec(BLOCKS["tests/attention/scheme_cases.py"], dict(vars(scheme_cases)))
    case = scheme_cases.CASES["even_frames"]
    assert name == "my_scheme.EvenFrames" and not check_contract(case.factory).faults
    equals_loops("even_frames", case.grid, scheme_cases.HEADS)
    model = TimeSformer(5, 4, 16, size=ViTSize(16, 1, 2), patch_size=8, attention_type=name)
    assert model(torch.zeros(2, 3, 4, 16, 16)).shape == (2, 5)


def test_the_example_of_a_table_has_two_families_outside_of_the_repository(monkeypatch, tmp_path, capsys):
    page = (ROOT / "docs/adding.md").read_text()
    (table,) = re.findall(r"```yaml\n# my_table.yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "my_table.yaml").write_text(table)
    (tmp_path / "my_scheme.py").write_text(BLOCKS["my_scheme.py"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    rates = {
        "muon": {"even": 0.003, "divided": 0.003, "xvit1": 0.003},
        "sgd": {"even": 0.005, "divided": 0.005, "xvit1": 0.05},
    }
    for optimizer, scale in (("muon", []), ("sgd", ["--config", "scale/ssv2"])):
        flags = ["--trainer.accelerator=cpu", "--trainer.devices=1", "--trainer.strategy=auto"] if scale else []
        assert main(["fit", "--config", "my_table.yaml", *scale, "--print-config", *flags]) == 0
        rows = [*yaml.safe_load_all(capsys.readouterr().out)]
        models = [row["model"] for row in rows]
        assert [model["class_path"].rpartition(".")[2] for model in models] == ["TimeSformer", "TimeSformer", "XViT"]
        assert models[0]["init_args"]["attention_type"] == "my_scheme.EvenFrames"
        assert models[2]["init_args"]["window"] == 1
        optimizations = [model["init_args"]["optimization"] for model in models]
        assert [found["optimizer"] for found in optimizations] == 3 * [optimizer]
        assert [found["lr"] for found in optimizations] == [*rates[optimizer].values()]


def test_a_setting_of_another_family_is_never_suggested_in_its_own_place(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["fit", "--config", "ablation_tw", "--row", "tw1", "--print-config", "--model.cls_in_time=true"]) == 2
    message = capsys.readouterr().err
    assert "model.cls_in_time: a setting of TimeSformer; this model is XViT" in message
    assert "did you mean" not in message
