"""Test that functions give in Python what the command line gives, print nothing, and show themselves in a notebook."""

import json
import re
import shutil
import signal

import numpy as np
import pytest

import lit_video
from lit_video.__main__ import main
from lit_video.attention import Grid, Space
from lit_video.datamodules.drawing import encode
from lit_video.errors import RunStopped, UserError
from lit_video.launching.queue import Queue
from lit_video.runs.folder import read_record
from lit_video.runs.record import differences
from lit_video.settings.flags import UserSetting, as_user_settings, read_flags
from lit_video.utils.messages import show_messages
from lit_video.utils.processes import StopSignals, handled_by, process_of_command
from lit_video.utils.yaml_files import read_yaml
from tests.commands.conftest import known_pace  # noqa: F401  # fixture
from tests.fake_runs import EXPERIMENTS

# settings of a tiny run, as those of tests.conftest.TINY
TINY = {
    "data": {"pairs": [2, 1, 1], "num_frames": 4, "image_size": 16, "batch_size": 4, "num_workers": 0},
    "model": {"size": {"embed_dim": 16, "depth": 2, "num_heads": 2}},
    "trainer": {"max_epochs": 1, "log_every_n_steps": 2, "check_val_every_n_epoch": 1, "logger": False},
}
HERE = lit_video.Evaluation(workers=0, device="cpu")
ON_CPU = ["--device", "cpu"]


@pytest.fixture(autouse=True)
def messages():
    """No messages, as for a library user who asked for none."""
    show_messages(False)


def flags_of(settings):
    """Return settings as the flags that a user would type."""
    words = []
    for setting in as_user_settings(settings):
        text = setting.value if isinstance(setting.value, str) else json.dumps(setting.value)
        words.append(f"--{setting.key}={text}")
    return words


def shown(result):
    """Check that a result shows itself; return its HTML without tags."""
    html = result._repr_html_()
    assert repr(result) == str(result)
    assert "<script" not in html
    return re.sub(r"<[^>]*>", " ", html)


def test_settings_of_rows_are_each_rows_own(table, tiny):
    settings = lit_video.row_settings(table[0], settings=TINY, seeds=(0, 3))
    rows = {name: (row["model"]["init_args"]["window"], row["seed_everything"]) for name, row in settings.items()}
    windows = {"first": 0, "second": 1}
    assert rows == {f"two {row} seed {seed}": (windows[row], seed) for row in windows for seed in (0, 3)}


def test_nested_settings_are_those_of_flags(table, tiny):
    nested = {"model": "ViViT", "model.variant": 2, "data.pairs": [2, 1, 1], "trainer": {"callbacks": None}}
    words = ["--model=ViViT", "--model.variant=2", "--data.pairs=[2, 1, 1]", "--trainer.callbacks=null"]
    by_flags = lit_video.row_settings(table[0], rows="first", settings=read_flags(words))
    assert lit_video.row_settings(table[0], rows="first", settings=nested) == by_flags
    whole = {"model": {"class_path": "ViViT", "init_args": {"variant": 2}}}
    assert as_user_settings(whole) == [UserSetting("model", "ViViT"), UserSetting("model.variant", 2)]
    assert as_user_settings({"model.attention_type": Space}) == [
        UserSetting("model.attention_type", "lit_video.attention.space.Space")
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"modle": {"window": 2}}, "modle: no such section (did you mean model?)"),
        ({"model": "XVit"}, "model: no such class: XVit (did you mean XViT?)"),
        ({"trainer": {"callbacks": [object()]}}, "trainer.callbacks: is an object (object)"),
        ({"model.window": 2, "model": "XViT"}, ""),
        ({"data.sampling.stride": 2, "data.sampling": "DenseStride"}, "--data.sampling: would replace"),
        ({"seed_everything": 3}, "seed_everything: no such section"),
    ],
)
def test_wrong_settings_are_named(settings, said):
    if not said:
        as_user_settings(settings)
        return
    with pytest.raises(UserError) as error:
        as_user_settings(settings)
    assert said in str(error.value)


