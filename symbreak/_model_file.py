"""The JSON of a model file, read part by part: every part is checked, nothing is executed.

All functions raise a ValueError that says what is wrong with the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from symbreak._support.checks import Array, check_text
from symbreak.problems import Scaling

Kind = TypeVar("Kind")

FORMAT, FORMAT_VERSION = "symbreak-model", 1
MAX_LAYERS, MAX_WIDTH = 1_000, 1_000_000


def _refuse(constant: str) -> float:
    raise ValueError(f"it holds {constant}.")


def read_facts(text: str) -> dict[str, Any]:
    """All that a model file says, by name; refused if it is of another format."""
    try:
        facts = json.loads(check_text("a model's text", text), parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON, or cut short: {error}.") from None
    except RecursionError:
        raise ValueError("it is nested too deeply.") from None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise ValueError(f"it does not say that its format is {FORMAT!r}.")
    version = facts.get("version")
    if type(version) is not int or version != FORMAT_VERSION:
        raise ValueError(
            f"it has version {version!r:.40}, this symbreak reads {FORMAT_VERSION}; "
            "upgrade symbreak."
        )
    return facts


def _read(facts: Mapping[str, Any], name: str, kind: type[Kind], what: str) -> Kind:
    if not isinstance(value := facts.get(name), kind):
        raise ValueError(f"{name} must be {what}, got {type(value).__name__}.")
    return value


def read_text(facts: Mapping[str, Any], name: str) -> str:
    """A string."""
    return _read(facts, name, str, "a string")


def read_mapping(facts: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Values by name."""
    return _read(facts, name, dict, "an object")


def _read_list(facts: Mapping[str, Any], name: str) -> list[Any]:
    return _read(facts, name, list, "a list")


def read_net(facts: Mapping[str, Any]) -> tuple[int, ...]:
    """Layer sizes."""
    sizes = _read_list(facts, "net")
    small = len(sizes) <= MAX_LAYERS
    if not (small and all(type(n) is int and 0 < n <= MAX_WIDTH for n in sizes)):
        raise ValueError(
            f"net must be at most {MAX_LAYERS} layers of 1 to {MAX_WIDTH:,} neurons, "
            f"got {sizes!r:.80}."
        )
    return tuple(sizes)


def read_objects(facts: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Several mappings."""
    parts = _read_list(facts, name)
    if not all(isinstance(part, dict) for part in parts):
        raise ValueError(f"{name} must be a list of objects.")
    return parts


def read_number(facts: Mapping[str, Any], name: str) -> float:
    """A finite number."""
    if not _is_number(value := facts.get(name)):
        raise ValueError(f"{name} must be a finite number, got {value!r:.40}.")
    return float(value)  # type: ignore[arg-type]


def read_labels(facts: Mapping[str, Any], name: str, kinds: tuple[type, ...]) -> list[Any]:
    """Different values of some kinds."""
    values = _read_list(facts, name)
    if not all(isinstance(value, kinds) for value in values):
        raise ValueError(f"{name} must be plain values, got {values!r:.80}.")
    if len(set(values)) < len(values):
        raise ValueError(f"{name} must differ from each other.")
    return values


def read_classes(facts: Mapping[str, Any]) -> list[Any]:
    """Labels of classes."""
    labels = read_labels(facts, "classes", (str, int, float, bool))
    for label in labels:
        if isinstance(label, int) and not -(2**63) <= label < 2**64:
            raise ValueError("classes that are integers must be from -2^63 to 2^64 - 1.")
    return labels


def read_scaling(facts: Mapping[str, Any], name: str) -> Scaling:
    """Means and scales of columns."""
    parts = read_mapping(facts, name)
    return Scaling(read_array(parts, "mean", None), read_array(parts, "scale", None))


def read_array(facts: Mapping[str, Any], name: str, *shape: int | None) -> Array:
    """Finite numbers in one or two dimensions, of which None may have any length."""
    values = _read_list(facts, name)
    rows = values if len(shape) == 2 else [values]
    if not all(isinstance(row, list) and all(map(_is_number, row)) for row in rows):
        raise ValueError(f"{name} must be {len(shape)}-dimensional and hold finite numbers only.")
    if len({len(row) for row in rows}) > 1:
        raise ValueError(f"{name} must have rows of equal length.")
    array = np.array(values, dtype=np.float64, ndmin=len(shape))
    asked = tuple(m if n is None else n for n, m in zip(shape, array.shape, strict=True))
    if array.shape != asked:
        raise ValueError(f"{name} must have shape {asked}, got {array.shape}.")
    return array


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
