"""Test that a checkpoint alone predicts videos as its test does, and that mistakes are one line each."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning import Trainer
from PIL import Image

from lit_video.__main__ import main
from lit_video.inference.predict import load
from lit_video.modules import ConvNet, ViViT
from lit_video.network.aggregation import keeping_inputs, linear_head
from lit_video.network.vit import ViTSize
from lit_video.video import clips as dataset_module
from lit_video.video.decoding import decode, frame_table
from tests.checkpoints import untrained
from tests.commands.conftest import one_line
from tests.embedded import SKILLS, four_skills
from tests.float32 import assert_close_in_float32
from tests.network.test_networks_run import NETWORKS, build, clip_of

VERBS_NOUNS = {"verb": ["backward", "forward"], "noun": list(SKILLS)}


def predict(*args):
    return main(["predict", "--workers", "0", *map(str, args)])


def written(path, *args, status=0):
    """Run predict with ``-o``; return names and probabilities by video and task, and the paths of broken videos."""
    assert predict(*args, "-o", path) == status
    videos, broken = {}, []
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["broken"]:
                broken.append(row["path"])
            else:
                assert row["path"] not in videos, "a video has one row"
                videos[row["path"]] = ranked = {}
                for column, name in row.items():
                    if f"{column}_probability" in row and name:
                        probability = float(row[f"{column}_probability"])
                        ranked.setdefault(column.partition("_")[0], []).append((name, probability))
    return videos, broken


def probabilities(video, names, task="class"):
    shares = dict(video[task])
    return torch.tensor([shares[name] for name in names])


@pytest.mark.parametrize("views", [(2, 3), (1, 1)])
def test_probabilities_are_those_of_the_test(views, checkpoint, videos, root, tmp_path):
    loaded = load(checkpoint)
    assert (loaded.settings["test_clips"], loaded.settings["test_crops"]) == (2, 3)
    data = four_skills(root, **loaded.settings | dict(zip(("test_clips", "test_crops"), views, strict=True)))
    trainer = Trainer(logger=False, enable_progress_bar=False, enable_model_summary=False, accelerator="cpu")
    trainer.test(loaded.model, data, verbose=False)
    expected = loaded.model.test_accuracy.per_video()[0].softmax(1)
    assert (expected[0] - expected[-1]).abs().max() > 1e-4  # the model distinguishes videos
    records = [record.path for record in data.records("test")]
    assert sorted(records) == videos
    flags = ["--clips", 1, "--crops", 1] if views == (1, 1) else []
    found, _ = written(tmp_path / "out.csv", "--ckpt", checkpoint, *records, "--top", 8, "--batch", 3, *flags)
    assert [*found] == [str(path) for path in records]
    ours = torch.stack([probabilities(video, loaded.class_names) for video in found.values()])
    assert_close_in_float32(ours, expected, loaded.model)


def test_the_checkpoint_is_all_it_takes(checkpoint, videos, tmp_path, monkeypatch, capsys):
    shutil.copy(checkpoint, tmp_path / "only.ckpt")
    shutil.copy(videos[0], tmp_path / "mine.mp4")
    here, _ = written(tmp_path / "here.csv", "--ckpt", checkpoint, videos[0])
    capsys.readouterr()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LIT_VIDEO_DATA", str(tmp_path / "home"))
    elsewhere, _ = written(Path("out.csv"), "--ckpt", "only.ckpt", "mine.mp4")
    said = capsys.readouterr()
    assert said.err == "wrote out.csv\n"
    assert [*elsewhere.values()] == [*here.values()]
    assert elsewhere["mine.mp4"]["class"][0][0] in said.out


def test_two_tasks_are_ranked_alone_and_together(videos, tmp_path, capsys):
    model = ViViT({"verb": 2, "noun": 4}, 4, 16, size=ViTSize(16, 2, 2), patch_size=8, tubelet_size=2)
    two_tasks = untrained(model, tmp_path / "last.ckpt", VERBS_NOUNS, num_frames=4, image_size=16)
    (video,) = written(tmp_path / "out.csv", "--ckpt", two_tasks, videos[0], "--top", 8)[0].values()
    verb, noun = (probabilities(video, names, task) for task, names in VERBS_NOUNS.items())
    for shares in (verb, noun):
        # a share below 1 has six digits, so half a millionth at most is cut off; softmax adds to 1 in float32
        rounding = len(shares) * (0.5e-6 + torch.finfo(torch.float32).eps)
        assert shares.sum().item() == pytest.approx(1, abs=rounding, rel=0)
    pairs = [f"{v}, {n}" for v in VERBS_NOUNS["verb"] for n in VERBS_NOUNS["noun"]]
    torch.testing.assert_close(probabilities(video, pairs, "action"), (verb[:, None] * noun).flatten())
    shown = capsys.readouterr().out
    assert all(f" {task} " in shown for task in ("verb", "noun", "action"))
    (best,) = written(tmp_path / "best.csv", "--ckpt", two_tasks, videos[0], "--top", 1)[0].values()
    assert best["action"] == video["action"][:1]


@pytest.mark.parametrize("name", [*NETWORKS, "c2d", "slowfast", "x3d"])
def test_features_through_the_last_layer_are_the_logits(name):
    if name in NETWORKS:
        network, clips = build(name), clip_of()
    else:
        torch.manual_seed(0)
        network = ConvNet(5, 8, 32, architecture=name, width=16).eval().network
        clips = clip_of(8, 32, 32)
        torch.nn.init.normal_(linear_head(network).weight)
    head = linear_head(network)
    twin, inputs = keeping_inputs(network, head)
    with torch.no_grad():
        logits = twin(clips)
    assert torch.equal(logits, network(clips))
    assert len(inputs) == 1
    assert inputs[0].shape == (2, head.in_features)
    assert (logits[0] - logits[1]).abs().max() > 1e-5
    torch.testing.assert_close(inputs[0] @ head.weight.T + head.bias, logits, atol=1e-4, rtol=1e-4)


def test_features_are_written_with_the_logits_they_lead_to(checkpoint, videos, tmp_path):
    path = tmp_path / "features.npz"
    found, _ = written(tmp_path / "out.csv", "--ckpt", checkpoint, *videos, "--features", path)
    arrays = np.load(path)  # refuses pickles
    assert set(arrays) == {"features", "paths", "logits", "class_names", "tasks"}
    loaded = load(checkpoint)
    head = linear_head(loaded.model.network)
    logits = torch.from_numpy(arrays["features"]) @ head.weight.T + head.bias
    torch.testing.assert_close(logits, torch.from_numpy(arrays["logits"]), atol=1e-5, rtol=1e-5)
    assert arrays["paths"].tolist() == [*found]
    assert arrays["class_names"].tolist() == loaded.class_names
    assert {*arrays["tasks"]} == {"class"}
    best = [arrays["class_names"][i] for i in arrays["logits"].argmax(1)]
    assert best == [video["class"][0][0] for video in found.values()]


def test_files_and_folders_are_found_once_each(checkpoint, videos, tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("b.mp4", "sub/a.webm.mp4", "[odd] name.mp4"):
        shutil.copy(videos[0], tmp_path / name)
    (tmp_path / "labels.csv").write_text("not a video")
    (tmp_path / "sub" / "._b.mp4").write_bytes(b"macOS writes such files beside others")

    def paths(*args):
        return [Path(path) for path in written(tmp_path.parent / "out.csv", "--ckpt", checkpoint, *args)[0]]

    everything = [tmp_path / "[odd] name.mp4", tmp_path / "b.mp4", tmp_path / "sub/a.webm.mp4"]
    assert paths(tmp_path) == everything
    assert paths(tmp_path / "b.mp4", tmp_path) == [everything[1], everything[0], everything[2]]
    assert paths(tmp_path / "[odd] name.mp4") == everything[:1]


def test_broken_videos_are_listed_and_the_others_predicted(checkpoint, videos, tmp_path, capsys):
    text, cut = tmp_path / "text.mp4", tmp_path / "cut.mp4"
    text.write_text("no video")
    cut.write_bytes(videos[0].read_bytes()[:300])
    args = ["--ckpt", checkpoint, text, videos[0], cut, videos[1]]
    found, broken = written(tmp_path / "out.csv", *args, status=1)
    wrote, *lines = capsys.readouterr().err.splitlines()
    assert wrote == f"wrote {tmp_path / 'out.csv'}"
    assert lines[0].startswith(f"{text}: Invalid data")
    assert lines[1].startswith(f"{cut}: ")
    assert lines[2] == "2 of 4 videos could not be read"
    alone, _ = written(tmp_path / "alone.csv", "--ckpt", checkpoint, *videos[:2])
    assert [*found] == [str(path) for path in videos[:2]]
    ours, theirs = ([probabilities(v, dict(v["class"])) for v in each.values()] for each in (found, alone))
    assert_close_in_float32(torch.stack(ours), torch.stack(theirs), load(checkpoint).model)
    assert broken == [str(text), str(cut)]


def test_wrong_flags_are_reported(checkpoint, videos, tmp_path, capsys):
    for flags, message in (
        ([tmp_path / "none.mp4"], "none.mp4: no such file or folder"),
        ([tmp_path], "holds no video"),
        (["-o", tmp_path / "out.xml"], "out.xml ends in none of .csv"),
        (["-o", tmp_path / "nowhere" / "out.csv"], "no such folder"),
    ):
        assert predict("--ckpt", checkpoint, videos[0], *flags) == 2, flags
        assert message in one_line(capsys)
    if not torch.cuda.is_available():
        assert predict("--ckpt", checkpoint, videos[0], "--device", "cuda") == 2
        assert "--device cuda: PyTorch finds no GPU here" in one_line(capsys)
    assert not any(tmp_path.iterdir())


def changed(checkpoint, path, change):
    content = torch.load(checkpoint, weights_only=False)
    change(content)
    torch.save(content, path)
    return path


def test_what_is_no_checkpoint_of_ours_is_reported(checkpoint, videos, tmp_path, capsys):
    damaged, weights = tmp_path / "damaged.ckpt", tmp_path / "weights.pth"
    damaged.write_bytes(checkpoint.read_bytes()[: checkpoint.stat().st_size // 2])
    torch.save({"model_state": {"weight": torch.zeros(2)}}, weights)
    foreign = changed(checkpoint, tmp_path / "foreign.ckpt", lambda content: content.pop("lit_video"))
    fewer = lambda content: content["state_dict"].popitem()  # noqa: E731
    for path, message in (
        (tmp_path, "holds no checkpoint"),
        (damaged, "damaged.ckpt is damaged, or no checkpoint of lit_video"),
        (weights, "weights.pth is no checkpoint of lit_video"),
        (foreign, "foreign.ckpt has no class names"),
        (changed(checkpoint, tmp_path / "fewer.ckpt", fewer), "fewer.ckpt is no checkpoint of a VideoClassifier"),
    ):
        assert predict("--ckpt", path, videos[0]) == 2
        assert message in one_line(capsys)


def test_order_plays_the_clips_of_a_test_in_another_order(run, root, capsys, monkeypatch):
    seen, real = [], dataset_module.reordered

    def watched(numbers, order):
        seen.append((order, real(numbers, order)))
        return seen[-1][1]

    monkeypatch.setattr(dataset_module, "reordered", watched)
    args = ["test", "--ckpt", run / "last.ckpt", "--trainer.accelerator=cpu"]
    for flags in ([], ["--data.order", "reversed"]):
        assert main([*map(str, args), *flags]) == 0
    forward, backward = ([n for o, n in seen if o == order] for order in ("forward", "reversed"))
    assert len(forward) == len(backward) >= 16  # numbers may be requested before decoding
    assert backward == [numbers[::-1] for numbers in forward]
    assert forward != backward


def test_folders_of_pictures_are_videos_at_a_rate(checkpoint, videos, tmp_path, capsys):
    folder = tmp_path / "frames" / "one"
    folder.mkdir(parents=True)
    for i in range(frame_table(videos[0]).count):
        Image.fromarray(decode(videos[0], [i])[0]).save(folder / f"{i}.png")
    rate = round(frame_table(videos[0]).count / float(frame_table(videos[0]).seconds))
    (one,) = written(tmp_path / "file.csv", "--ckpt", checkpoint, videos[0])[0].values()
    (other,) = written(tmp_path / "o.csv", "--ckpt", checkpoint, tmp_path / "frames", "--fps", rate)[0].values()
    assert [p for _, p in one["class"]] == pytest.approx([p for _, p in other["class"]], abs=1e-3)
    capsys.readouterr()
    for arguments, message in (
        ([tmp_path / "frames"], "holds pictures but no video; give --fps N, the frame rate"),
        ([folder / "0.png"], "0.png: is a picture, not a video; give the folder of its frames, and --fps N"),
    ):
        assert predict("--ckpt", checkpoint, *arguments) == 2
        assert message in one_line(capsys)


def test_of_many_videos_a_summary_is_printed_and_the_file_has_all(checkpoint, videos, tmp_path, capsys):
    for number in range(21):
        shutil.copy(videos[number % 2], tmp_path / f"{number}.mp4")
    assert predict("--ckpt", checkpoint, tmp_path) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) < 8 and "-o FILE.csv" in said.err
    counts = [int(line.split("│")[3]) for line in said.out.splitlines() if line.startswith("│")]
    assert sum(counts) == 21 and 1 <= len(counts) <= 2
    found, _ = written(tmp_path / "all.csv", "--ckpt", checkpoint, tmp_path)
    assert len(found) == 21
    assert "-o FILE.csv" not in capsys.readouterr().err
