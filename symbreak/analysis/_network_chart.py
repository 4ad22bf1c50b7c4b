"""A picture of a network: neurons in columns, weights as lines."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from symbreak._support.checks import Array, check_kind
from symbreak.analysis._style import GREY, styled
from symbreak.models import Model

#: Weights of either sign: safe for the colour-blind, on white and on black.
POSITIVE, NEGATIVE = "#1a7fc1", "#d55e00"
#: More lines are a blot.
MAX_WEIGHTS = 3_000


def network_chart(model: Model) -> alt.TopLevelMixin:
    """Draw a network: the wider a line, the larger its weight in its layer; orange is negative.

    Raises:
        ValueError: if it has too many weights to be seen.
    """
    check_kind("model", model, Model, "such as record.model")
    sizes = model.topology.sizes
    if sum(a * b for a, b in pairwise(sizes)) > MAX_WEIGHTS:
        raise ValueError(f"a network of more than {MAX_WEIGHTS:,} weights cannot be drawn.")
    weights = [layer[:, :-1].T for layer in model.topology.layers(model.theta)]
    weights.append(model.output_weights[: sizes[-2]])
    lines = pd.DataFrame([row for h, matrix in enumerate(weights) for row in _lines(h, matrix)])
    width, height = 130 * (len(sizes) - 1), min(26 * max(sizes), 600)
    base = alt.Chart(lines, width=width, height=height).mark_rule(opacity=0.8)
    edges = base.encode(
        **_places(),
        x2="x2:Q",
        y2="y2:Q",
        size=alt.Size("size:Q", scale=alt.Scale(domain=[0, 1], range=[0.2, 6]), legend=None),
        color=alt.Color("color:N", scale=None),
    )
    neurons = alt.Chart(_neurons(model)).encode(**_places())
    dots = neurons.mark_circle(size=110, opacity=1, color=GREY)
    left = neurons.transform_filter("datum.x == 0").mark_text(align="right", dx=-10)
    right = neurons.transform_filter("datum.x > 0").mark_text(align="left", dx=10)
    texts = [mark.encode(text="name:N", color=alt.value(GREY)) for mark in (left, right)]
    title = f"{model.topology} network"
    return styled(alt.layer(edges, dots, *texts).properties(title=title))


def _places() -> dict[str, Any]:
    return {"x": alt.X("x:Q", axis=None), "y": alt.Y("y:Q", axis=None)}


def _heights(n: int) -> Array:
    return (np.arange(n, dtype=np.float64) - (n - 1) / 2) * -1


def _lines(layer: int, matrix: Array) -> list[dict[str, Any]]:
    most = np.abs(matrix).max() or 1.0
    below, above = map(_heights, matrix.shape)
    return [
        {
            "x": layer,
            "y": below[i],
            "x2": layer + 1,
            "y2": above[j],
            "size": abs(w) / most,
            "color": NEGATIVE if w < 0 else POSITIVE,
        }
        for (i, j), w in np.ndenumerate(matrix)
    ]


def _neurons(model: Model) -> pd.DataFrame:
    """Places and names; only inputs and outputs have names."""
    sizes = model.topology.sizes
    inputs = model.feature_names or [f"x{i + 1}" for i in range(sizes[0])]
    targets = model.classes or model.target_names or [f"y{i + 1}" for i in range(sizes[-1])]
    rows = []
    for h, n in enumerate(sizes):
        ends = {0: inputs, len(sizes) - 1: targets}
        names = [str(name)[:24] for name in ends.get(h, [""] * n)]
        rows += [{"x": h, "y": y, "name": name} for y, name in zip(_heights(n), names, strict=True)]
    return pd.DataFrame(rows)
