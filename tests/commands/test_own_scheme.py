"""Test a scheme in a user's file: profiled, trained and compared by its name, and part of a run's identity."""

import re
import sys
from dataclasses import replace

import pytest

from lit_video.__main__ import main
from lit_video.errors import UserError
from lit_video.network.timesformer import scheme_class
from lit_video.own_videos.schemes import schemes_named
from lit_video.runs.folder import read_record
from lit_video.runs.packing import pack_runs
from lit_video.schemes import skills_table
from lit_video.schemes.own_classes import import_scheme
from lit_video.tables.reading import read_table
from lit_video.tables.rendering import measured_groups
from lit_video.tables.summary import summary
from lit_video.utils.yaml_files import read_yaml
from tests.fake_runs import change_result, recorded, write_result

CODE = """
from lit_video.attention.scheme import Attention, Scheme


class {name}(Scheme):
    class_tokens = "none"

    def __init__(self, width, heads):
        super().__init__()
        self.attn = Attention(width, heads)

    def forward(self, x, grid):
        return x + {scale} * self.attn(x)
"""


@pytest.fixture
def own_file(tmp_path, monkeypatch):
    """File with one scheme; imported modules are forgotten after the test."""
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    path = tmp_path / f"own_{tmp_path.name.replace('-', '_')}.py"
    path.write_text(CODE.format(name="Halved", scale=0.5))
    return path


def test_a_file_is_imported_by_its_path_once(own_file):
    name = import_scheme(str(own_file))
    assert name == f"{own_file.stem}.Halved"
    assert import_scheme(f"{own_file}:Halved") == name
    assert scheme_class(name) is scheme_class(import_scheme(name))


