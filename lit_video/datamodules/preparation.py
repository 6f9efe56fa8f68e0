"""Re-encoding of a folder of videos for training, and how much faster clips of the copies are read on this machine."""

import errno
import json
import logging
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

import av
import numpy as np
from av.filter import Graph
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream
from filelock import FileLock, Timeout

from lit_video.errors import UserError
from lit_video.utils.files import files_below, is_video, write_atomically, write_table
from lit_video.utils.parallel import in_parallel
from lit_video.utils.text import Part, Shown, plural, printable
from lit_video.video.decoding import DecodeError, decode, forget_tables, frame_table
from lit_video.video.decoding.pyav import frames_in_order, orientation, refuse_colours
from lit_video.video.decoding.table_of_frames import FrameTable
from lit_video.video.decoding.table_reading import check_sound

_logger = logging.getLogger(__name__)

LIST = "videos.csv"
ANNOTATIONS = {".csv", ".json", ".tsv", ".txt", ".yaml", ".yml"}
NUM_FRAMES = 8  # frames of a clip
STRIDE = 8  # distance of two frames of a clip; smaller in videos that are too short for it
CLIPS_PER_VIDEO = 4  # clips of a video
SAMPLE = 3  # videos that are measured


@dataclass(frozen=True)
class Encoding:
    """Settings of H.264 for encoded videos."""

    short_side: int = 256  # largest shorter side in pixels; a smaller video keeps its size, made even
    gop: int = 12  # frames from one key frame to the next: few make random access fast, many make files small
    crf: int = 22  # x264's quality, 0 to 51; 0 is lossless
    fast_decode: bool = False  # larger files: no arithmetic coding, no deblocking


PRESETS: dict[str, Encoding] = {
    "small": Encoding(),
    "fast": Encoding(fast_decode=True),
    "fastest": Encoding(gop=1, fast_decode=True),
}
# three of four pictures are B frames to which no other refers, so that a clip can skip those that it does not show
_SKIPPED = "bframes=3:b-adapt=0:scenecut=0:b-pyramid=none"


@dataclass(frozen=True, repr=False)
class Prepared(Shown):
    """Videos that were encoded."""

    folder: Path
    videos: int  # number of videos
    annotations: int  # number of files that were copied
    broken: dict[Path, str]  # videos that cannot be read, relative to their source, with the reasons

    @property
    def list(self) -> Path:
        """Table of the videos, for ``VideoCSV``."""
        return self.folder / LIST

    def parts(self) -> Sequence[Part]:
        """Return the number of videos, then a line for each broken one."""
        copied = f"with {self.annotations} files of annotations"
        lines = [f"{self.videos} videos in {self.folder}, listed in {self.list}, {copied}"]
        if self.broken:
            lines.append(f"broken ({len(self.broken)}):")
            lines += [printable(f"  {path}: {reason}") for path, reason in self.broken.items()]
        return ["\n".join(lines)]


def prepare_folder(src: Path, dst: Path, encoding: Encoding) -> Prepared:
    """Encode all videos under ``src`` to ``dst``, copy annotations, and write ``videos.csv``."""
    if src.resolve() in (dst.resolve(), *dst.resolve().parents):
        raise UserError(f"DST: {dst} is SRC or lies inside it; give a folder outside {src}")

    jobs = _jobs(src, dst)
    encoded: list[Path] = []
    broken: dict[Path, str] = {}
    try:
        dst.mkdir(parents=True, exist_ok=True)
        with FileLock(dst / ".prepare.lock", timeout=0):
            settings = dst / "encoding.json"
            made_with = json.loads(settings.read_text(encoding="utf-8")) if settings.exists() else asdict(encoding)
            if made_with != asdict(encoding):
                fault = f"{dst} was made with {json.dumps(made_with)}"
                raise UserError(f"DST: {fault}; give another folder, or delete this one")
            write_atomically(settings, json.dumps(asdict(encoding)) + "\n")

            # a few videos first, to say how much faster their clips are read
            sample = [job for job in sample_of(jobs) if not job[1].exists()]
            readable = [job for job in sample if not _prepare(encoding, job)]
            if readable:
                _logger.info(measure_speed(readable))

            reasons = in_parallel(partial(_prepare, encoding), jobs, "data prepare")
            for (source, target), reason in zip(jobs, reasons, strict=False):
                if reason:
                    broken[source.relative_to(src)] = reason
                else:
                    encoded.append(target)

            annotations = _copy_annotations(src, dst)
            if dst / LIST not in annotations:
                _write_list(dst, encoded)
    except Timeout:
        raise UserError(f"DST: another process is writing to {dst}; wait or stop it") from None
    except OSError as error:
        raise UserError(f"DST: cannot write {dst} ({error.strerror}); give another folder") from error

    return Prepared(dst, videos=len(encoded), annotations=len(annotations), broken=broken)


