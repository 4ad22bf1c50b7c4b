"""What all exports say about a model; names and labels, which may hold anything, are made safe."""

from __future__ import annotations

import math
from typing import Any

from symbreak._support.checks import check_kind
from symbreak._version import __version__
from symbreak.export._std import about
from symbreak.models import Model

#: More facts, or longer ones, are not a comment any more.
MAX_FACTS, MAX_LENGTH = 20, 80


def check_model(model: object) -> Model:
    """Return ``model`` if it is a Model."""
    return check_kind("model", model, Model, "such as record.model or Model.load(path)")


def facts(model: Model, std: bool = False) -> list[str]:
    """Where a model came from, as lines of printable ASCII."""
    lines = [
        f"A {model.topology} network for {model.task}, exported by symbreak {__version__}.",
        *(f"input {i}: {quoted(name)}" for i, name in enumerate(model.feature_names)),
        *(f"output {i}: {quoted(name)}" for i, name in enumerate(model.target_names)),
    ]
    if std:
        lines.append(about(model))
    for name, value in list(model.origin.items())[:MAX_FACTS]:
        if isinstance(value, str | int | float | bool):
            lines.append(f"{quoted(name)}: {quoted(value)}")
    return lines


def quoted(value: Any) -> str:
    """A string on one line of printable ASCII, cut if it is long; other values as they are."""
    text = ascii(str(value))[1:-1] if isinstance(value, str) else ascii(value)
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]} ..."


def labels(model: Model) -> list[str | int | float | bool]:
    """Class labels as plain Python values.

    Raises:
        ValueError: if one is neither a text nor a finite number.
    """
    plain = []
    for label in model.classes:
        value = label.item() if hasattr(label, "item") else label
        kind = next((kind for kind in (bool, int, float, str) if isinstance(value, kind)), None)
        if kind is None or (kind is float and not math.isfinite(value)):
            raise ValueError(
                f"only strings and finite numbers can be exported, got class {label!r}."
            )
        plain.append(kind(value))
    return plain