def test_a_row_is_trained_as_on_the_command_line(table, tmp_path, tiny, capsys):
    fitted = lit_video.fit(table[0], rows="first", settings=TINY, runs=tmp_path / "python")
    again = lit_video.fit(table[0], rows=[0], settings=TINY, runs=tmp_path / "python")
    assert capsys.readouterr() == ("", "")
    words = ["--row", "first", "--runs", str(tmp_path / "shell"), *flags_of(TINY)]
    assert main(["fit", str(table[0]), *words]) == 0
    (folder,) = fitted.folders
    assert again.folders == [folder]
    ours = read_record(folder)
    theirs = read_record(tmp_path / "shell" / folder.relative_to(tmp_path / "python"))
    for key in ("metrics", "steps", "weights", "table", "row", "seed"):
        assert getattr(ours.result, key) == getattr(theirs.result, key)
    assert not differences(ours.identity, theirs.identity), "one call goes on with the other's runs"
    assert ours.result.command.replace("python", "shell") == theirs.result.command
    assert fitted.metrics == {"first": ours.result.metrics}
    assert "Two rows" in shown(fitted) and "2nd" in shown(fitted)
    assert lit_video.load(folder).model.network is not None


def test_a_table_and_a_report_are_those_of_the_command_line(fake_runs, tmp_path, capsys):
    table = lit_video.table("timesformer_schemes", runs=fake_runs)
    report = lit_video.report(fake_runs, output=tmp_path / "python.html", experiments=EXPERIMENTS)
    packed = lit_video.pack(fake_runs, output=tmp_path / "packs")
    assert capsys.readouterr() == ("", "")

    for form in ("text", "json", "markdown"):
        assert main(["table", "timesformer_schemes", "--runs", str(fake_runs), "--format", form, "--pairs"]) == 0
        assert capsys.readouterr().out == f"{table.text(form, pairs=True)}\n"
    words = ["report", str(fake_runs), "-o", str(tmp_path / "shell.html"), "--experiments", str(EXPERIMENTS)]
    assert main(words) == 0
    said = capsys.readouterr().err
    assert "shell.html: 1 table, 6 runs" in said and report.tables == {"timesformer_schemes (fake)": 6}
    pages = [(tmp_path / f"{name}.html").read_text().replace(f"{name}.html", "PAGE") for name in ("python", "shell")]
    made = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^<]*|picture\d+-\w+")  # the time; names in pictures
    assert made.sub("", pages[0]) == made.sub("", pages[1])
    assert main(["pack", str(fake_runs), "-o", str(tmp_path / "packs")]) == 0
    assert capsys.readouterr().out == f"{packed}\n" and [*packed.packs.values()] == [6]
    assert "TimeSformer" in shown(table) and "timesformer_schemes" in shown(report) and "6" in shown(packed)


def test_counts_and_checks_are_those_of_the_command_line(table, tiny, letters, tmp_path, capsys):
    costs = lit_video.cost(table[0], settings=TINY)
    floors = lit_video.floors("skills", "scale/twelve")
    source = shutil.copytree(letters, tmp_path / "letters")
    prepared = lit_video.prepare(source, tmp_path / "small", short_side=32)
    weights = lit_video.published_weights()
    listed = {"train": "labels.csv", "train_values": ["1"], "split_column": "repetition", "val_values": ["2"]}
    checked = lit_video.check(source, "VideoCSV", settings={"data": listed}, output=tmp_path / "manifest.sqlite")
    assert capsys.readouterr() == ("", "")
    of_data = flags_of({"data": listed})
    for words, result in (
        (["cost", str(table[0]), *flags_of(TINY)], costs),
        (["data", "floors", "skills", "-c", "scale/twelve"], floors),
        (["data", "prepare", str(source), str(tmp_path / "small"), "--short-side", "32"], prepared),
        (["weights"], weights),
        (["data", "check", str(source), "--dataset", "VideoCSV", "-o", str(checked.manifest), *of_data], checked),
    ):
        assert main(words) == 0, words
        assert capsys.readouterr().out == f"{result}\n"
    assert checked.ok and prepared.videos == 16 and prepared.list.is_file()
    assert len(costs.rows) == 2 and floors.steps > 8 and "order5" in shown(floors)
    assert "vivit-b-k400" in shown(weights) and "labels" in shown(checked) + "labels"


