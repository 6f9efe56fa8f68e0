"""Re-encoding of a folder of videos for training: small pictures, key frames close together, no sound."""

import errno
import json
import logging
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import compress, pairwise
from pathlib import Path

import av
import numpy as np
from av.filter import Graph
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream
from filelock import FileLock, Timeout

from lit_video.datamodules.reading_speed import measure, sample_of
from lit_video.errors import UserError
from lit_video.utils.files import COMMON, files_below, is_video, write_atomically, write_table
from lit_video.utils.parallel import in_parallel
from lit_video.utils.shown import Part, Shown
from lit_video.utils.text import printable
from lit_video.video.decoding import DecodeError, forget_tables, frame_table
from lit_video.video.decoding.colours import refuse_colours
from lit_video.video.decoding.frame_table import FrameTable, check_sound
from lit_video.video.decoding.pyav import frames_in_order, orientation

_logger = logging.getLogger(__name__)

LIST = "videos.csv"
ANNOTATIONS = {".csv", ".json", ".tsv", ".txt", ".yaml", ".yml"}
_TURNS = ("transpose", "vflip", "hflip")  # a transpose alone mirrors at the main diagonal


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
# three of four pictures are B frames to which no other refers: a clip skips those that it does not show
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
    try:
        dst.mkdir(parents=True, exist_ok=True)
        with FileLock(dst / ".prepare.lock", timeout=0):
            _same_encoding(dst / "encoding.json", encoding)
            _say_what_is_gained(jobs, encoding)
            rows = [["path", "label"]]
            broken: dict[Path, str] = {}
            results = in_parallel(partial(_prepare, encoding), jobs, "data prepare")
            for (source, target), reason in zip(jobs, results, strict=False):
                done = target.relative_to(dst)
                if reason:
                    broken[source.relative_to(src)] = reason
                else:
                    rows.append([done.as_posix(), done.parent.name])
            copied = _copy_annotations(src, dst)
            if dst / LIST not in copied:
                if len({label for _, label in rows[1:]} - {""}) < 2:  # one folder alone is no class
                    rows = [row[:1] for row in rows]
                write_table(dst / LIST, rows)
    except Timeout:
        raise UserError(f"DST: another process is writing to {dst}; wait or stop it") from None
    except OSError as error:
        raise UserError(f"DST: cannot write {dst} ({error.strerror}); give another folder") from error
    return Prepared(dst, len(rows) - 1, len(copied), broken)


def _say_what_is_gained(jobs: Sequence[tuple[Path, Path]], encoding: Encoding) -> None:
    """Prepare a few videos and log how much faster their clips are read, before all others are prepared."""
    sample = [job for job in sample_of(jobs) if not job[1].exists()]
    readable = [job for job in sample if not _prepare(encoding, job)]
    if readable:
        _logger.info(measure(readable))


def _copy_annotations(src: Path, dst: Path) -> list[Path]:
    copies = []
    for file in files_below(src):
        if file.suffix.lower() in ANNOTATIONS:
            copies.append(dst / file.relative_to(src))
            copies[-1].parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copies[-1])
    return copies


def _prepare(encoding: Encoding, job: tuple[Path, Path]) -> str:
    """Encode one video unless its target is up to date; return the reason of a failure, else an empty string."""
    source, target = job
    try:
        if target.exists() and target.stat().st_mtime_ns >= source.stat().st_mtime_ns:
            return ""
        encode(source, target, encoding)
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
    sources: dict[Path, Path] = {}
    for source in filter(is_video, files_below(src)):
        target = (dst / source.relative_to(src)).with_suffix(".mp4")
        if other := sources.get(target):
            raise UserError(f"SRC: {other} and {source} would both become {target}; rename one")
        sources[target] = source
    if not sources:
        raise UserError(f"SRC: {src} holds no video ({', '.join(sorted(COMMON))})")
    return [*zip(sources.values(), sources, strict=True)]


def _same_encoding(file: Path, encoding: Encoding) -> None:
    """Refuse an encoding other than the one in ``file``; write it to ``file`` if there is none."""
    if file.exists() and (made := json.loads(file.read_text(encoding="utf-8"))) != asdict(encoding):
        raise UserError(f"DST: {file.parent} was made with {json.dumps(made)}; give another folder, or delete this one")
    write_atomically(file, json.dumps(asdict(encoding)) + "\n")


