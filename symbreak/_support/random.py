"""Independent random streams from one seed: data, runs and repetitions never share numbers."""

from __future__ import annotations

import zlib

import numpy as np

from symbreak._support.checks import check_count


def stream(seed: int, *key: str | int) -> np.random.Generator:
    """The generator of ``(seed, *key)``; another key gives an independent stream."""
    words = [k if isinstance(k, int) else zlib.crc32(k.encode()) for k in key]
    return np.random.default_rng([check_count("seed", seed, 0), *words])
