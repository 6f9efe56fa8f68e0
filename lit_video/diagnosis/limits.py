"""Limits of this process, and the encoding of its texts."""

import resource
import sys
from collections.abc import Iterator

from lit_video.diagnosis.finding import Finding

FILES = 1024  # workers, their pipes and batches take some tens each


def check_limits() -> Iterator[Finding]:
    """Open files, sizes of files, memory; how names of files are read."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < FILES:
        advice = f"ulimit -n {min(hard, 65536) if hard > 0 else 65536} before the command"
        yield Finding("warning", "open files", f"at most {soft}", advice)
    else:
        yield Finding("ok", "open files", f"at most {soft}" if soft > 0 else "not limited")
    for name, what, number in (("file size", resource.RLIMIT_FSIZE, "-f"), ("memory", resource.RLIMIT_AS, "-v")):
        limit = resource.getrlimit(what)[0]
        if limit != resource.RLIM_INFINITY:
            text = f"limited to {limit / 2**30:.1f} GB (ulimit {number})"
            yield Finding("warning", name, text, f"ulimit {number} unlimited, or ask for it: runs may end there")
    if sys.getfilesystemencoding() != "utf-8":
        text = f"names of files are read as {sys.getfilesystemencoding()}"
        yield Finding("warning", "encoding", text, "export PYTHONUTF8=1: names with other letters cannot be opened")