def test_a_scheme_is_profiled_by_its_class(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("lit_video.schemes.layer_cost.CLIP", Grid(4, 4, 4))

    class Notebooks(Space):
        """Scheme of a notebook: no file has its code."""

    Notebooks.__module__ = "__main__"
    profile = lit_video.profile(Space, train=False, output=tmp_path / "python")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("lit_video.api.profile._picture", lambda *of: b"")  # tests/commands/test_own_scheme.py draws it
    assert main(["profile", "space", "--look", "-o", str(tmp_path / "shell")]) == 0
    said = capsys.readouterr().out
    assert profile.ok and profile.picture.read_bytes().startswith(b"\x89PNG")
    assert all(f"{key}: {text}" in said for key, text in profile.words.items())
    assert "ok    residual" in str(profile) and "ok    residual" in said
    assert profile.costs[0].name == "Space" and "factorised_heads" in shown(profile)
    with pytest.raises(UserError, match="Notebooks is defined in a notebook"):
        lit_video.profile(Notebooks, output=tmp_path / "trained")
    with pytest.raises(UserError, match="Notebooks is defined in a notebook"):
        lit_video.compare(tmp_path, ["xvit", Notebooks])


@pytest.fixture
def rooms(tmp_path):
    """Folder with a training and a test split of two classes."""
    rng = np.random.default_rng(0)
    for split, count in (("train", 4), ("test", 2)):
        for label in ("sit", "walk"):
            (tmp_path / "rooms" / split / label).mkdir(parents=True)
            for i in range(count):
                picture = rng.integers(0, 255, (8, 24, 32, 3), np.uint8)
                encode(tmp_path / f"rooms/{split}/{label}/{i}.mp4", picture, 8)
    return tmp_path / "rooms"


@pytest.mark.usefixtures("known_pace")
def test_a_folder_is_fine_tuned_as_on_the_command_line(rooms, tmp_path, capsys):
    settings = {
        "model": {"size": {"embed_dim": 16, "depth": 1, "num_heads": 2}, "image_weights": None},
        "data": {"num_frames": 4, "image_size": 16},
        "trainer": {"max_epochs": 1, "logger": False},
    }
    asked = {"minutes": 0.01, "weights": "none", "output": tmp_path / "python", "settings": settings}
    tested = lit_video.finetune(rooms, **asked)
    assert capsys.readouterr() == ("", "")
    words = ["finetune", str(rooms), "--minutes", "0.01", "--weights", "none", "-o", str(tmp_path / "python")]
    assert main([*words, *flags_of(settings)]) == 0, "the command goes on with the function's plan and its run"
    printed = capsys.readouterr().out
    assert printed.startswith("Going on with ") and "finished, skipped" in printed
    assert printed.endswith(f"{tested}\n")

    assert tested.page.is_file() and tested.card.is_file() and tested.load().class_names == ["sit", "walk"]
    assert read_yaml(tmp_path / "python/rooms.yaml")["table"]["plan"] == {"minutes": 0.01, "weights": "none"}
    first = (tmp_path / "python/rooms.yaml").read_text().partition("\n")[0]
    assert first.startswith(f"# Made by lit_video finetune {rooms} --minutes 0.01 --weights none '--model.size=")
    assert "of 4 test videos are right" in shown(tested)

    with pytest.raises(UserError, match=r"--minutes 3: .* is planned already, with --minutes 0.01"):
        lit_video.finetune(rooms, **asked | {"minutes": 3})
    with pytest.raises(UserError, match=r"--frozen: .* is planned already, with another"):
        lit_video.finetune(rooms, **asked, frozen=True)


MISTAKES = {
    "no table": (lambda: lit_video.fit(()), ["fit"]),
    "a wrong name": (lambda: lit_video.fit("ablation_t"), ["fit", "ablation_t"]),
    "a wrong row": (lambda: lit_video.fit("ablation_tw", rows="tw9"), ["fit", "ablation_tw", "--row", "tw9"]),
    "a wrong setting": (
        lambda: lit_video.fit("ablation_tw", rows="tw1", settings={"model": {"widow": 2}}),
        ["fit", "ablation_tw", "--row", "tw1", "--model.widow", "2"],
    ),
    "no runs": (lambda: lit_video.table("ablation_tw", runs="nope"), ["table", "ablation_tw", "--runs", "nope"]),
    "no folder": (lambda: lit_video.report("nope"), ["report", "nope"]),
    "a bad file": (lambda: lit_video.report(output="nope/x.html"), ["report", "-o", "nope/x.html"]),
    "a folder as a file": (lambda: lit_video.report(output="tests"), ["report", "-o", "tests"]),
    "no videos": (lambda: lit_video.finetune("nope"), ["finetune", "nope"]),
    "a wrong scheme": (lambda: lit_video.profile("joind"), ["profile", "joind"]),
    "no scheme's file": (lambda: lit_video.profile("nope.py"), ["profile", "nope.py"]),
    "a class that is not there": (
        lambda: lit_video.check("tests", "VideoFoldr"),
        ["data", "check", "tests", "--dataset", "VideoFoldr"],
    ),
    "wrong weights": (lambda: lit_video.fetch_weights("vivit"), ["weights", "fetch", "vivit"]),
    "nothing to test": (lambda: lit_video.test(), ["test"]),
    "no run": (lambda: lit_video.export("nope", "pt2", "x"), ["export", "--ckpt", "nope", "--to", "pt2", "-o", "x"]),
    "a cost of nothing": (lambda: lit_video.cost(rows="a"), ["cost", "--row", "a"]),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_the_line_that_the_command_line_prints(mistake, capsys):
    call, words = MISTAKES[mistake]
    with pytest.raises(UserError) as raised:
        call()
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.removeprefix("error: ").removeprefix("--") == str(raised.value).removeprefix("--")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: lit_video.finetune("tests", minutes=-1), "minutes: is -1, expected a number above 0"),
        (lambda: lit_video.fit("ablation_tw", seeds=[-1]), "seeds: is -1, expected whole numbers"),
        (lambda: lit_video.fit("ablation_tw", seeds=[]), "seeds: there is none"),
        (lambda: lit_video.fit("ablation_tw", jobs=0), "jobs: is 0, expected a whole number of at least 1"),
        (lambda: lit_video.sweep("ablation_tw", gpus_per_run=1.5), "gpus_per_run: is 1.5, expected a whole number"),
        (
            lambda: lit_video.prepare("tests", "x", short_side=8),
            "short_side: is 8, expected a whole number of at least 16",
        ),
        (lambda: lit_video.prepare("tests", "x", preset="tiny"), "preset: is tiny, expected small"),
        (lambda: lit_video.export("x", "onx", "out"), "to: is onx, expected hf-timesformer"),
    ],
)
def test_a_value_out_of_range_is_named(call, said):
    with pytest.raises(UserError) as error:
        call()
    assert str(error.value).startswith(said)


