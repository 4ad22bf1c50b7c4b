"""What all exports say about a model; names and labels, which may hold anything, are made safe."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from symbreak._error_bars import Member
from symbreak._support.checks import Array, check_kind
from symbreak._version import __version__
from symbreak.models import Model
from symbreak.problems._encoding import Coded

#: More facts, or longer ones, are not a comment any more.
MAX_FACTS, MAX_LENGTH = 20, 80


def check_model(model: object) -> Model:
    """Return ``model`` if it is a Model."""
    return check_kind("model", model, Model, "such as record.model or Model.load(path)")


def rows_of(network: Model | Member) -> list[Array]:
    """Weights (n, fan-in + 1) of each layer, the outputs last; each row ends with a bias."""
    n, V = network.topology.hidden[-1], network.output_weights
    outputs = np.column_stack([V[:n].T, V[n:].sum(axis=0)])  # 0 without a bias
    return [*(layer.copy() for layer in network.topology.layers(network.theta)), outputs]


def directions_of(member: Member) -> list[list[Array]]:
    """Ways for the weights of a network to change, independent and as likely as one another.

    Each is given as the rows of its layers are. An output varies by the sum of the squares of its
    changes along all of them, in units of the noise.
    """
    D, shape = len(member.theta), member.output_weights.shape
    return [
        rows_of(replace(member, theta=row[:D], output_weights=row[D:].reshape(shape)))
        for row in member.factor
    ]


def raw_rows_of(model: Model) -> list[Array]:
    """Such rows from inputs as they are in the data to targets in their units, or scores."""
    layers = rows_of(model)
    layers[0][:, :-1] /= model.inputs.scale
    layers[0][:, -1] -= layers[0][:, :-1] @ model.inputs.mean
    layers[-1] *= model.targets.scale[:, None]  # the identity for classes
    layers[-1][:, -1] += model.targets.mean
    return layers


def facts(model: Model, std: bool = False) -> list[str]:
    """Where a model came from, as lines of printable ASCII."""
    lines = [
        f"A {model.topology} network for {model.task}, exported by symbreak {__version__}.",
        *(f"input {i}: {word}" for i, word in enumerate(inputs_in_words(model))),
        *(f"output {i}: {quoted(name)}" for i, name in enumerate(model.target_names)),
    ]
    if std:
        bars = model.check_error_bars()
        widths = ", ".join(f"{w:.4g}" for w in bars.factor(0.9) / bars.scale)
        lines.append(f"nine of ten targets lie within {widths} standard deviations.")
    for name, value in list(model.origin.items())[:MAX_FACTS]:
        if isinstance(value, str | int | float | bool):
            lines.append(f"{quoted(name)}: {quoted(value)}")
    return lines


def inputs_in_words(model: Model) -> list[str]:
    """Names of what exported code takes; of a column that is no plain number, how it takes it."""
    if model.encoding is None:
        return [quoted(name) for name in model.feature_names]
    return [f"{quoted(one.name)}: {_in_words(one)}" for one in model.encoding.columns]


def _in_words(column: Coded) -> str:
    """How exported code takes the values of a column."""
    words = []
    if column.levels:
        levels = (*column.levels, "any other") if column.rare else column.levels
        words.append(", ".join(f"{code} {quoted(level)}" for code, level in enumerate(levels)))
    elif column.kind == "date":
        words.append("days since 1970")
    filled = f"NaN, if it is missing, counts as {column.fill:.6g}"
    words.append(f"{filled}, and is said" if column.missing else filled)
    return "; ".join(words)


def identifiers(names: Sequence[str]) -> list[str]:
    """Names of ASCII letters, digits and underscores, each once, whatever its case is."""
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9]+", "_", name)[:MAX_LENGTH].strip("_") or "no_name"
        same = itertools.chain([plain], (f"{plain}_{i}" for i in itertools.count(2)))
        one = next(one for one in same if one.lower() not in found)
        found[one.lower()] = one
    return list(found.values())


def quoted(value: Any) -> str:
    """A string on one line of printable ASCII, cut if it is long; other values as they are."""
    text = ascii(str(value))[1:-1] if isinstance(value, str) else ascii(value)
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]} ..."
