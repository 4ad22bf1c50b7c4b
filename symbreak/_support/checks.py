"""Argument checks, one message format: what was expected, what came, what to do."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import suppress
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
Mask = NDArray[np.bool_]
Kind = TypeVar("Kind")

#: No integer is larger: seeds of NumPy have as many bits.
MAX_COUNT = 2**128
#: No file system has longer names.
MAX_NAME = 255


def shown(value: object) -> str:
    """A value for a message: short and in a line, whatever it is."""
    try:
        text = " ".join(line.strip() for line in repr(value).splitlines())
    except Exception:  # too deep, too many digits, or broken
        text = f"a {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:200]}..."


def unknown(kind: str, name: object, known: Iterable[str]) -> ValueError:
    """The error for a name that is not among ``known``, with the nearest ones first."""
    known = list(known)
    hint = did_you_mean(nearest(name, known))
    return ValueError(f"unknown {kind} {shown(name)}.{hint} Known: {', '.join(known)}.")


def did_you_mean(names: Iterable[str]) -> str:
    """The part of a message that asks; empty if there is nothing to ask."""
    asked = " or ".join(map(shown, names))
    return f" Did you mean {asked}?" if asked else ""


def nearest(name: object, known: Iterable[str]) -> list[str]:
    """Up to three names among ``known`` that are like another, the most alike first."""
    folded = {k.casefold().replace("_", "-"): k for k in known}
    given = name.casefold().replace("_", "-")[:200] if isinstance(name, str) else ""
    return [folded[match] for match in difflib.get_close_matches(given, folded, n=3)]


def check_choice(name: str, value: str, choices: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in (choices := list(choices)):
        raise unknown(name, value, choices)
    return value


def check_kind(name: str, value: object, kind: type[Kind], how: str) -> Kind:
    """Return ``value`` if it is of a kind; ``how`` says how to get one."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, {how}, got {shown(value)}.")
    return value


def check_text(name: str, value: object) -> str:
    """Return ``value`` if it is a string."""
    return check_kind(name, value, str, "a string")


def check_executor(value: object) -> None:
    """Refuse what is no executor, unless it is None."""
    if not isinstance(value, Executor | None):
        raise ValueError(
            "executor must be a concurrent.futures.Executor, such as client.get_executor() of "
            f"Dask, or for a study the address of a scheduler, got {shown(value)}."
        )


def check_callable(name: str, value: Any) -> Callable[..., Any] | None:
    """Return ``value`` if it can be called, or is None."""
    if value is not None and not callable(value):
        raise ValueError(f"{name} must be a function or None, got {shown(value)}.")
    return value


def check_path(name: str, value: object) -> Path:
    """Return ``value`` as a path if it is the name of a file or folder."""
    try:
        text = os.fspath(value)  # type: ignore[call-overload]
        can_be_named = isinstance(text, str) and "\0" not in text and bool(os.fsencode(text))
    except (TypeError, UnicodeEncodeError):  # no path, or one with half a character
        can_be_named = False
    if not can_be_named:
        raise ValueError(f"{name} must be a path, as a string or a Path, got {shown(value)}.")
    path = Path(text)
    if len(text) > 4_000 or any(len(os.fsencode(part)) > MAX_NAME for part in path.parts):
        raise ValueError(f"{name} is too long for the name of a file: {shown(value)}.")
    return path


def check_folder(name: str, value: object) -> Path:
    """Return ``value`` as a path if a folder is there, or nothing yet."""
    path = check_path(name, value)
    if path.exists() and not path.is_dir():
        raise ValueError(f"this needs a folder, and {path} is a file; give another name.")
    return path


def check_memory(what: str, n_bytes: float, advice: str) -> None:
    """Refuse what would take more than half of the machine's memory, before it is taken."""
    limit = total_memory() / 2
    if n_bytes > limit:
        size, half = min(n_bytes, 1e300) / 2**30, limit / 2**30
        raise ValueError(
            f"{what} would take about {size:,.3g} GiB, more than half of this machine's memory, "
            f"{half:,.3g} GiB; {advice}."
        )


def total_memory() -> int:
    """Bytes of the machine; 16 GiB where the system does not say."""
    with suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 2**34


def check_count(name: str, value: object, minimum: int, why: str = "") -> int:
    """Return ``value`` as an int if it is an integer of at least ``minimum``."""
    integral = isinstance(value, int | np.integer) and not isinstance(value, bool)
    # 1e5 is how people write a budget
    if integral or (isinstance(value, float) and value.is_integer()):
        number = int(value)  # type: ignore[call-overload]
    else:
        number = minimum - 1
    if not minimum <= number <= MAX_COUNT:
        reason = f" ({why})" if why else ""
        most = " and at most 2^128" if number > MAX_COUNT else ""
        raise ValueError(
            f"{name} must be an integer of at least {minimum}{reason}{most}, got {shown(value)}."
        )
    return number