def test_messages_are_shown_on_request(fake_runs, tmp_path, capsys):
    lit_video.show_messages()
    lit_video.report(fake_runs, output=tmp_path / "a.html", experiments=EXPERIMENTS)
    assert f"wrote {tmp_path / 'a.html'}: 1 table, 6 runs" in capsys.readouterr().err
    lit_video.show_messages(False)


def test_a_signal_ends_a_call_not_the_program(monkeypatch):
    stops = StopSignals("fit")
    with handled_by(stops.handle), pytest.raises(KeyboardInterrupt, match="goes on from here"):
        signal.raise_signal(signal.SIGTERM)
    ended = []
    monkeypatch.setattr("lit_video.utils.processes.os._exit", ended.append)
    monkeypatch.setattr("lit_video.utils.processes.end_children", lambda: None)
    with process_of_command(), handled_by(stops.handle):
        signal.raise_signal(signal.SIGTERM)
    assert ended == [143]


def test_a_sweep_that_a_signal_stopped_raises(table, tiny, tmp_path, monkeypatch):
    def stopped(self, runs, watch=None):
        self.stop = signal.SIGINT

    monkeypatch.setattr(Queue, "work", stopped)
    with pytest.raises(RunStopped, match="sweep: stopped by Ctrl-C") as stop:
        lit_video.sweep(table[0], settings=TINY, runs=tmp_path)
    assert stop.value.status == 130
    progress = lit_video.progress(table[0], settings=TINY, runs=tmp_path)
    assert [each.state for each in progress.states] == ["not started"] * 2
    assert "not started" in shown(progress) and "2 runs: 2 not started" in str(progress)
    slurm = lit_video.progress(table[0], runs=tmp_path, slurm=lit_video.Resources(gpus_per_node=2))
    assert "--gpus-per-node=2" in str(slurm) and "--trainer.devices=2" in str(slurm)


