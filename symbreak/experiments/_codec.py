"""Arrays and states as plain bytes and JSON: nothing read back can execute code."""

from __future__ import annotations

import json
import math
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

DTYPES = ("float64", "int64", "uint32", "bool")  # all that is ever written, little-endian
MAX_BYTES = 2**32  # of an array; more is not a result of a small network


class PackedArray(NamedTuple):
    """An array as a row of the store."""

    dtype: str
    shape: str  # JSON
    data: bytes  # zlib


def pack(array: NDArray[Any]) -> PackedArray:
    """Bytes of an array with its kind and shape."""
    if array.dtype.name not in DTYPES:
        raise TypeError(f"arrays are stored as {', '.join(DTYPES)}, got {array.dtype}.")
    data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return PackedArray(array.dtype.name, json.dumps(array.shape), zlib.compress(data, 6))


def unpack(packed: PackedArray) -> NDArray[Any]:
    """The array of ``pack``.

    Raises:
        ValueError: if the bytes are not those of such an array.
    """
    raw = inflate(packed)
    little = np.frombuffer(raw, dtype=np.dtype(packed.dtype).newbyteorder("<"))
    return little.reshape(json.loads(packed.shape)).astype(packed.dtype)


def inflate(packed: PackedArray) -> bytes:
    """The bytes of an array, as many as its shape says.

    Raises:
        ValueError: if there are more or less.
    """
    if packed.dtype not in DTYPES:
        raise ValueError(f"unknown kind of array {packed.dtype!r}")
    try:
        shape = json.loads(packed.shape)
        size = math.prod(shape) * np.dtype(packed.dtype).itemsize
    except (TypeError, ValueError):
        raise ValueError(f"damaged array: no shape {packed.shape!r:.40}") from None
    if not 0 <= size <= MAX_BYTES:
        raise ValueError(f"damaged array: no shape {packed.shape!r:.40}")
    return decompress(packed.data, size)


def decompress(data: bytes, size: int, *, exactly: bool = True) -> bytes:
    """Decompressed data of a known size, or of that size at most; never more is taken in."""
    stream = zlib.decompressobj()
    try:
        raw = stream.decompress(data, size + 1)
    except zlib.error as error:
        raise ValueError(f"damaged data: {error}") from None
    if len(raw) > size or (exactly and len(raw) < size) or not stream.eof:
        raise ValueError(f"damaged data: not the {size:,} bytes that were expected")
    return raw
