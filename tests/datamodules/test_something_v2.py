"""Something-Something v2 as released."""

import json

import pytest

from lit_video.datamodules import SomethingV2
from lit_video.errors import UserError
from lit_video.video.clips import VideoRecord

TEMPLATES = ["Holding something next to something", "Pretending to put something on a surface"]
TEMPLATES += [f"Pushing something {i} times" for i in range(2, 174)]
LABELS = {name: str(i) for i, name in reversed(list(enumerate(TEMPLATES)))}
TRAIN = [
    {
        "id": "78687",
        "label": "holding potato next to vicks vaporub bottle",
        "template": "Holding [something] next to [something]",
        "placeholders": ["potato", "vicks vaporub bottle"],
    },
    {"id": "42326", "label": "pushing a cup 2 times", "template": "Pushing [something] 2 times"},
]
VALIDATION = [{"id": i, "template": "Pretending to put [something] on a surface"} for i in ("74225", "74226")]
VIDEOS = ("78687", "42326", "74225", "74226")


@pytest.fixture
def something(tmp_path, video, small):
    """Function that writes a release and opens it."""

    def release(labels=LABELS, train=TRAIN, validation=VALIDATION, videos=VIDEOS, missing="skip"):
        (tmp_path / "labels").mkdir()
        for name, content in (("labels", labels), ("train", train), ("validation", validation)):
            text = content if isinstance(content, str) else json.dumps(content)
            (tmp_path / "labels" / f"{name}.json").write_text(text)
        for name in videos:
            video(tmp_path / "20bn-something-something-v2" / f"{name}.webm")
        return SomethingV2(root=str(tmp_path), missing=missing, **small)

    return release


def test_the_released_layout_is_read_and_its_sizes_are_reported(tmp_path, something, load, capsys):
    data = something()
    data.check()
    videos = tmp_path / "20bn-something-something-v2"
    assert data.records("train") == [VideoRecord(videos / "78687.webm", 0), VideoRecord(videos / "42326.webm", 2)]
    assert [record.label for record in data.records("val")] == [1, 1]
    assert data.class_names == TEMPLATES
    printed = capsys.readouterr().err.splitlines()
    assert "list 2 videos, the release has 168,913" in printed[0]
    assert "list 2 videos, the release has 24,777" in printed[1]
    train, test = load(data)
    assert sorted(train["label"].tolist()) == [0, 2]
    assert test["label"].tolist() == [1, 1]


def test_the_answers_of_the_test_split_are_tested_on_if_asked_for(tmp_path, something, video, small):
    something()
    (tmp_path / "labels" / "test-answers.csv").write_text(f"911;{TEMPLATES[1]}\n912;{TEMPLATES[0]}\n")
    for name in ("911", "912"):
        video(tmp_path / "20bn-something-something-v2" / f"{name}.webm")
    data = SomethingV2(root=str(tmp_path), missing="skip", test_answers=True, **small)
    assert [(record.path.stem, record.label) for record in data.records("test")] == [("911", 1), ("912", 0)]
    assert len(data.records("val")) == 2


def test_a_part_of_the_release_fails_unless_a_part_will_do(something):
    with pytest.raises(
        UserError, match=r"train annotations in .* list 2 videos, the release has 168,913; .*missing: skip"
    ):
        something(missing="fail").check()


WRONG_RELEASES = {
    "broken json": (dict(train='[{"id": "1"},\n {"id"'), "train.json is no JSON, line 2"),
    "empty list": (dict(train=[]), "train.json lists no video"),
    "version 1": (dict(labels={"Doing": "0", "Holding": "1"}), "labels.json has 2 classes, expected 174"),
    "no numbers": (dict(labels={"Doing": "a", "Holding": "b"}), "labels.json does not number the templates from 0"),
}


@pytest.mark.parametrize("what", WRONG_RELEASES)
def test_what_is_missing_or_wrong_is_reported_with_its_place(tmp_path, something, what):
    changes, message = WRONG_RELEASES[what]
    with pytest.raises(UserError, match=message) as error:
        something(**changes).check()
    assert str(tmp_path) in str(error.value)
