"""Which data a number was measured on: a digest of what a data set lists, the same on every machine."""

from hashlib import blake2b

from lit_video.datamodules.base import VideoDataModule
from lit_video.video.records import Records, relative


def data_digest(data: VideoDataModule) -> str:
    """Of class names and of every split's paths, labels and segments: no file is opened.

    Paths count relative to the data set's root, and their order does not count.
    """
    root = data.data_root()
    lines = []
    for split in data.present:
        records = Records.of(data.records(split))
        labels = records.labels.tolist()
        for (path, start, end), label in zip(records.identities(), labels, strict=True):
            label = tuple(label) if isinstance(label, list) else label
            lines.append(f"{split}\t{relative(path, root)}\t{label}\t{start}\t{end}")
    return text_digest([f"classes\t{data.class_names}", *sorted(lines)])


def text_digest(lines: list[str]) -> str:
    """16 hexadecimal digits of some lines."""
    return blake2b("\n".join(lines).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
