"""Whether videos can be decoded here."""

from collections.abc import Iterator

from lit_video.diagnosis.finding import Finding
from lit_video.diagnosis.probe import probe
from lit_video.diagnosis.software import installed


def check_decoders() -> Iterator[Finding]:
    """PyAV, and torchcodec where it is installed, on a tiny clip that PyAV writes."""
    try:
        found = probe("probe_decoders")
    except RuntimeError as error:
        yield Finding("problem", "pyav", str(error), "pip install --force-reinstall av; its wheel includes FFmpeg")
        return
    if found["pyav"]:
        yield Finding("problem", "pyav", found["pyav"], "pip install --force-reinstall av; its wheel includes FFmpeg")
    else:
        yield Finding("ok", "pyav", f"{found['av']} with FFmpeg {found['ffmpeg']} writes and decodes a clip")
    if installed("torchcodec") is None:
        yield Finding("ok", "torchcodec", "not installed, not needed")
    elif found["torchcodec"]:
        yield Finding("warning", "torchcodec", found["torchcodec"], "leave --data.decoder at pyav, or install FFmpeg")
    else:
        yield Finding("ok", "torchcodec", f"{installed('torchcodec')} decodes the clip")
