"""Most confident mistakes of a run's test, with thumbnails of the videos."""

import csv
import io
from itertools import islice
from pathlib import Path

from lit_video.utils.files import read_regular, read_whole
from lit_video.utils.limits import MOST_BYTES
from lit_video.utils.text import printable, to_text

MISTAKES = "mistakes.csv"
THUMBNAILS = "mistakes.jpg"
MISTAKE_COLUMNS = ("file", "true", "predicted", "probability", "fold")  # columns
THUMBNAIL_WIDTH = 160  # pixels of a thumbnail
THUMBNAIL_HEIGHT = 120
MOST_THUMBNAILS = 12  # number of thumbnails in the vertical strip
LEAVES_OUT = "delete it; the page then leaves the mistakes out"


def read_mistakes(run_dir: Path) -> tuple[list[dict[str, str]], bytes] | None:
    """Return a run's most confident mistakes in its test, with a strip of thumbnails; ``None`` if it kept none."""

    def read() -> list[dict[str, str]]:
        text = to_text(read_regular(run_dir / MISTAKES, MOST_BYTES))
        mistakes = []
        for row in islice(csv.DictReader(io.StringIO(text, newline="")), MOST_THUMBNAILS):
            texts = {key: printable(row[key]) for key in MISTAKE_COLUMNS}
            probability = f"{100 * float(row['probability']):.0f} %"
            mistakes.append(texts | {"probability": probability})
        return mistakes

    rows = read_whole(run_dir / MISTAKES, read, LEAVES_OUT)
    strip = read_whole(run_dir / THUMBNAILS, lambda: read_regular(run_dir / THUMBNAILS, MOST_BYTES), LEAVES_OUT)
    return None if rows is None or strip is None else (rows, strip)