def encode(source: Path, target: Path, encoding: Encoding) -> None:
    """Encode a video upright, without sound, starting at time 0; raise a DecodeError for damage or an early end."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    gop = min(encoding.gop, key_distance(frame_table(source)))
    try:
        with av.open(f"file:{part}", "w", format="mp4") as new:
            out: VideoStream | None = None
            for picture in resized(source, encoding.short_side):
                out = out or _stream(new, picture, replace(encoding, gop=gop))
                new.mux(out.encode(picture))
            assert out is not None, "a table has frames"
            new.mux(out.encode())
        part.replace(target)
    except av.FFmpegError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EROFS}:  # faults of the target's disk
            raise OSError(error.errno, error.strerror) from error
        raise DecodeError(f"{source}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)


def resized(source: Path, short_side: int) -> Iterator[VideoFrame]:
    """Yield a video's frames, ready to encode: upright, resized, 8-bit 4:2:0, with times that start at 0."""
    table, count = frame_table(source), 0
    check_sound(source, table, range(table.count))
    graph, size = Graph(), None
    for _, frame in frames_in_order(source, table, range(table.count)):
        refuse_colours(frame)
        if size is None:
            size = (frame.width, frame.height, orientation(frame, table.matrix))
            width, height = scaled(*size[:2], short_side)
            nodes = [graph.add_buffer(width=size[0], height=size[1], format=frame.format, time_base=Fraction(1, 1000))]
            nodes.append(graph.add("scale", f"{width}:{height}:flags=bicubic+accurate_rnd"))
            transposed, down, right = orientation(frame, table.matrix)
            nodes += map(graph.add, compress(_TURNS, (transposed, down < 0, right < 0)))
            nodes += [graph.add("format", "pix_fmts=yuv420p"), graph.add("buffersink")]
            graph.link_nodes(*nodes).configure()
        if (frame.width, frame.height, orientation(frame, table.matrix)) != size:
            raise DecodeError(f"{source}: its frames have several sizes")
        frame.pts, frame.time_base = 0, Fraction(1, 1000)
        graph.vpush(frame)
        picture = graph.vpull()
        picture.pict_type = PictureType.NONE  # x264 would make a key frame of every one that the source has
        picture.pts, picture.time_base = count, table.seconds / table.count
        if table.times:
            picture.pts, picture.time_base = table.times[count] - table.times[0], table.time_base
        yield picture
        count += 1
    if count < table.count:
        raise DecodeError(f"{source}: {count} of {table.count} frames can be decoded")


def key_distance(table: FrameTable) -> int:
    """Return the most frames from one key frame to the next, or to the end; all frames if decoding starts at the first.

    A copy with key frames further apart would be slower to read than its source.
    """
    if not table.keyframes:
        return table.count
    starts = np.searchsorted(table.pts, [*table.keyframes]).tolist()
    return max(end - start for start, end in pairwise([*starts, table.count]))


def scaled(width: int, height: int, short_side: int) -> tuple[int, int]:
    """Return a size scaled so that its shorter side is at most ``short_side``, both sides rounded to even numbers."""
    share = min(1.0, short_side / min(width, height))
    return max(2, 2 * round(width * share / 2)), max(2, 2 * round(height * share / 2))


def _stream(container: av.container.OutputContainer, first: VideoFrame, encoding: Encoding) -> VideoStream:
    stream = container.add_stream("libx264")
    assert isinstance(stream, VideoStream) and first.time_base is not None
    context = stream.codec_context
    stream.width, stream.height, stream.pix_fmt = first.width, first.height, "yuv420p"
    stream.time_base = context.time_base = first.time_base
    context.gop_size, context.thread_count = encoding.gop, 1
    context.color_range, context.colorspace = first.color_range, first.colorspace
    stream.options = {"crf": str(encoding.crf), "preset": "medium", "x264-params": _SKIPPED}
    if encoding.fast_decode:
        stream.options["tune"] = "fastdecode"
    return stream
