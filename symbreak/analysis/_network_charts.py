"""Pictures of networks: one with its weights, two neuron by neuron, draws of many, an evolution."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from symbreak._support.checks import (
    Array,
    IntArray,
    check_kind,
    check_magnitude,
    check_text,
    check_vectors,
)
from symbreak.analysis._data_charts import headed, progress_chart
from symbreak.analysis._style import (
    FITTED,
    GREY,
    HEIGHT,
    NEGATIVE,
    POSITIVE,
    WIDTH,
    styled,
    titled,
)
from symbreak.control import Control
from symbreak.models import Model
from symbreak.symmetry._draws import AlignedDraws
from symbreak.symmetry.networks import Comparison
from symbreak.topology import Topology

#: More weights than this cannot be told apart, and more draws of one would hide each other.
MAX_WEIGHTS, MAX_DRAWS = 3_000, 1_000
#: Actions of a controller that are shown.
MAX_STEPS = 1_000


def network_chart(model: Model) -> alt.TopLevelMixin:
    """Draw a network: the wider a line, the larger its weight in its layer; orange is negative.

    Raises:
        ValueError: if it has too many weights to be seen.
    """
    sizes = check_kind("model", model, Model, "such as record.model").topology.sizes
    if sum(a * b for a, b in pairwise(sizes)) > MAX_WEIGHTS:
        raise ValueError(f"a network of more than {MAX_WEIGHTS:,} weights cannot be drawn.")
    weights = [layer[:, :-1].T for layer in model.topology.layers(model.theta)]
    weights.append(model.output_weights[: sizes[-2]])
    lines = pd.concat([_edges(h, matrix) for h, matrix in enumerate(weights)])
    places: dict[str, Any] = {"x": alt.X("x:Q", axis=None), "y": alt.Y("y:Q", axis=None)}
    edges = alt.Chart(lines, width=130 * (len(sizes) - 1), height=min(26 * max(sizes), 600))
    edges = edges.mark_rule(opacity=0.8).encode(
        **places,
        x2="x2:Q",
        y2="y2:Q",
        size=_width("size", 6),
        color=alt.Color("color:N").scale(None),
    )
    neurons = alt.Chart(_neurons(model)).encode(**places)
    dots = neurons.mark_circle(size=110, opacity=1, color=GREY)
    left = neurons.transform_filter("datum.x == 0").mark_text(align="right", dx=-10, color=GREY)
    right = neurons.transform_filter("datum.x > 0").mark_text(align="left", dx=10, color=GREY)
    texts = [mark.encode(text="name:N") for mark in (left, right)]
    title = f"{model.topology} network"
    return styled(alt.layer(edges, dots, *texts).properties(title=title))


def _edges(layer: int, matrix: Array) -> pd.DataFrame:
    """A line for each weight between two layers."""
    i, j = np.indices(matrix.shape).reshape(2, -1)
    (below, above), weights = map(_heights, matrix.shape), matrix.ravel()
    frame = pd.DataFrame({"x": layer, "y": below[i], "x2": layer + 1, "y2": above[j]})
    frame["size"] = np.abs(weights) / (np.abs(weights).max() or 1.0)
    return frame.assign(color=np.where(weights < 0, NEGATIVE, POSITIVE))


def _neurons(model: Model) -> pd.DataFrame:
    """Places and names; only inputs and outputs have names."""
    sizes = model.topology.sizes
    inputs = model.feature_names or [f"x{i + 1}" for i in range(sizes[0])]
    targets = model.classes or model.target_names or [f"y{i + 1}" for i in range(sizes[-1])]
    names = [inputs, *([""] * n for n in sizes[1:-1]), targets]
    layers = [
        pd.DataFrame({"x": h, "y": _heights(n), "name": [str(name)[:24] for name in names[h]]})
        for h, n in enumerate(sizes)
    ]
    return pd.concat(layers)


def _heights(n: int) -> Array:
    return (n - 1) / 2 - np.arange(n, dtype=np.float64)


def _width(field: str, most: float) -> alt.Size:
    """Wide lines are large numbers, up to 1."""
    return alt.Size(f"{field}:Q", legend=None).scale(domain=[0, 1], range=[0.2, most])


def match_chart(comparisons: Mapping[str, Comparison], anchor: str) -> alt.TopLevelMixin:
    """Draw which neuron of each network stands for which of the anchor's, layer by layer.

    The wider a line, the more alike the two neurons; orange ones are flipped.
    """
    named = check_kind("comparisons", comparisons, Mapping, "of comparisons by name")  # type: ignore[type-abstract]
    rows, anchor = [], check_text("anchor", anchor)[:24]
    for name, comparison in zip(map(str, named), named.values(), strict=True):
        check_kind("a comparison", comparison, Comparison, "as networks.compare makes")
        layers = zip(comparison.orders, comparison.signs, comparison.agreement, strict=True)
        panels = [
            _matches(*layer).properties(
                title=titled(f"hidden layer {h}", [anchor, f"- {name:.24}"])
            )
            for h, layer in enumerate(layers, start=1)
        ]
        rows.append(alt.hconcat(*panels))
    title = titled("Which neuron is which", ["wide lines: alike", "orange: flipped"])
    return styled(alt.vconcat(*rows).properties(title=title))


def _matches(order: IntArray, signs: Array, agreement: Array) -> Any:
    """A line from each neuron of the anchor to the one that stands for it."""
    n = len(order)
    lines = pd.DataFrame({"a": range(n), "b": order, "left": 0, "right": 1})
    lines["label"], lines["agreement"] = lines["a"] + 1, np.maximum(agreement, 0)
    lines["color"] = np.where(signs < 0, NEGATIVE, POSITIVE)
    base = alt.Chart(lines, width=150, height=max(40, min(20 * n, 500))).encode(
        x=alt.X("left:Q", axis=None).scale(domain=[-0.3, 1.3]),
        y=alt.Y("a:Q", axis=None).scale(domain=[-0.5, n - 0.5], reverse=True),
    )
    edges = base.mark_rule(opacity=0.8).encode(
        x2="right:Q", y2="b:Q", size=_width("agreement", 5), color=alt.Color("color:N").scale(None)
    )
    left = base.mark_text(align="right", dx=-5, color=GREY).encode(text="label:N")
    right = base.mark_text(align="left", dx=5, color=GREY).encode(x="right:Q", text="label:N")
    return alt.layer(edges, left, right)


def draws_chart(before: Array, aligned: AlignedDraws) -> alt.TopLevelMixin:
    """Draw every weight of the draws, before and after alignment, coloured by mode.

    ``before`` is the array (chain, draw, D) that was aligned.
    """
    check_kind("aligned", aligned, AlignedDraws, "as align_draws makes")
    before = check_vectors(before, "(chain, draw, D)", "before")
    check_magnitude("before", before)
    if before.shape != aligned.theta.shape:
        raise ValueError(f"before must have shape {aligned.theta.shape}, got {before.shape}.")
    n_chains, n_draws, dim = before.shape
    step = -(-n_chains * n_draws // MAX_DRAWS)
    modes = np.repeat(aligned.modes, n_draws)[::step]
    rng, frames = np.random.default_rng(0), []
    for when, theta in (("as drawn", before), ("aligned", aligned.theta)):
        draws = np.reshape(theta, (-1, dim))[::step].T  # weight by weight
        places = np.arange(1, dim + 1)[:, None] + rng.uniform(-0.35, 0.35, draws.shape)
        points = {"x": places.ravel(), "y": draws.ravel(), "mode": np.tile(modes, dim)}
        frames.append(pd.DataFrame({"when": when, **points}))
    frame = pd.concat(frames)
    limit = float(np.quantile(np.abs(frame["y"]), 0.999))
    ticks = alt.Axis(values=list(range(1, dim + 1)), format="d", grid=False)
    marks = alt.Chart(frame, width=max(180, 22 * dim), height=220).mark_circle(
        size=6, opacity=0.4, strokeWidth=0
    )
    chart = marks.encode(
        x=alt.X("x:Q", title="weight", axis=ticks),
        y=alt.Y("y:Q", title="value").scale(domain=[-limit, limit], clamp=True),
        color=alt.Color("mode:N", legend=alt.Legend(columns=8, title="mode", symbolOpacity=1)),
        column=alt.Column("when:N", sort=["as drawn", "aligned"], title=None),
    )
    return styled(chart)


def evolution_chart(
    record: Any, topology: Topology, control: Control | None = None
) -> alt.TopLevelMixin:
    """Draw the best fitness so far over evaluations, of a record that ``evolve`` gave.

    Of a problem of control the states, too.
    """
    maximize = check_kind("record.maximize", getattr(record, "maximize", None), bool, "of evolve")
    net = check_kind("topology", topology, Topology, "of the network that was evolved")
    fitness = -record.errors if maximize else record.errors
    title = f"fitness, {'higher' if maximize else 'lower'} is better"
    panels = [progress_chart(record.evaluations, fitness, "best so far", title, "fitness")]
    if control is not None and record.theta is not None and np.isfinite(record.theta).all():
        panels.append(_states(control, control.episode(record.theta, net, MAX_STEPS)))
    about = f"{'-'.join(map(str, net.sizes))} network, {record.method}"
    return headed(alt.hconcat(*panels), record.problem, about)


def _states(control: Control, states: Array) -> Any:
    """A panel for each number of the state but velocities: metres and degrees over seconds."""
    seconds = np.arange(len(states)) * control.step
    shown = [i for i, name in enumerate(control.states) if not name.endswith("'")]
    rows = []
    for i in shown:
        is_angle = control.states[i].startswith("angle")
        values = np.degrees(states[:, i]) if is_angle else states[:, i]
        frame = pd.DataFrame({"seconds": seconds, "value": values})
        last = i == shown[-1]
        axis = alt.Axis(title="seconds" if last else None, labels=last)
        title = f"{control.states[i]} [{'°' if is_angle else 'm'}]"
        height = (HEIGHT - 10 * (len(shown) - 1)) / len(shown)
        mark = alt.Chart(frame, width=WIDTH, height=height).mark_line(color=FITTED, strokeWidth=1.5)
        x, y = alt.X("seconds:Q", axis=axis), alt.Y("value:Q", title=title)
        rows.append(mark.encode(x=x, y=y))
    return alt.vconcat(*rows, spacing=10, title="what the best one does")