def check_flag(name: str, value: object) -> bool:
    """Return ``value`` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {shown(value)}.")
    return bool(value)


def check_real(name: str, value: object, low: float, high: float) -> float:
    """Return ``value`` as a float if it lies in ``[low, high]`` and is finite."""
    number = math.nan
    if isinstance(value, Real):
        with suppress(OverflowError):
            number = float(value)
    if not (low <= number <= high and math.isfinite(number)):
        raise ValueError(
            f"{name} must be a finite number in [{low:g}, {high:g}], got {shown(value)}."
        )
    return number


def check_unmasked(name: str, values: object) -> None:
    """Raise if an array has masked entries, which NumPy would use."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries; remove or fill them.")


def as_floats(name: str, values: ArrayLike) -> Array:
    """Float64 of any shape, not copied if it is that already.

    Raises:
        TypeError: for what is no number: complex ones, dates, spans of time, other objects.
        ValueError: for strings that are no numbers, ragged lists and masked entries.
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    check_unmasked(name, values)
    try:
        array = np.asarray(values)
        if array.dtype.kind in "cmMV" or (
            array.dtype.kind == "O" and any(isinstance(x, _NOT_REAL) for x in array.flat)
        ):
            raise TypeError(f"{array.dtype} is no real number")
        return array.astype(np.float64)
    except (OverflowError, RecursionError) as error:
        raise ValueError(f"no numbers of 64 bits: {error}") from None


#: What float() would take, and change.
_NOT_REAL = (complex, np.complexfloating, np.datetime64, np.timedelta64)


def as_matrix(name: str, values: ArrayLike, shape: str = "(K, d)") -> Array:
    """A finite, contiguous float64 copy of a two-dimensional array with at least one entry."""
    matrix = np.array(check_vectors(values, shape, name), order="C")
    if matrix.ndim != 2:
        hint = " Use .reshape(-1, 1) for a single column." if matrix.ndim == 1 else ""
        raise ValueError(f"{name} must have shape {shape}, got {matrix.shape}.{hint}")
    if matrix.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {matrix.shape}.")
    check_finite(name, matrix)
    return matrix


#: Small networks have fewer inputs; more would take minutes before anything is said.
MAX_COLUMNS = 20_000


def check_width(name: str, n_columns: int) -> None:
    """Raise if a table is too wide."""
    if n_columns > MAX_COLUMNS:
        raise ValueError(
            f"{name} has {n_columns:,} columns, more than {MAX_COLUMNS:,}; take a part of them."
        )


def check_finite(name: str, values: Array) -> None:
    """Raise unless every entry is finite; say how many are not and where the first one is."""
    finite = np.isfinite(values)
    if not finite.all():
        bad = ~finite
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{name} must be finite, got {int(bad.sum())} NaN or infinite values, the first at "
            f"index {where}; remove or impute them."
        )


#: Beyond this the inner product of two networks could overflow.
MAX_MAGNITUDE = 1e100


def check_magnitude(name: str, values: Array) -> None:
    """Raise unless every entry is finite and inner products cannot overflow."""
    check_finite(name, values)
    if np.abs(values).max(initial=0) > MAX_MAGNITUDE:
        raise ValueError(f"{name} must be below {MAX_MAGNITUDE:g} in magnitude; rescale it.")


def check_population(population: ArrayLike, dim: int, name: str = "population") -> Array:
    """Return ``population`` as a contiguous ``(N_p, D)`` float64 array.

    Entries may be non-finite: an evaluator gives them an infinite error.
    """
    array = check_vectors(population, f"(N_p, {dim})", name)
    if array.ndim != 2 or array.shape[1] != dim or len(array) == 0:
        raise ValueError(
            f"{name} must have shape (N_p, D) = (N_p, {dim}) with N_p >= 1, got {array.shape}."
        )
    return array


def check_theta(theta: ArrayLike, dim: int, name: str = "theta") -> Array:
    """Return ``theta`` as a contiguous ``(D,)`` float64 vector."""
    array = check_vectors(theta, f"({dim},)", name)
    if array.shape != (dim,):
        raise ValueError(f"{name} must have shape (D,) = ({dim},), got {array.shape}.")
    return array


def check_vectors(values: ArrayLike, shape: str, name: str) -> Array:
    """Return numbers as a contiguous float64 array; ``shape`` is what the message asks for."""
    if type(values) is np.ndarray and values.dtype == np.float64:  # every generation: 0.3 us
        return np.ascontiguousarray(values)
    check_unmasked(name, values)
    try:
        return np.ascontiguousarray(as_floats(name, values))
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be an array of numbers of shape {shape}, got {type(values).__name__} "
            "that does not convert; remove or encode what is not a number."
        ) from None