def _write_list(dst: Path, encoded: Sequence[Path]) -> None:
    """Write the table of the encoded videos: their paths, and their folders as labels if there are several."""
    names = [path.relative_to(dst) for path in encoded]
    labels = [name.parent.name for name in names]
    if len({*labels} - {""}) < 2:  # one folder alone is no class
        rows = [["path"], *([name.as_posix()] for name in names)]
    else:
        rows = [["path", "label"], *([name.as_posix(), label] for name, label in zip(names, labels, strict=True))]
    write_table(dst / LIST, rows)


def _copy_annotations(src: Path, dst: Path) -> list[Path]:
    """Copy the files of annotations under ``src``; return the copies."""
    copies: list[Path] = []
    for file in files_below(src):
        if file.suffix.lower() in ANNOTATIONS:
            copy = dst / file.relative_to(src)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copy)
            copies.append(copy)
    return copies


def _prepare(encoding: Encoding, job: tuple[Path, Path]) -> str:
    """Encode one video unless its target is up to date; return the reason of a failure, else an empty string."""
    source, target = job
    try:
        if target.exists() and target.stat().st_mtime_ns >= source.stat().st_mtime_ns:
            return ""
        reencode(source, target, encoding)

    except DecodeError as error:
        return str(error).removeprefix(f"{source}: ")
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return f"its name is too long to write ({len(source.name.encode())} bytes); rename it"
    finally:
        forget_tables()
    return ""


def _jobs(src: Path, dst: Path) -> list[tuple[Path, Path]]:
    """Return each video under ``src`` with the file that it becomes under ``dst``."""
    sources: dict[Path, Path] = {}
    for source in files_below(src):
        if not is_video(source):
            continue
        target = (dst / source.relative_to(src)).with_suffix(".mp4")
        if target in sources:
            raise UserError(f"SRC: {sources[target]} and {source} would both become {target}; rename one")
        sources[target] = source
    return [(source, target) for target, source in sources.items()]


def reencode(source: Path, target: Path, encoding: Encoding) -> None:
    """Encode a video upright, without sound, starting at time 0; raise a DecodeError for damage or an early end."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    gop = min(encoding.gop, key_distance(frame_table(source)))
    try:
        with av.open(f"file:{part}", "w", format="mp4") as container:
            stream: VideoStream | None = None
            for picture in resized(source, encoding.short_side):
                if stream is None:
                    stream = _stream(container, picture, replace(encoding, gop=gop))
                container.mux(stream.encode(picture))
            assert stream is not None, "a table has frames"
            container.mux(stream.encode())
        part.replace(target)

    except av.FFmpegError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EROFS}:  # faults of the target's disk
            raise OSError(error.errno, error.strerror) from error
        raise DecodeError(f"{source}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)


class _Shape(NamedTuple):
    """Size of a stored frame, and how it is turned."""

    width: int
    height: int
    transposed: bool
    down: int
    right: int

    @classmethod
    def of(cls, frame: VideoFrame, matrix: str) -> "_Shape":
        """Return the shape of a frame; ``matrix`` is the table's, see :func:`orientation`."""
        transposed, down, right = orientation(frame, matrix)
        return cls(frame.width, frame.height, transposed, down=down, right=right)


def resized(source: Path, short_side: int) -> Iterator[VideoFrame]:
    """Yield a video's frames, ready to encode: upright, resized, 8-bit 4:2:0, with times that start at 0."""
    table = frame_table(source)
    check_sound(source, table, range(table.count))

    graph = Graph()
    shape: _Shape | None = None
    count = 0
    for _, frame in frames_in_order(source, table, range(table.count)):
        refuse_colours(frame)
        shape_of_frame = _Shape.of(frame, table.matrix)
        if shape is None:
            shape = shape_of_frame
            _link(graph, frame, shape, short_side=short_side)
        if shape_of_frame != shape:
            raise DecodeError(f"{source}: its frames have several sizes")

        frame.pts = 0
        frame.time_base = Fraction(1, 1000)
        graph.vpush(frame)
        picture = graph.vpull()
        assert isinstance(picture, VideoFrame)
        picture.pict_type = PictureType.NONE  # x264 would make a key frame of every one that the source has
        if table.times:
            picture.pts = table.times[count] - table.times[0]
            picture.time_base = table.time_base
        else:
            picture.pts = count
            picture.time_base = table.seconds / table.count
        yield picture
        count += 1
    if count < table.count:
        raise DecodeError(f"{source}: {count} of {table.count} frames can be decoded")


