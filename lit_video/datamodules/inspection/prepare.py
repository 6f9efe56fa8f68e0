"""Re-encode a folder of videos for training: small pictures, key frames close together, no sound."""

import errno
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import av
from av.filter import Graph
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from filelock import FileLock, Timeout

from lit_video.datamodules.folder import COMMON, EXTENSIONS
from lit_video.errors import UserError
from lit_video.utils.files import write_atomically, write_table
from lit_video.utils.parallel import in_parallel
from lit_video.video.decoding import DecodeError, FrameTable, forget_tables, frame_table
from lit_video.video.decoding.container import scanned_stream
from lit_video.video.decoding.frame_table import check_sound

# PyAV counts counter-clockwise
_TURNS = {0: [], 90: ["transpose=cclock"], 180: ["hflip", "vflip"], 270: ["transpose=clock"]}


@dataclass(frozen=True)
class Encoding:
    """How videos are encoded, in H.264.

    Args:
        short_side: pixels of the shorter side; a smaller video keeps its size, made even.
        gop: frames from one key frame to the next: few make random access fast, many make files small.
        crf: x264's quality, 0 to 51; 0 is lossless.
    """

    short_side: int = 256
    gop: int = 12
    crf: int = 22

    def __post_init__(self) -> None:
        if self.short_side < 16:
            raise ValueError(f"short_side is {self.short_side}, expected at least 16")
        if self.gop < 1:
            raise ValueError(f"gop is {self.gop}, expected at least 1")
        if not 0 <= self.crf <= 51:
            raise ValueError(f"crf is {self.crf}, expected 0 to 51")


def prepare_folder(src: Path, dst: Path, encoding: Encoding) -> int:
    """Encode every video under ``src`` to the same place under ``dst``; list them in ``videos.csv``.

    What cannot be read is listed in ``broken.csv`` and on the terminal, and the rest goes on. Videos that are done, and
    not older than their source, are left as they are.

    Returns:
        The exit status: 1 where a video is broken.

    Raises:
        UserError: a folder is wrong, or holds videos of another encoding.
    """
    _check_folders(src, dst)
    jobs = _jobs(src, dst)
    try:
        dst.mkdir(parents=True, exist_ok=True)
        with FileLock(dst / ".prepare.lock", timeout=0):
            _same_encoding(dst / "encoding.json", encoding)
            results = zip(jobs, in_parallel(partial(_prepare, encoding), jobs, "data prepare"), strict=False)
            broken = {source: reason for (source, _), reason in results if reason}
            _write_lists(src, dst, jobs, broken)
    except Timeout:
        raise UserError(f"DST: another process is writing to {dst}; wait or stop it") from None
    except OSError as error:
        raise UserError(f"DST: cannot write {dst} ({error.strerror}); give another folder") from error
    print(f"{len(jobs) - len(broken)} videos in {dst}, listed in {dst / 'videos.csv'}")
    if broken:
        lines = [f"  {source.relative_to(src)}: {reason}" for source, reason in list(broken.items())[:10]]
        more = [f"  and {len(broken) - 10} more"] if len(broken) > 10 else []
        print("\n".join([f"broken ({len(broken)}, listed in {dst / 'broken.csv'}):", *lines, *more]))
    return 1 if broken else 0


def encode(source: Path, target: Path, encoding: Encoding) -> None:
    """Encode one video: the same frames at the same times from 0, without jumps, upright, without sound.

    Raises:
        DecodeError: the source cannot be read to its end, or has damaged frames; the target then is incomplete.
    """
    table = frame_table(source)
    check_sound(source, table, range(table.count))
    try:
        with av.open(str(source)) as old, av.open(str(target), "w", format="mp4") as new:
            stream = scanned_stream(old)
            out: VideoStream | None = None
            count = 0
            for picture in _upright(_shown(old.decode(stream), table, source), encoding.short_side, source):
                picture.pts, picture.time_base = _time(table, stream, count)
                out = out or _stream(new, picture, encoding)
                new.mux(out.encode(picture))
                count += 1
            if out is None or count < table.count:
                raise DecodeError(f"{source}: {count} of {table.count} frames can be decoded")
            new.mux(out.encode())
    except av.FFmpegError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EROFS}:  # the target's fault
            raise OSError(error.errno, error.strerror) from error
        raise DecodeError(f"{source}: {error.strerror or error}") from error


def _prepare(encoding: Encoding, job: tuple[Path, Path]) -> str:
    """Encode one video unless that is done; the reason why it cannot be, or an empty string."""
    source, target = job
    part = target.with_name(f".{target.name}.part")
    try:
        if target.exists() and target.stat().st_mtime_ns >= source.stat().st_mtime_ns:
            return ""
        target.parent.mkdir(parents=True, exist_ok=True)
        encode(source, part, encoding)
        part.replace(target)
    except DecodeError as error:
        part.unlink(missing_ok=True)
        return str(error).removeprefix(f"{source}: ")
    finally:
        forget_tables()
    return ""


def _shown(frames: Iterator[VideoFrame], table: FrameTable, source: Path) -> Iterator[VideoFrame]:
    """The frames of the table, in order: those at its times, or as many as it counts."""
    times = set(table.pts)
    number = 0
    for frame in frames:
        if frame.is_corrupt:
            raise DecodeError(f"{source}: {table.where([number])} damaged, says the decoder")
        if number < table.count and (not times or frame.pts in times):
            number += 1
            yield frame


