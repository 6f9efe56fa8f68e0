"""Random draws as a function of a key alone: the same in every process, worker and restart."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b

import torch


def digest(*key: object) -> int:
    """Return a 63-bit number that depends on every part of the key, the same in every process."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=8).digest(), "little") >> 1


@contextmanager
def seeded(*key: object) -> Iterator[None]:
    """Draw from the global streams of ``random`` and ``torch`` as a function of the key alone, then restore them."""
    python, pytorch = random.getstate(), torch.get_rng_state()
    seed = digest(*key)
    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(python)
        torch.set_rng_state(pytorch)