def _link(graph: Graph, frame: VideoFrame, shape: _Shape, *, short_side: int) -> None:
    """Build a graph of filters that resizes frames and turns them upright."""
    width, height = scaled(shape.width, shape.height, short_side)
    source = graph.add_buffer(
        width=shape.width,
        height=shape.height,
        format=frame.format,
        time_base=Fraction(1, 1000),
    )

    nodes = [source, graph.add("scale", f"{width}:{height}:flags=bicubic+accurate_rnd")]
    if shape.transposed:
        nodes.append(graph.add("transpose"))  # alone it mirrors at the main diagonal
    if shape.down < 0:
        nodes.append(graph.add("vflip"))
    if shape.right < 0:
        nodes.append(graph.add("hflip"))
    nodes.append(graph.add("format", "pix_fmts=yuv420p"))
    nodes.append(graph.add("buffersink"))
    graph.link_nodes(*nodes).configure()


def key_distance(table: FrameTable) -> int:
    """Return the largest number of frames from a key frame to the next or to the end, for use in the copy.

    If the video can be decoded from its start only, all frames count. Key frames further apart than in the source would
    make the copy slower to read.
    """
    if not table.keyframes:
        return table.count
    starts = np.searchsorted(table.pts, [*table.keyframes]).tolist()
    return max(end - start for start, end in pairwise([*starts, table.count]))


def scaled(width: int, height: int, short_side: int) -> tuple[int, int]:
    """Return a size scaled so that its shorter side is at most ``short_side``, both sides rounded to even numbers."""
    share = min(1.0, short_side / min(width, height))
    even_width = 2 * round(width * share / 2)
    even_height = 2 * round(height * share / 2)
    return max(2, even_width), max(2, even_height)


def _stream(container: av.container.OutputContainer, first: VideoFrame, encoding: Encoding) -> VideoStream:
    """Add a stream for pictures like the first one."""
    stream = container.add_stream("libx264")
    assert isinstance(stream, VideoStream) and first.time_base is not None
    stream.width = first.width
    stream.height = first.height
    stream.pix_fmt = "yuv420p"
    stream.time_base = first.time_base

    context = stream.codec_context
    context.time_base = first.time_base
    context.gop_size = encoding.gop
    context.thread_count = 1
    context.color_range = first.color_range
    context.colorspace = first.colorspace

    stream.options = {"crf": str(encoding.crf), "preset": "medium", "x264-params": _SKIPPED}
    if encoding.fast_decode:
        stream.options["tune"] = "fastdecode"
    return stream


class Speed(NamedTuple):
    """Seconds of one core for a clip: of the sources, and of their prepared copies."""

    source: float
    prepared: float
    videos: int

    def __str__(self) -> str:
        """Say whether preparing pays, before hours are spent on it."""
        source = f"{1000 * self.source:.1f} ms"
        prepared = f"{1000 * self.prepared:.1f} ms"
        speeds = f"a clip of {NUM_FRAMES} frames takes {prepared} of a core to read, {source} from SRC"
        speeds += f" ({plural(self.videos, 'video')} measured)"
        gain = round(self.source / self.prepared, 1)
        if gain > 1:
            return f"{speeds}: {gain} x as fast"

        advice = "a faster --preset, a smaller --short-side, or no preparation: their codec is quick to decode"
        return f"{speeds}: no faster; consider {advice}"


def sample_of(jobs: Sequence[tuple[Path, Path]]) -> list[tuple[Path, Path]]:
    """Return a few jobs from all parts of a list."""
    step = max(1, len(jobs) // SAMPLE)
    return [*jobs[::step]][:SAMPLE]


def clips_of(path: Path) -> list[list[int]]:
    """Return the frame numbers of clips at even distances over a video."""
    count = frame_table(path).count
    stride = max(1, min(STRIDE, count // NUM_FRAMES))
    last = max(0, count - 1 - stride * (NUM_FRAMES - 1))

    clips: list[list[int]] = []
    for number in range(CLIPS_PER_VIDEO):
        first = last * number // (CLIPS_PER_VIDEO - 1)
        clips.append([min(first + stride * position, count - 1) for position in range(NUM_FRAMES)])
    return clips


def measure_speed(jobs: Sequence[tuple[Path, Path]]) -> Speed:
    """Measure videos and their copies in turn; a copy has its source's frames."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for job in jobs:
        for clip in clips_of(job[0]):
            for path, spent in zip(job, seconds, strict=True):
                frame_table(path)  # read once for all clips, so no part of a clip's time
                start = time.process_time()
                decode(path, clip)
                spent.append(time.process_time() - start)

    source, prepared = seconds
    return Speed(source=median(source), prepared=median(prepared), videos=len(jobs))
