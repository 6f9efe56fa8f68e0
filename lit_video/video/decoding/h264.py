"""Frame numbers of H.264: what they skip is lost (ITU-T H.264, 7.3.2.1.1, 7.3.3 and 7.4.3, ``frame_num``)."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from av.packet import Packet
from av.video.stream import VideoStream

_SLICES = {1, 2, 5}  # types of NAL units: of a picture that others may precede, its first partition, a fresh start
_FRESH, _PARAMETERS = 5, 7
_INTRA = {2, 4}  # slice types modulo 5: I, SI
_LONG_HEADS = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135}  # profiles that name their chroma format
_HEAD = 16  # bytes, more than any slice header takes up to its frame number


class _Bits:
    """Reads a NAL unit's numbers; its type, one byte, is left out."""

    def __init__(self, unit: bytes) -> None:
        payload = unit[1:].replace(b"\0\0\3", b"\0\0")
        self._bits = format(int.from_bytes(payload, "big"), f"0{8 * len(payload)}b")
        self._at = 0

    def fixed(self, count: int) -> int:
        """A number of this many bits."""
        self._at += count
        return int(self._bits[self._at - count : self._at] or "0", 2)

    def golomb(self) -> int:
        """A number of Exp-Golomb code."""
        zeros = self._bits.index("1", self._at) - self._at
        self._at += zeros
        return self.fixed(zeros + 1) - 1


@dataclass(frozen=True)
class _Picture:
    number: int
    reference: bool
    fresh: bool
    intra: bool


class FrameNumbers:
    """Reads the packets of one H.264 stream.

    Args:
        extradata: of its codec: the parameters, in either of the two forms of H.264.

    Raises:
        ValueError: they say nothing about frame numbers, or that numbers may be left out.
    """

    def __init__(self, extradata: bytes | None) -> None:
        data = bytes(extradata or b"")
        # "avcC" begins with its version, 1, and says how long the lengths are; start codes begin with 0
        self._length = (data[4] & 3) + 1 if data[:1] == b"\1" and len(data) > 8 else 0
        units = [data[8:]] if self._length else [*_units(data, 0, len(data))]
        parameters = next((unit for unit in units if unit[0] & 31 == _PARAMETERS), None)
        if parameters is None:
            raise ValueError("no parameters of the sequence")
        self._bits, self._fields = _numbering(parameters)

    @property
    def modulus(self) -> int:
        """How many pictures have numbers of their own: after so many lost ones the count goes on as if none were."""
        return 1 << self._bits

    def lost_before(self, packets: Iterable[tuple[int, "Packet[VideoStream]"]]) -> list[int]:
        """Places of the packets before which a picture is lost that others refer to, of packets with ascending places.

        A packet that holds no readable picture counts too, if others do. Between places that do not follow each other
        nothing is compared.
        """
        lost, before, readable = [], -1, False
        last: _Picture | None = None
        for place, packet in packets:
            last, before = (last if place == before + 1 else None), place
            picture = self._picture(packet)
            if picture is None or (last and not picture.fresh and not self._follows(picture.number, last)):
                lost.append(place)
            readable = readable or picture is not None
            last = picture
        return lost if readable else []

    def _follows(self, number: int, last: _Picture) -> bool:
        """Whether a number goes on behind a picture: a reference takes one, or two fields together take one."""
        return number == (last.number + last.reference) % self.modulus or (self._fields and number == last.number)

    def number(self, packet: "Packet[VideoStream]") -> int:
        """Of a picture: the references since the last fresh start, but for the modulus; -1 if it cannot be read."""
        picture = self._picture(packet)
        return -1 if picture is None else picture.number

    def is_intra(self, packet: "Packet[VideoStream]") -> bool:
        """Whether a picture is made of itself alone, by its first slice."""
        picture = self._picture(packet)
        return picture is None or picture.intra

    def _picture(self, packet: "Packet[VideoStream]") -> _Picture | None:
        """What the first slice says of its picture; ``None`` if there is none, or if it cannot be read."""
        for unit in _units(memoryview(packet), self._length, _HEAD):
            kind = unit[0] & 31
            if kind in _SLICES:
                bits = _Bits(unit)
                with suppress(ValueError):  # bits that are damaged
                    bits.golomb()  # first macroblock
                    slice_type = bits.golomb()
                    bits.golomb()  # picture parameters
                    reference = bool(unit[0] & 0x60)
                    return _Picture(bits.fixed(self._bits), reference, kind == _FRESH, slice_type % 5 in _INTRA)
        return None


def _units(data: bytes | memoryview, length: int, most: int) -> Iterator[bytes]:
    """The NAL units in a packet, of each ``most`` bytes; after lengths of ``length`` bytes, or 0 for start codes."""
    if length:
        at = 0
        while at + length < len(data):
            size = int.from_bytes(data[at : at + length], "big")
            if size:
                yield bytes(data[at + length : at + length + min(size, most)])
            at += length + size
        return
    content = bytes(data)
    at = content.find(b"\0\0\1")
    while 0 <= at < len(content) - 3:
        yield content[at + 3 : at + 3 + most]
        at = content.find(b"\0\0\1", at + 3)


def _numbering(unit: bytes) -> tuple[int, bool]:
    """Bits that a frame number takes, and whether a packet may be one of two fields: from a sequence's parameters."""
    profile = unit[1]
    bits = _Bits(unit[3:])  # profile, constraints; the level goes as a type would
    bits.golomb()  # number of these parameters
    if profile in _LONG_HEADS:
        chroma = bits.golomb()
        if chroma == 3 and bits.fixed(1):
            raise ValueError("planes of colour with numbers of their own")
        bits.golomb(), bits.golomb(), bits.fixed(1)  # depths, lossless
        for kind in range(0 if not bits.fixed(1) else 12 if chroma == 3 else 8):
            if bits.fixed(1):
                _pass_scaling(bits, 16 if kind < 6 else 64)
    count = bits.golomb() + 4
    order = bits.golomb()
    if order == 0:
        bits.golomb()
    elif order == 1:
        bits.fixed(1), bits.golomb(), bits.golomb()
        for _ in range(bits.golomb()):
            bits.golomb()
    bits.golomb()  # frames that are kept
    if bits.fixed(1):
        raise ValueError("numbers may be left out")
    bits.golomb(), bits.golomb()  # width, height
    return count, not bits.fixed(1)


def _pass_scaling(bits: _Bits, size: int) -> None:
    """Read over a list of scaling factors, which are differences until one of them would be 0."""
    factor = 8
    for _ in range(size):
        code = bits.golomb()
        factor = (factor + (code // 2 + 1 if code % 2 else -code // 2)) % 256
        if not factor:
            return
