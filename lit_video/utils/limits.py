"""Limits of sizes in files: far above any real size, and within a laptop's memory."""

MOST_PIXELS = 2**30  # a clip: 21,399 frames of 224 x 224
MOST_DRAWN = 2**36  # pixels of a drawn data set
MOST_LAYERS = 1000
MOST_CLASSES = 10_000  # one task: a confusion matrix of 0.8 GB
MOST_BYTES = 2**26  # bytes of a run's record, curve or picture
MOST_PREDICTIONS = 2**31  # bytes of a run's predictions: logits of 400 classes for a million videos
UNPACKED = 100  # largest ratio of unpacked to packed size


def within(name: str, value: float, most: float) -> None:
    """Raise a ValueError if a size is above its limit."""
    if value > most:
        raise ValueError(f"{name} is {value:g}, expected at most {most:,}")
