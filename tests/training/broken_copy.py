"""Folder of videos with three broken ones, and the list that a run writes of them."""

import csv

from tests.embedded import four_skills

BROKEN = {("train", 3), ("test", 0), ("test", 5)}


def broken_copy(data_root, folder):
    """Put 16, 8 and 8 videos into a folder; one of train and two of test are broken."""
    data = four_skills(data_root)
    data.prepare_data()
    for split in ("train", "val", "test"):
        for i, record in enumerate(sorted(data.records(split), key=lambda record: record.path)):  # VideoFolder's order
            target = folder / record.path.relative_to(data.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            if (split, i) in BROKEN:
                target.write_bytes(record.path.read_bytes()[:1000])
            else:
                target.symlink_to(record.path)
    return folder


def listed(run_dir):
    """Return the rows of a run's ``broken.csv``."""
    with (run_dir / "broken.csv").open() as file:
        return list(csv.DictReader(file))
