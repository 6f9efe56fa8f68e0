"""Digest of the data that a number was measured on, the same on every machine."""

from hashlib import blake2b

from lit_video.datamodules.base import VideoDataModule
from lit_video.datamodules.records import Records, relative, to_bytes


def data_digest(data: VideoDataModule) -> str:
    """Digest of class names and of every split's paths, labels and segments, the same on every machine.

    No file is opened. Paths count relative to the data set's root, and their order does not count.
    """
    root = data.data_root()
    lines = []
    for split in data.present:
        records = Records.of(data.records(split))
        labels = records.labels.tolist()
        for (path, start, end), label in zip(records.identities(), labels, strict=True):
            label = tuple(label) if isinstance(label, list) else label
            lines.append(f"{split}\t{relative(path, root)}\t{label}\t{start}\t{end}")
    lines = [f"classes\t{data.class_names}", *sorted(lines)]
    return blake2b(to_bytes("\n".join(lines)), digest_size=8).hexdigest()
