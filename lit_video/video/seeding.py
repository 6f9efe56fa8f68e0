"""Random draws that depend only on a key, so every process, worker and restart repeats them."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b

import torch


def digest(*key: object) -> int:
    """Hash a key to a 63-bit number that is the same in every process."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=8).digest(), "little") >> 1


@contextmanager
def seeded(*key: object) -> Iterator[None]:
    """Seed the global generators of ``random`` and ``torch`` from a key; restore their states at the end."""
    state_of_python = random.getstate()
    state_of_torch = torch.get_rng_state()
    seed = digest(*key)
    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(state_of_python)
        torch.set_rng_state(state_of_torch)
