"""Re-encode a folder of videos for training."""

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path

from lit_video.datamodules.folder import COMMON, is_video
from lit_video.datamodules.preparation.encoding import Encoding, encode
from lit_video.datamodules.preparation.target import filling, told
from lit_video.errors import UserError
from lit_video.utils.files import files_below, write_atomically, write_table
from lit_video.utils.parallel import in_parallel
from lit_video.video.decoding import DecodeError, forget_tables


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
    with filling(dst):
        _same_encoding(dst / "encoding.json", encoding)
        results = zip(jobs, in_parallel(partial(_prepare, encoding), jobs, "data prepare"), strict=False)
        broken = {str(source.relative_to(src)): reason for (source, _), reason in results if reason}
        _write_lists(src, dst, jobs, broken)
    print(f"{len(jobs) - len(broken)} videos in {dst}, listed in {dst / 'videos.csv'}")
    return told(broken, dst / "broken.csv")


def _prepare(encoding: Encoding, job: tuple[Path, Path]) -> str:
    """Encode one video unless that is done; the reason why it cannot be, or an empty string."""
    source, target = job
    try:
        if target.exists() and target.stat().st_mtime_ns >= source.stat().st_mtime_ns:
            return ""
        encode(source, target, encoding)
    except DecodeError as error:
        return str(error).removeprefix(f"{source}: ")
    finally:
        forget_tables()
    return ""


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
    for source in files_below(src):
        if is_video(source.name) and not source.name.startswith("."):
            target = (dst / source.relative_to(src)).with_suffix(".mp4")
            if other := jobs.get(target):
                raise UserError(f"SRC: {other} and {source} would both become {target}; rename one")
            jobs[target] = source
    if not jobs:
        raise UserError(f"SRC: {src} holds no video ({', '.join(sorted(COMMON))})")
    return [(source, target) for target, source in jobs.items()]


def _same_encoding(file: Path, encoding: Encoding) -> None:
    """Refuse to fill a folder with videos of two kinds."""
    made = json.loads(file.read_text(encoding="utf-8")) if file.exists() else asdict(encoding)
    if asdict(Encoding()) | made != asdict(encoding):  # older folders lack later settings
        raise UserError(f"DST: {file.parent} was made with {json.dumps(made)}; give another folder, or delete it")
    write_atomically(file, json.dumps(asdict(encoding)) + "\n")


def _write_lists(src: Path, dst: Path, jobs: list[tuple[Path, Path]], broken: dict[str, str]) -> None:
    """``videos.csv``, with the folder of each as its label if all lie in one, and ``broken.csv``."""
    done = [(source, target.relative_to(dst)) for source, target in jobs if str(source.relative_to(src)) not in broken]
    labels = all(path.parent.name for _, path in done)
    rows = [[path.as_posix(), path.parent.name] if labels else [path.as_posix()] for _, path in done]
    write_table(dst / "videos.csv", [["path", "label"] if labels else ["path"], *rows])
    write_table(dst / "broken.csv", [["path", "reason"], *broken.items()])