def _upright(frames: Iterator[VideoFrame], short_side: int, source: Path) -> Iterator[VideoFrame]:
    """Frames turned as their metadata says, scaled, as 8-bit 4:2:0 pictures."""
    graph, size = Graph(), None
    for frame in frames:
        if size is None:
            size = (frame.width, frame.height)
            width, height = scaled(*size, short_side)
            turns = [f.partition("=") for f in _TURNS[frame.rotation % 360]]
            nodes = [graph.add_buffer(width=size[0], height=size[1], format=frame.format, time_base=Fraction(1, 1000))]
            nodes.append(graph.add("scale", f"{width}:{height}:flags=bicubic+accurate_rnd"))
            nodes += [graph.add(name, args or None) for name, _, args in turns]
            nodes += [graph.add("format", "pix_fmts=yuv420p"), graph.add("buffersink")]
            graph.link_nodes(*nodes).configure()
        if (frame.width, frame.height) != size:
            raise DecodeError(f"{source}: its frames have several sizes")
        frame.pts, frame.time_base = 0, Fraction(1, 1000)  # the caller sets the time
        graph.vpush(frame)
        yield graph.vpull()


def scaled(width: int, height: int, short_side: int) -> tuple[int, int]:
    """Size with the shorter side at most ``short_side``, the shape kept, both sides even."""
    share = min(1.0, short_side / min(width, height))
    return max(2, 2 * round(width * share / 2)), max(2, 2 * round(height * share / 2))


def _time(table: FrameTable, stream: VideoStream, number: int) -> tuple[int, Fraction]:
    """When a frame is shown, and the unit of that: the source's own, or counted at its average rate."""
    if table.times:
        return table.times[number] - table.times[0], table.time_base
    return number, 1 / Fraction(stream.average_rate or 25)


def _stream(container: av.container.OutputContainer, first: VideoFrame, encoding: Encoding) -> VideoStream:
    """An encoder for pictures like the first one, their colours included."""
    stream = container.add_stream("libx264")
    assert isinstance(stream, VideoStream) and first.time_base is not None
    context = stream.codec_context
    stream.width, stream.height, stream.pix_fmt = first.width, first.height, "yuv420p"
    stream.time_base = context.time_base = first.time_base
    context.gop_size, context.thread_count = encoding.gop, 1
    context.color_range, context.colorspace = first.color_range, first.colorspace
    stream.options = {"crf": str(encoding.crf), "preset": "medium"}
    return stream


def _check_folders(src: Path, dst: Path) -> None:
    """Source and target are two folders apart from each other."""
    if not src.is_dir():
        raise UserError(f"SRC: the folder {src} does not exist")
    inner, outer = dst.resolve(), src.resolve()
    if inner == outer or outer in inner.parents:
        raise UserError(f"DST: {dst} is SRC or lies inside it; give a folder outside {src}")
    if dst.exists() and not dst.is_dir():
        raise UserError(f"DST: {dst} is a file; give a folder")


def _jobs(src: Path, dst: Path) -> list[tuple[Path, Path]]:
    """Every video of the source, links to folders followed, with its target."""
    jobs: dict[Path, Path] = {}
    seen: set[str] = set()
    for folder, folders, names in os.walk(src, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:  # a link in a circle
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        for source in (Path(folder) / name for name in sorted(names) if _is_video(name)):
            target = (dst / source.relative_to(src)).with_suffix(".mp4")
            if other := jobs.get(target):
                raise UserError(f"SRC: {other} and {source} would both become {target}; rename one")
            jobs[target] = source
    if not jobs:
        raise UserError(f"SRC: {src} holds no video ({', '.join(sorted(COMMON))})")
    return [(source, target) for target, source in jobs.items()]


def _is_video(name: str) -> bool:
    return Path(name).suffix.lower() in EXTENSIONS and not name.startswith(".")


def _same_encoding(file: Path, encoding: Encoding) -> None:
    """Refuse to fill a folder with videos of two kinds."""
    text = json.dumps(asdict(encoding)) + "\n"
    if file.exists() and file.read_text(encoding="utf-8") != text:
        made = file.read_text(encoding="utf-8").strip()
        raise UserError(f"DST: {file.parent} was made with {made}; give another folder, or delete it")
    write_atomically(file, text)


def _write_lists(src: Path, dst: Path, jobs: list[tuple[Path, Path]], broken: dict[Path, str]) -> None:
    """``videos.csv``, with the folder of each as its label if all lie in one, and ``broken.csv``."""
    done = [(source, target.relative_to(dst)) for source, target in jobs if source not in broken]
    labels = all(path.parent.name for _, path in done)
    rows = [[path.as_posix(), path.parent.name] if labels else [path.as_posix()] for _, path in done]
    write_table(dst / "videos.csv", [["path", "label"] if labels else ["path"], *rows])
    lost = [[source.relative_to(src).as_posix(), reason] for source, reason in broken.items()]
    write_table(dst / "broken.csv", [["path", "reason"], *lost])
