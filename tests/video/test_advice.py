"""Test that what a message on a video file tells to do can be done as it says, and goes on."""

import re
from dataclasses import dataclass
from types import SimpleNamespace

import av
import pytest
from PIL import Image

from lit_video.utils.files import read_regular
from lit_video.video.decoding import DecodeError, image_table
from lit_video.video.decoding.pyav import refuse_colours
from lit_video.video.sampling import Sampling
from lit_video.video.settings import check_storable


class Middle(Sampling):
    """The middle frame, again and again."""

    def numbers(self, table, num_frames, clip=0, *, clips=None):
        return [table.count // 2] * num_frames


def test_series_of_pictures_get_folders_of_their_own_as_told(tmp_path):
    for series in ("left", "right"):
        for number in range(3):
            Image.new("RGB", (8, 8)).save(tmp_path / f"{series}_{number}.png")
    with pytest.raises(DecodeError, match="give each series a folder of its own"):
        image_table(tmp_path, 10)
    (tmp_path / "other").mkdir()
    for path in tmp_path.glob("right*"):
        path.rename(tmp_path / "other" / path.name)
    assert image_table(tmp_path, 10).count == image_table(tmp_path / "other", 10).count == 3


def test_a_sampling_is_made_a_dataclass_as_told():
    with pytest.raises(ValueError, match=r"is no dataclass, .*; make it one"):
        check_storable(Middle())
    check_storable(dataclass(Middle)())


def test_a_link_is_replaced_by_a_copy_as_told(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    link = tmp_path / "link"
    link.symlink_to("file")
    with pytest.raises(ValueError, match="put a copy of the file there"):
        read_regular(link, 100)
    link.unlink()
    link.write_bytes((tmp_path / "file").read_bytes())
    assert read_regular(link, 100) == b"content"


def shows(matrix):
    """Return a frame that says its matrix of colours."""
    return SimpleNamespace(colorspace=matrix, format=SimpleNamespace(is_rgb=False))


@pytest.mark.parametrize(("matrix", "command"), [(8, True), (14, True), (11, False), (17, False)])
def test_colours_are_converted_by_a_command_that_reads_them(matrix, command):
    with pytest.raises(av.PatchWelcomeError, match="709") as error:
        refuse_colours(shows(matrix))
    told = re.findall(r"zscale=matrix=(\d+)", str(error.value))
    assert bool(told) == command
    refuse_colours(shows(1))
