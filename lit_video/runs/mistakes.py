"""Most confident mistakes of a run's test, with a strip of frames of each video."""

import csv
import io
from itertools import islice
from pathlib import Path

from lit_video.utils.files import read_regular, read_whole
from lit_video.utils.limits import MOST_BYTES
from lit_video.utils.text import printable, to_text

MISTAKES = "mistakes.csv"
STRIPS = "mistakes.jpg"
MISTAKE_COLUMNS = ("file", "true", "predicted", "probability", "fold")
STRIP_WIDTH = 480  # pixels of a strip: some frames of a video, side by side
STRIP_HEIGHT = 90
MOST_STRIPS = 12  # most videos with a strip; the strips are below each other in one picture
LEAVES_OUT = "delete it; the page then leaves the mistakes out"


def read_mistakes(run_dir: Path) -> tuple[list[dict[str, str]], bytes] | None:
    """Return a run's most confident mistakes in its test, with a picture of strips; ``None`` if it kept none."""

    def read() -> list[dict[str, str]]:
        text = to_text(read_regular(run_dir / MISTAKES, MOST_BYTES))
        mistakes = []
        for row in islice(csv.DictReader(io.StringIO(text, newline="")), MOST_STRIPS):
            texts = {key: printable(row[key]) for key in MISTAKE_COLUMNS}
            probability = f"{100 * float(row['probability']):.0f} %"
            mistakes.append(texts | {"probability": probability})
        return mistakes

    rows = read_whole(run_dir / MISTAKES, read, LEAVES_OUT)
    strips = read_whole(run_dir / STRIPS, lambda: read_regular(run_dir / STRIPS, MOST_BYTES), LEAVES_OUT)
    return None if rows is None or strips is None else (rows, strips)
