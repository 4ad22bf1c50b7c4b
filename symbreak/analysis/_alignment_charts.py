"""Pictures of alignment: which neuron is which, and draws before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from symbreak._support.checks import (
    Array,
    check_kind,
    check_magnitude,
    check_text,
    check_vectors,
)
from symbreak.analysis._data_charts import NEGATIVE, POSITIVE
from symbreak.analysis._style import GREY, styled, titled
from symbreak.symmetry._draws import AlignedDraws
from symbreak.symmetry.networks import Comparison

#: More draws of a weight would hide each other.
MAX_DRAWS = 1_000


def match_chart(comparisons: Mapping[str, Comparison], anchor: str) -> alt.TopLevelMixin:
    """Draw which neuron of each network stands for which of the anchor's, layer by layer.

    The wider a line, the more alike the two neurons; orange ones are flipped. Beside it is how each
    weight that a neuron reads has changed, after that.
    """
    named = check_kind("comparisons", comparisons, Mapping, "of comparisons by name")  # type: ignore[type-abstract]
    charts, anchor = [], check_text("anchor", anchor)
    for name, comparison in named.items():
        check_kind("a comparison", comparison, Comparison, "as networks.compare makes")
        charts.append(alt.hconcat(*_matched_layers(str(name), comparison, anchor)))
    title = titled(
        "Which neuron is which, and how its weights have changed",
        "wide lines: alike; orange: flipped",
    )
    return styled(alt.vconcat(*charts).properties(title=title))


def _matched_layers(name: str, comparison: Comparison, anchor: str) -> list[Any]:
    layers = zip(comparison.orders, comparison.signs, comparison.agreement, strict=True)
    charts: list[Any] = []
    for h, (order, signs, agreement) in enumerate(layers, start=1):
        n = len(order)
        lines = pd.DataFrame({"a": range(n), "b": order, "agreement": np.maximum(agreement, 0)})
        lines["color"] = np.where(signs < 0, NEGATIVE, POSITIVE)
        lines["left"], lines["right"], lines["label"] = 0, 1, range(1, n + 1)
        places = alt.Scale(domain=[-0.5, n - 0.5], reverse=True)
        sides = alt.Scale(domain=[-0.3, 1.3])
        base = alt.Chart(lines, width=150, height=max(40, min(20 * n, 500))).encode(
            x=alt.X("left:Q", axis=None, scale=sides),
            y=alt.Y("a:Q", axis=None, scale=places),
        )
        width = alt.Size("agreement:Q", scale=alt.Scale(domain=[0, 1], range=[0.3, 5]), legend=None)
        color = alt.Color("color:N", scale=None)
        edges = base.mark_rule(opacity=0.8).encode(x2="right:Q", y2="b:Q", size=width, color=color)
        left = base.mark_text(align="right", dx=-5, color=GREY).encode(text="label:N")
        right = base.mark_text(align="left", dx=5, color=GREY).encode(x="right:Q", text="label:N")
        title = titled(f"hidden layer {h}", f"{anchor[:24]} - {name[:24]}")
        charts.append(alt.layer(edges, left, right).properties(title=title))
        charts.append(_changes(comparison, h - 1).properties(height=max(40, min(20 * n, 500))))
    return charts


def _changes(comparison: Comparison, layer: int) -> alt.Chart:
    """Weights of the network minus those of the anchor, a row for each neuron."""
    before, after = comparison.weights[layer]
    n, m = before.shape
    names = comparison.inputs if layer == 0 and comparison.inputs else range(1, m)
    columns = [*(str(name)[:24] for name in names), "bias"]
    rows, places = np.indices((n, m)).reshape(2, -1)
    cells = pd.DataFrame({"neuron": rows + 1, "place": places, "change": (after - before).ravel()})
    cells["weight"] = [columns[i] for i in places]
    most = max(float(cells["change"].abs().max()), 1e-9)
    scale = alt.Scale(
        domain=[-most, 0, most], range=[NEGATIVE, "white", POSITIVE], interpolate="rgb"
    )
    order = alt.EncodingSortField("place", op="min")
    return (
        alt.Chart(cells, width=max(60, min(16 * m, 600)))
        .mark_rect()
        .encode(
            x=alt.X("weight:N", sort=order, title=None),
            y=alt.Y("neuron:O", title=None, axis=alt.Axis(labels=False, ticks=False)),
            color=alt.Color("change:Q", scale=scale, legend=alt.Legend(title="change")),
            tooltip=["neuron", "weight", "change"],
        )
    )


def draws_chart(before: Array, aligned: AlignedDraws) -> alt.TopLevelMixin:
    """Draw every weight of the draws, before and after alignment, coloured by mode.

    ``before`` is the array (chain, draw, D) that was aligned.
    """
    check_kind("aligned", aligned, AlignedDraws, "as align_draws makes")
    before = check_vectors(before, "(chain, draw, D)", "before")
    check_magnitude("before", before)
    if before.shape != aligned.theta.shape:
        raise ValueError(f"before must have shape {aligned.theta.shape}, got {before.shape}.")
    step = -(-aligned.theta.shape[0] * aligned.theta.shape[1] // MAX_DRAWS)
    modes = np.repeat(aligned.modes, aligned.theta.shape[1])[::step]
    rng, rows = np.random.default_rng(0), []
    for when, theta in (("as drawn", before), ("aligned", aligned.theta)):
        draws = np.reshape(theta, (-1, aligned.topology.dim))[::step]
        for d, values in enumerate(draws.T):
            places = d + 1 + rng.uniform(-0.35, 0.35, len(values))
            rows.append(pd.DataFrame({"when": when, "x": places, "y": values, "mode": modes}))
    points = pd.concat(rows)
    limit = float(np.quantile(np.abs(points["y"]), 0.999))
    y: dict[str, Any] = {"scale": alt.Scale(domain=[-limit, limit], clamp=True), "title": "value"}
    ticks = alt.Axis(values=list(range(1, aligned.topology.dim + 1)), format="d", grid=False)
    chart = alt.Chart(points, width=max(180, 22 * aligned.topology.dim), height=220)
    marks = chart.mark_circle(size=6, opacity=0.4, strokeWidth=0).encode(
        x=alt.X("x:Q", title="weight", axis=ticks),
        y=alt.Y("y:Q", **y),
        color=alt.Color("mode:N", legend=alt.Legend(columns=8, title="mode", symbolOpacity=1)),
        column=alt.Column("when:N", sort=["as drawn", "aligned"], title=None),
    )
    return styled(marks)
