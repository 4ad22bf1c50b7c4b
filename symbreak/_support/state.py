"""Saved states: plain values, copied when taken and checked when restored."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from symbreak._support.checks import shown, unknown
from symbreak._support.writing import write_bytes

State = dict[str, Any]

#: Larger numbers in a state, except infinity, and larger counts are damage.
MAX_NUMBER, MAX_COUNT = 1e300, 2**53

_KINDS = {float: (float, int), int: (int,), bool: (bool,), str: (str,), dict: (dict,)}


def check_declared(owner: str, saved: object) -> None:
    """Raise unless a class declares what it saves in a way that ``check_saved`` understands."""
    if not isinstance(saved, Mapping):
        raise TypeError(f"{owner}.saved must be a dictionary of attributes, got {shown(saved)}.")
    for name, kind in saved.items():
        is_shape = isinstance(kind, str) and kind.removesuffix("?").replace(" ", "").isalpha()
        if not is_shape and kind not in list(_KINDS):
            raise TypeError(
                f"{owner}.saved[{name!r}] must be float, int, bool, str, dict, or for an array its "
                f'shape in letters, such as "N D" or "D?" (may be None), got {shown(kind)}.'
            )


def taken(owner: Any, saved: Mapping[str, type | str]) -> State:
    """Copies of attributes that are saved; a TypeError for what is not as declared."""
    state = {}
    for name, kind in saved.items():
        value, who = getattr(owner, name), type(owner).__name__
        if isinstance(value, np.ndarray) != isinstance(kind, str) and value is not None:
            found, declared = type(value).__name__, getattr(kind, "__name__", repr(kind))
            raise TypeError(f"{who}.saved declares {name} as {declared}, but it is {found}.")
        state[name] = saved_value(value)
    return state


def restored(
    state: Mapping[str, Any], saved: Mapping[str, type | str], sizes: Mapping[str, int]
) -> State:
    """What ``taken`` took, by name, each as it is declared."""
    return {name: check_saved(name, state[name], kind, sizes) for name, kind in saved.items()}


def saved_value(value: Any) -> Any:
    """A copy that later changes do not reach."""
    return value.copy() if isinstance(value, np.ndarray | dict) else value


def check_saved(name: str, value: Any, kind: type | str, sizes: Mapping[str, int]) -> Any:
    """A copy of a saved value, if it is of the kind that is declared for it.

    A string gives the shape of an array in letters: ``"N D"``; lower-case letters stand for any
    size, and a ``?`` at the end allows None.
    """
    if not isinstance(kind, str):
        good = isinstance(value, _KINDS[kind]) and (kind is bool or not isinstance(value, bool))
        if good and kind is int:
            good = abs(value) <= MAX_COUNT
        if good and kind is float:
            good = -MAX_NUMBER <= value <= MAX_NUMBER or value == math.inf
            value = float(value) if good else value
        if not good:
            raise ValueError(
                f"the state's {name} must be of type {kind.__name__}, got {shown(value)}."
            )
        return saved_value(value)
    if value is None and kind.endswith("?"):
        return None
    wanted = [sizes.get(letter, letter) for letter in kind.removesuffix("?").split()]
    got = value.shape if isinstance(value, np.ndarray) else None
    if (
        got is None
        or len(got) != len(wanted)
        or any(isinstance(size, int) and n != size for n, size in zip(got, wanted, strict=True))
    ):
        shape = ", ".join(map(str, wanted))
        raise ValueError(
            f"the state's {name} must be an array of shape ({shape}), got {got or shown(value)}."
        )
    if isinstance(value, np.ma.MaskedArray) or value.dtype.kind not in "bif":
        raise ValueError(f"the state's {name} must hold numbers, got {value.dtype}.")
    wanted_type = np.bool_ if value.dtype == np.bool_ else np.float64
    return np.array(value, dtype=wanted_type, order="C")


@contextmanager
def reading_state() -> Iterator[None]:
    """Raise a ValueError for a state that is damaged, or was not written by ``state()``."""
    try:
        yield
    except KeyError as missing:
        raise ValueError(f"the state lacks {missing}; it was not written by state().") from None
    except (TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise ValueError(f"the state is damaged, or was not written by state(): {error}.") from None


def generator_from(state: Mapping[str, Any], known: Sequence[str]) -> Generator:
    """A generator in a saved state; only NumPy's own bit generators are made."""
    if (kind := state["bit_generator"]) not in known:
        raise unknown("bit generator", kind, known)
    bits = getattr(np.random, kind)()
    bits.state = state
    return np.random.Generator(bits)


def split_state(
    state: Mapping[str, Any], prefix: str = ""
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Divide a nested state into JSON-able values and arrays named by their path."""
    plain: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for name, value in state.items():
        if isinstance(value, np.ndarray):
            arrays[prefix + name] = value
        elif isinstance(value, Mapping):
            plain[name], inner = split_state(value, f"{prefix}{name}/")
            arrays |= inner
        else:
            plain[name] = value
    return plain, arrays


def join_state(plain: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The state that ``split_state`` divided; changes ``plain``."""
    for path, array in arrays.items():
        *parents, name = path.split("/")
        place = plain
        for parent in parents:
            place = place[parent]
        place[name] = array
    return plain


def save_state(path: Path, state: Mapping[str, Any]) -> None:
    """Write a nested state to a file, whole or not at all."""
    plain, arrays = split_state(state)
    text, file = json.dumps(plain).encode(), io.BytesIO()
    # names of members of an archive are limited: the arrays are numbered
    numbered: dict[str, Any] = {str(i): array for i, array in enumerate(arrays.values())}
    names = np.frombuffer(json.dumps(list(arrays)).encode(), dtype=np.uint8)
    np.savez(file, plain=np.frombuffer(text, dtype=np.uint8), names=names, **numbered)
    write_bytes(path, file.getvalue())


def load_state(path: Path) -> dict[str, Any]:
    """The state of ``save_state``; nothing in the file is executed.

    Raises:
        ValueError: if it is damaged, or another file.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            names = json.loads(file["names"].tobytes())
            arrays = {name: file[str(i)] for i, name in enumerate(names)}
            return join_state(json.loads(file["plain"].tobytes()), arrays)
    except Exception:  # on damaged bytes zipfile and NumPy raise whatever Python does
        raise ValueError(f"{str(path)!r} holds no state: it is damaged, or another file.") from None
