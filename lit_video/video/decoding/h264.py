"""Facts of an H.264 stream that FFmpeg reads but does not hand out (ITU-T H.264, 7.3.2.1.1)."""

from collections.abc import Iterator
from typing import NamedTuple

PARAMETERS = 7  # type of a unit with a sequence parameter set
_WITH_CHROMA = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135}  # profiles that store a chroma format
_COLOUR_444 = 3


class Parameters(NamedTuple):
    """Permissions of a stream."""

    fields: bool  # pictures that are coded as two fields, which containers may store as two packets
    gaps: bool  # gaps in the numbers of frames without a loss, such as removed temporal layers


def parameters(extradata: bytes | None) -> Parameters | None:
    """Return what a stream's parameter sets allow; ``None`` if there is none, or one that cannot be read."""
    try:
        sets = [_read(unit) for unit in units(extradata or b"") if unit[0] & 31 == PARAMETERS]
    except (IndexError, ValueError):
        return None
    if not sets:
        return None

    fields = any(parameter_set.fields for parameter_set in sets)
    gaps = any(parameter_set.gaps for parameter_set in sets)
    return Parameters(fields=fields, gaps=gaps)


def units(extradata: bytes) -> Iterator[bytes]:
    """Yield a header's units, stored as in MP4 (each after its size) or as in a raw stream (each after a mark)."""
    if not extradata.startswith(b"\1"):
        for unit in extradata.split(b"\0\0\1")[1:]:
            yield unit.rstrip(b"\0") or b"\0"
        return

    at = 6
    for _ in range(extradata[5] & 31):
        size = int.from_bytes(extradata[at : at + 2], "big")
        yield extradata[at + 2 : at + 2 + size]
        at += 2 + size


ORIENTATION = 47  # supplemental message that turns the pictures that follow (H.264 and HEVC, D.1)
_MESSAGES = {"h264": (6, 1), "hevc": (39, 2)}  # type of a unit of messages, and bytes before them


def turns_pictures(packet: bytes, codec: str) -> bool:
    """Return whether a packet of H.264 or HEVC holds a message about the orientation of its pictures."""
    if codec not in _MESSAGES:
        return False

    type_of_messages, start = _MESSAGES[codec]
    for unit in filter(None, _units_of_packet(packet)):  # zeros in place of data give empty units
        unit_type = unit[0] & 31 if codec == "h264" else unit[0] >> 1 & 63
        if unit_type == type_of_messages and ORIENTATION in _message_types(unit[start:]):
            return True
    return False


def _units_of_packet(packet: bytes) -> Iterator[bytes]:
    """Yield a packet's units, stored as in a raw stream or as in MP4."""
    if packet.startswith((b"\0\0\1", b"\0\0\0\1")):
        yield from units(packet)
        return

    at = 0
    while at + 4 < len(packet):
        size = int.from_bytes(packet[at : at + 4], "big")
        yield packet[at + 4 : at + 4 + size]
        at += 4 + size


def _message_types(messages: bytes) -> set[int]:
    """Return the types of a unit's messages, each stored as type, size and content."""
    types: set[int] = set()
    at = 0
    while at + 2 < len(messages):
        message_type, at = _message_number(messages, at)
        size, at = _message_number(messages, at)
        if message_type is None or size is None:
            return types
        types.add(message_type)
        at += size
    return types


def _message_number(messages: bytes, at: int) -> tuple[int | None, int]:
    """Read a number, stored as bytes of 255 and a smaller one; return it, ``None`` if cut off, and where it ends."""
    number = 0
    while at < len(messages) and messages[at] == 255:
        number += 255
        at += 1
    if at >= len(messages):
        return None, at
    return number + messages[at], at + 1


class _Bits:
    """Bits of a unit, without the bytes that keep marks out of it."""

    def __init__(self, unit: bytes) -> None:
        content = unit.replace(b"\0\0\3", b"\0\0")
        self._bits = "".join(f"{byte:08b}" for byte in content)
        self._at = 0

    def fixed(self, count: int) -> int:
        """Read a number of ``count`` bits."""
        self._at += count
        return int(self._bits[self._at - count : self._at], 2)

    def number(self) -> int:
        """Read a number in Exp-Golomb code."""
        zeros = self._bits.index("1", self._at) - self._at
        self._at += zeros
        return self.fixed(zeros + 1) - 1

    def signed(self) -> int:
        """Read a signed number in Exp-Golomb code."""
        number = self.number()
        return (number + 1) // 2 if number % 2 else -(number // 2)


def _read(unit: bytes) -> Parameters:
    """Read a sequence parameter set up to what it says of fields."""
    bits = _Bits(unit[1:])
    profile = bits.fixed(8)
    bits.fixed(16)  # constraints, level
    bits.number()  # number of this set
    if profile in _WITH_CHROMA:
        _skip_chroma(bits)

    bits.number()  # length of frame numbers
    order = bits.number()  # how the order of frames is coded
    if order == 0:
        bits.number()
    elif order == 1:
        bits.fixed(1)
        bits.signed()
        bits.signed()
        for _ in range(bits.number()):
            bits.signed()
    bits.number()  # number of reference frames
    gaps = bits.fixed(1)

    bits.number()  # width
    bits.number()  # height
    only_frames = bits.fixed(1)
    return Parameters(fields=not only_frames, gaps=bool(gaps))


def _skip_chroma(bits: _Bits) -> None:
    """Skip the format of colours and the scaling lists."""
    chroma = bits.number()
    if chroma == _COLOUR_444:
        bits.fixed(1)
    bits.number()  # bits of luma
    bits.number()  # bits of chroma
    bits.fixed(1)
    if not bits.fixed(1):  # no scaling lists
        return

    lists = 12 if chroma == _COLOUR_444 else 8
    for position in range(lists):
        last = 8
        following = 8
        size = 16 if position < 6 else 64
        for _ in range(size if bits.fixed(1) else 0):
            if following:  # a step that leads to 0 is the last one that is stored
                following = (last + bits.signed()) % 256
            last = following or last