MISTAKES = {
    "{file}:Doubled": "has no scheme Doubled; its schemes: Halved",
    "{}/json.py": "another module is called json",
    "{}/broken.py": "broken.py cannot be imported, line 2: ZeroDivisionError",
    "{}/two.py": "has 2 schemes (Halved, Quartered); give",
    "{}/none.py": "holds no scheme: a subclass of lit_video.attention.scheme.Scheme",
    "{}/grammar.py": "grammar.py cannot be imported, line 3: SyntaxError",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_named(text, own_file):
    folder = own_file.parent
    (folder / "json.py").write_text("")
    (folder / "none.py").write_text("")
    (folder / "broken.py").write_text("one = 1\none / 0\n")
    (folder / "grammar.py").write_text("one = 1\n\ndef two(:\n")
    two = CODE.format(name="Halved", scale=0.5) + CODE.format(name="Quartered", scale=0.25)
    (folder / "two.py").write_text(two)
    with pytest.raises(ValueError) as error:
        import_scheme(text.format(folder, file=own_file))
    assert MISTAKES[text] in str(error.value)


@pytest.mark.slow
def test_profile_says_what_is_seen_and_writes_a_picture(own_file, tmp_path, capsys):
    assert main(["profile", str(own_file), "--look", "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "FAULT" not in said and "reach: 7 frames in one layer" in said
    assert "Halved" in said and "factorised_heads" in said
    costs = said.partition("One layer, a clip")[2]
    assert 0 < costs.index("Halved") < costs.index("space")
    assert (tmp_path / "out/sight.png").read_bytes().startswith(b"\x89PNG")


def test_profile_of_a_faulty_scheme_names_the_fault_and_measures_nothing(own_file, tmp_path, capsys):
    own_file.write_text(own_file.read_text().replace("x + 0.5 *", "0.5 *"))
    assert main(["profile", str(own_file), "-o", str(tmp_path / "out")]) == 1
    assert "FAULT residual" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


@pytest.fixture
def packed(tmp_path, monkeypatch):
    """Folder of experiments whose pack has fake runs of a row of the skills table."""
    files = [skills_table.EXPERIMENTS / "skills.yaml", skills_table.EXPERIMENTS / f"{skills_table.PROFILE_SCALE}.yaml"]
    table = read_table(files)
    folder = tmp_path / "made/skills/half/joint/seed0"
    folder.mkdir(parents=True)
    facts = {"table": "skills", "scale": "half", "row": "joint", "seed": 0, "gmacs": 1.0, "test_videos": 8}
    write_result(folder, **facts, metrics={"test/video_top1": 50.0, "test/direction/drift": 75.0})
    change_result(folder, identity={"settings": recorded(table.settings | table.row("joint").settings)})
    experiments = tmp_path / "experiments"
    pack_runs([tmp_path / "made"], experiments / "profile")
    for name in ("skills.yaml", "parts", "scale"):
        (experiments / name).symlink_to(skills_table.EXPERIMENTS / name)
    monkeypatch.setattr(skills_table, "EXPERIMENTS", experiments)
    return tmp_path


@pytest.mark.parametrize("keys", [(), ("data.root", "data.num_workers"), ("trainer.max_steps",), ("data.pairs",)])
def test_an_own_scheme_stands_beside_the_packed_rows_unless_settings_differ(keys, packed):
    folder = packed / "profile"
    folder.mkdir()
    file = skills_table.write_skills_table(folder, "Halved", "own.Halved", settings=keys)
    rows = summary(read_table([file, skills_table.PROFILE_SCALE]), folder / "runs", overridden=True).rows
    by_name = {row.name: row for row in rows}
    compared = not {"trainer.max_steps", "data.pairs"} & {*keys}
    assert bool(by_name["joint"].seeds) == bool(measured_groups(rows)) == compared
    assert not by_name["Halved"].seeds
    others = len(rows) - 1
    said = skills_table.unmeasured([replace(row, seeds=[0]) if row.name == "Halved" else row for row in rows])
    assert said.startswith(f"reference rows: {others - compared} of {others} other rows of skills: not run in version")


@pytest.mark.slow
def test_profile_trains_the_scheme_and_its_control_and_says_what_was_learned(own_file, tmp_path, monkeypatch, capsys):
    experiments = tmp_path / "experiments"
    experiments.mkdir()
    for name in ("skills.yaml", "parts", "scale"):  # without packs
        (experiments / name).symlink_to(skills_table.EXPERIMENTS / name)
    monkeypatch.setattr(skills_table, "EXPERIMENTS", experiments)
    out = tmp_path / "out"
    fast = ["--trainer.max_steps=2", "--trainer.logger=false", "--model.image_weights=null", "--data.pairs=[2,1,1]"]
    fast += ["--data.batch_size=4", "--data.fresh=8", "--data.lesson=null"]
    words = ["-o", str(out), "--jobs", "1", *fast, f"--data.root={tmp_path}"]
    assert main(["profile", str(own_file), *words]) == 0
    said = capsys.readouterr().out
    assert "trains Halved and its control control_timesformer" in said
    assert said.index("trains Halved") < said.index("order1") < said.index("order3")
    assert re.search(r"^Halved, seed 0, 2 steps: .*not begun: drift", said, re.MULTILINE)
    assert re.search(r"^control_timesformer, seed 0, 2 steps: ", said, re.MULTILINE)
    others = len(read_yaml(experiments / "skills.yaml")["table"]["rows"])
    assert f"reference rows: {others - 1} of {others} other rows of skills: not run in version" in said
    settings = read_record(out / "runs/skills/half/Halved/seed0").identity.settings
    assert settings["model"]["init_args"]["attention_type"] == f"{own_file.stem}.Halved"
    assert "Halved" in (out / "profile.html").read_text()


def test_own_schemes_are_compared_beside_built_in_ones(own_file):
    rows = schemes_named(f"divided,{own_file}")
    assert [*rows] == ["divided", f"{own_file.stem}.Halved"]
    with pytest.raises(UserError, match="no module"):
        schemes_named("divided,none.Here")


def test_a_run_is_refused_when_the_scheme_has_changed(own_file, table, tiny, tmp_path, capsys):
    """Refuse to go on with changed code; testing a run imports no code that it names."""
    words = ["fit", "--config", str(table[0]), "--row", "first", "--runs", str(tmp_path / "runs"), *tiny]
    words += ["--model=TimeSformer", f"--model.attention_type={own_file}"]
    assert main(words) == 0
    assert main(words) == 0 and "finished, skipped" in capsys.readouterr().out
    own_file.write_text(own_file.read_text().replace("0.5", "0.25"))
    assert main(words) == 2
    assert "attention_type was" in capsys.readouterr().err
    run = next((tmp_path / "runs").glob("*/*/*/seed0"))
    del sys.modules[own_file.stem]
    assert main(["test", "--ckpt", str(run)]) == 2
    assert "--scheme" in capsys.readouterr().err
    assert own_file.stem not in sys.modules
