"""Test that files in somebody else's folder open no second file, start no program, and wait for nothing."""

import os
import signal
import struct
import zlib

import av
import numpy as np
import pytest
from PIL import Image

from lit_video.datamodules.probe import probe_video
from lit_video.video.decoding import DecodeError, decode, decode_images, frame_table
from lit_video.video.decoding.container import _OPTIONS
from lit_video.video.trained_on import content_digest, copies
from tests.video.made import write

LISTS = {  # other files that FFmpeg would open: a pipe, on which it would wait for ever
    "ffconcat": "ffconcat version 1.0\nfile pipe.mp4\n",
    "m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\npipe.mp4\n#EXT-X-ENDLIST\n",
    "mpd": "<MPD xmlns='urn:mpeg:dash:schema:mpd:2011' type='static'><Period><AdaptationSet><Representation id='1'>"
    "<BaseURL>pipe.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>",
    "sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n"
    "a=rtpmap:96 H264/90000\n",
    "ism": "<SmoothStreamingMedia MajorVersion='2' MinorVersion='0' Duration='1'></SmoothStreamingMedia>",
    "avs": "FFmpegSource2('pipe.mp4')\n",
    "svg": "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><image href='pipe.mp4'/></svg>",
    "idx": "# VobSub index file, v7 (do not modify this line!)\nid: en, index: 0\n",
    "ffmetadata": ";FFMETADATA1\ntitle=x\n",
}


@pytest.fixture(autouse=True)
def no_waiting():
    """End a test that waits for a pipe."""
    signal.alarm(60)
    yield
    signal.alarm(0)


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.mp4")
    return tmp_path / "pipe.mp4"


def refused(path):
    """Return the reason for which a video or folder of pictures is refused."""
    info = probe_video(path, path.name, every_frame=True, fps=25 if path.is_dir() else None)
    assert info.status == "broken"
    with pytest.raises(DecodeError) as error:
        decode_images(path, [0]) if path.is_dir() else decode(path, [0])
    return str(error.value)


@pytest.mark.parametrize("ending", ["mp4", "own"])
@pytest.mark.parametrize("kind", LISTS)
def test_a_list_of_other_files_is_no_video(kind, ending, pipe, tmp_path):
    path = tmp_path / f"video.{kind if ending == 'own' else ending}"
    path.write_text(LISTS[kind])
    assert str(path) in refused(path)


def test_only_demuxers_of_single_files_are_asked():
    names = {*_OPTIONS["format_whitelist"].split(",")}
    offered = {name for each in av.formats_available for name in each.split(",")}
    assert names <= offered
    assert not names & {"concat", "hls", "dash", "sdp", "rtsp", "image2", "lavfi", "imf", "avisynth", "tty", "vobsub"}
    assert _OPTIONS["protocol_whitelist"] == "file"


@pytest.mark.parametrize("form", ["PNG", "JPEG", "TIFF", "PPM"])
def test_a_picture_is_no_video(form, tmp_path):
    Image.new("RGB", (20, 10)).save(tmp_path / "video.mp4", format=form)
    assert "video.mp4" in refused(tmp_path / "video.mp4")


def test_a_name_with_a_pattern_is_a_name(tmp_path):
    write(tmp_path / "01.mp4", num_frames=2)
    write(tmp_path / "%02d.mp4", num_frames=5)
    assert frame_table(tmp_path / "%02d.mp4").count == 5


@pytest.mark.parametrize("target", ["pipe.mp4", "/dev/zero", "/dev/stdin"])
def test_pipes_and_devices_are_no_videos_whoever_reads_them(target, pipe, tmp_path):
    path = tmp_path / "video.mp4"
    path.symlink_to(target)
    assert "video.mp4" in refused(path)
    assert content_digest(path) == 0
    assert copies([str(path), str(pipe)]) == {}


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"


@pytest.mark.parametrize("form", ["EPS", "TIFF", "GIF", "PPM", "ICO", "PCX", "TGA", "PDF"])
def test_pictures_of_other_formats_are_refused_whatever_their_names(form, tmp_path, monkeypatch):
    def start(*args, **kwargs):
        raise AssertionError(f"a program is started: {args}")

    monkeypatch.setattr("subprocess.Popen", start)
    path = tmp_path / "1.jpg"
    if form == "EPS":
        path.write_bytes(POSTSCRIPT)
    else:
        Image.new("RGB", (20, 10)).save(path, format=form)
    assert f"{path}: its content is no picture of JPEG, PNG" in refused(tmp_path)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "BMP", "MPO"])
def test_pictures_of_known_formats_are_read_whatever_their_names(form, tmp_path):
    more = {"save_all": True, "append_images": [Image.new("RGB", (20, 10))]} if form == "MPO" else {}
    Image.new("RGB", (20, 10), (80, 80, 80)).save(tmp_path / "1.png", format=form, **more)
    (frame,) = decode_images(tmp_path, [0])
    assert frame.shape == (10, 20, 3) and np.ptp(frame) <= 2


def piped(path):
    os.mkfifo(path)


def endless(path):
    path.symlink_to("/dev/zero")


def huge(path):
    with path.open("wb") as file:
        file.truncate(1 << 32)


def bomb(path):
    """Write a PNG whose header announces 30,000 x 30,000 pixels."""
    Image.new("1", (8, 8)).save(path)
    content = path.read_bytes()
    header = b"IHDR" + struct.pack(">II", 30_000, 30_000) + content[24:29]
    path.write_bytes(content[:12] + header + struct.pack(">I", zlib.crc32(header)) + content[33:])


@pytest.mark.parametrize("harm", [piped, endless, huge, bomb])
def test_pictures_are_plain_files_within_limits(harm, tmp_path):
    harm(tmp_path / "1.png")
    assert "1.png" in refused(tmp_path)