def test_a_test_in_other_order_shows_what_its_command_prints(run, root, capsys):
    settings = {"data": {"root": root, "num_workers": 0, "order": "reversed"}, "trainer.accelerator": "cpu"}
    result = lit_video.test(run, settings=settings)
    assert result.order == "reversed" and result.videos == 8
    assert capsys.readouterr() == ("", "")

    assert main(["test", "--ckpt", str(run), *flags_of(settings)]) == 0
    assert capsys.readouterr().out.endswith(f"{result}\n")  # after the bar of the test


def test_an_export_is_that_of_the_command_to_the_byte(run, tmp_path, capsys):
    result = lit_video.export(run, "safetensors", tmp_path / "python")
    assert capsys.readouterr() == ("", "")

    assert main(["export", "--ckpt", str(run), "--to", "safetensors", "-o", str(tmp_path / "shell")]) == 0
    assert capsys.readouterr().out == f"{result}\n".replace(str(tmp_path / "python"), str(tmp_path / "shell"))
    for name in ("model.safetensors", "README.md"):
        assert (tmp_path / "python" / name).read_bytes() == (tmp_path / "shell" / name).read_bytes()


def test_predictions_show_what_the_command_prints(run, videos, capsys):
    result = lit_video.predict(run, videos[:6], top=2, evaluation=HERE)
    assert videos[0].name in shown(result)
    assert capsys.readouterr() == ("", "")

    assert main(["predict", "--ckpt", str(run), *map(str, videos[:6]), *ON_CPU, "--workers", "0", "--top", "2"]) == 0
    assert capsys.readouterr().out == f"{result}\n"


def test_features_in_the_plane_are_drawn_as_by_the_command(run, videos, tmp_path, capsys):
    result = lit_video.embed(run, videos[:6], evaluation=HERE)
    result.write(tmp_path / "python.png")
    assert "6 videos" in shown(result)
    assert capsys.readouterr() == ("", "")

    words = [*map(str, videos[:6]), *ON_CPU, "--workers", "0", "-o", str(tmp_path / "shell.png")]
    assert main(["embed", "--ckpt", str(run), *words]) == 0
    assert (tmp_path / "python.png").read_bytes() == (tmp_path / "shell.png").read_bytes()


def test_attention_is_drawn_as_by_the_command(run, videos, tmp_path, capsys):
    maps = lit_video.attention_maps(run, videos[0], device="cpu")
    maps.write(tmp_path / "python.png")
    assert "base64" in maps._repr_html_() and "attention rollout" in str(maps)
    assert capsys.readouterr() == ("", "")

    words = [str(videos[0]), *ON_CPU, "-o", str(tmp_path / "shell.png")]
    assert main(["attention", "--ckpt", str(run), *words]) == 0
    assert (tmp_path / "python.png").read_bytes() == (tmp_path / "shell.png").read_bytes()
