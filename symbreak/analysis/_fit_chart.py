"""A problem's data, and what the best network makes of them."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from symbreak._support.checks import Array, check_kind, check_text
from symbreak.analysis._fits import Fit
from symbreak.analysis._style import GREY, HEIGHT, ROLE_LOOKS, WIDTH, styled, titled

#: Points that a chart holds at most; others are left out evenly.
MAX_POINTS = 400
GRID = 32  # cells of a field along each side
INK, FITTED = GREY, ROLE_LOOKS["proximity"].color
CLASS_COLORS = ("#7f868d", "#1a7fc1", "#b8860b", "#009e73", "#cc79a7", "#d55e00")


def fit_chart(fit: Fit, name: str) -> alt.TopLevelMixin:
    """The data and the fit: a curve, two fields, regions of classes, or predicted against true."""
    check_kind("fit", fit, Fit, "one of Results.fits")
    check_text("name", name)
    n_inputs, n_outputs = fit.model.topology.n_inputs, fit.model.topology.n_outputs
    chart: Any
    if fit.model.classes:
        chart = _regions(fit) if n_inputs == 2 else _confusion(fit)
    elif fit.model.task == "autoencoding":
        chart = _reconstruction(fit)
    elif n_inputs == 1 and n_outputs == 1:
        chart = _curve(fit)
    elif n_inputs == 2 and n_outputs == 1:
        chart = _fields(fit)
    else:
        chart = _against_truth(fit)
    titled_chart: alt.TopLevelMixin = chart.properties(title=titled("Data and best fit", name))
    return styled(titled_chart)


def _names(fit: Fit) -> tuple[list[str], list[str]]:
    """Titles for inputs and targets: their names, or letters."""
    n_inputs, n_outputs = fit.model.topology.n_inputs, fit.model.topology.n_outputs
    inputs = list(fit.model.feature_names) or _numbered("x", n_inputs)
    return inputs, list(fit.model.target_names) or _numbered("y", n_outputs)


def _numbered(letter: str, n: int) -> list[str]:
    return [letter] if n == 1 else [f"{letter}{i + 1}" for i in range(n)]


def _training(fit: Fit) -> tuple[Array, Array]:
    """Training data, thinned."""
    _, X, y = next(fit.parts())
    step = -(-len(X) // MAX_POINTS)
    return X[::step], y[::step]


def _frame(**columns: Any) -> pd.DataFrame:
    rounded = {
        name: [float(f"{value:.4g}") for value in values] for name, values in columns.items()
    }
    return pd.DataFrame(rounded)


def _axis(column: str, title: str, scale: alt.Scale | None = None) -> dict[str, Any]:
    settings: dict[str, Any] = {"title": title, "scale": scale or alt.Scale(zero=False)}
    return {"shorthand": f"{column}:Q", **settings}


def _curve(fit: Fit) -> alt.LayerChart:
    X, y = _training(fit)
    (x_name,), (y_name,) = _names(fit)
    grid = np.linspace(X.min(), X.max(), 200)
    x, height = alt.X(**_axis("x", x_name)), alt.Y(**_axis("y", y_name))
    data = alt.Chart(_frame(x=X[:, 0], y=y[:, 0])).mark_point(
        filled=True, size=12, color=INK, opacity=1, fillOpacity=0.6
    )
    line = alt.Chart(_frame(x=grid, y=fit.model.outputs(grid[:, None])[:, 0])).mark_line(
        color=FITTED, strokeWidth=2
    )
    layers = [data.encode(x=x, y=height), line.encode(x=x, y=height)]
    return alt.LayerChart(layer=layers, width=WIDTH, height=HEIGHT)


def _mesh(X: Array, n: int = GRID) -> Array:
    """Points of a grid over two inputs, (n^2, 2), row by row."""
    sides = [np.linspace(low, high, n) for low, high in zip(X.min(0), X.max(0), strict=True)]
    return np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)


def _cells(mesh: Array, **columns: Any) -> pd.DataFrame:
    """Rectangles around the points of a grid, a little larger to leave no gaps."""
    half = 1.04 * (mesh.max(axis=0) - mesh.min(axis=0)) / (GRID - 1) / 2
    low, high = mesh - half, mesh + half
    corners = {"x": low[:, 0], "x2": high[:, 0], "z": low[:, 1], "z2": high[:, 1]}
    return _frame(**corners, **columns)


def _fields(fit: Fit) -> alt.HConcatChart:
    """The target over two inputs as colour: as it is, and as the network has it."""
    X, y = _training(fit)
    (a, b), (y_name,) = _names(fit)
    mesh = _mesh(X)
    fitted = fit.model.outputs(mesh)[:, 0]
    domain = [float(min(y.min(), fitted.min())), float(max(y.max(), fitted.max()))]
    legend = alt.Legend(title=y_name, gradientLength=120, orient="bottom")
    color = alt.Color(
        "y:Q", scale=alt.Scale(scheme="viridis", domain=domain), legend=legend, title=y_name
    )
    side = WIDTH // 2 - 10
    tight = alt.Scale(zero=False, nice=False)
    points = alt.Chart(
        _frame(x=X[:, 0], z=X[:, 1], y=y[:, 0]), title="data", width=side, height=side
    )
    points = points.mark_point(filled=True, size=14, opacity=1).encode(
        x=alt.X(**_axis("x", a, tight)), y=alt.Y(**_axis("z", b, tight)), color=color
    )
    field = alt.Chart(_cells(mesh, y=fitted), title="network", width=side, height=side).mark_rect()
    field = field.encode(
        x=alt.X(**_axis("x", a, tight)),
        x2="x2:Q",
        y=alt.Y(**_axis("z", b, tight)).axis(None),
        y2="z2:Q",
        color=color,
    )
    return alt.hconcat(points, field, spacing=10)


def _stripes(fit: Fit, X: Array, labels: list[str], n: int = 80) -> pd.DataFrame:
    """The regions of classes as rectangles, each as long as the class stays the same."""
    mesh = _mesh(X, n)
    winners = fit.model.outputs(mesh).argmax(axis=1).reshape(n, n)
    columns, rows = mesh[:n, 0], mesh[::n, 1]
    width, height = columns[1] - columns[0], rows[1] - rows[0]
    stripes = []
    for z, line in zip(rows, winners, strict=True):
        starts = np.flatnonzero(np.diff(line, prepend=-1))
        ends = np.append(starts[1:], n)
        stripes += [
            (columns[a], columns[b - 1] + width, z, line[a])
            for a, b in zip(starts, ends, strict=True)
        ]
    x, x2, z, winner = map(np.array, zip(*stripes, strict=True))
    frame = _frame(x=x - width / 2, x2=x2 - width / 2, z=z - height / 2, z2=z + height / 2)
    frame["class"] = np.array(labels)[winner]
    return frame


def _regions(fit: Fit) -> alt.LayerChart:
    """Points by class on the regions that the network gives to each."""
    X, y = _training(fit)
    (a, b), _ = _names(fit)
    labels = [str(label) for label in fit.model.classes]
    regions = _stripes(fit, X, labels)
    points = _frame(x=X[:, 0], z=X[:, 1])
    points["class"] = np.array(labels)[y.argmax(axis=1)]
    colors = [CLASS_COLORS[i % len(CLASS_COLORS)] for i in range(len(labels))]
    color = alt.Color("class:N", scale=alt.Scale(domain=labels, range=colors))
    tight = alt.Scale(zero=False, nice=False)
    x, height = alt.X(**_axis("x", a, tight)), alt.Y(**_axis("z", b, tight))
    area = alt.Chart(regions).mark_rect(opacity=1, fillOpacity=0.25)
    area = area.encode(x=x, x2="x2:Q", y=height, y2="z2:Q", color=color)
    dots = alt.Chart(points).mark_point(filled=True, size=20, opacity=1)
    dots = dots.encode(x=x, y=height, color=color, shape=alt.Shape("class:N", legend=None))
    side = WIDTH - 40
    return alt.LayerChart(layer=[area, dots], width=side, height=side)


def _reconstruction(fit: Fit) -> alt.HConcatChart | alt.LayerChart:
    """Points of the data and where the network puts them, in space from two sides."""
    X, _ = _training(fit)
    names, _ = _names(fit)
    outputs = fit.model.outputs(X)
    columns = {f"x{i}": np.concatenate([X[:, i], outputs[:, i]]) for i in range(X.shape[1])}
    frame = _frame(**columns)
    frame["what"] = np.repeat(["data", "network"], len(X))
    color = alt.Color("what:N", scale=alt.Scale(domain=["data", "network"], range=[INK, FITTED]))
    sides = [(0, 1)] if len(names) < 3 else [(0, 1), (0, 2)]
    width = WIDTH - 40 if len(sides) == 1 else WIDTH // 2 - 10
    mark = alt.Chart(frame, width=width, height=width).mark_point(
        filled=True, size=10, opacity=1, fillOpacity=0.7
    )
    views = [
        mark.encode(
            x=alt.X(**_axis(f"x{i}", names[i])), y=alt.Y(**_axis(f"x{j}", names[j])), color=color
        )
        for i, j in sides
    ]
    return views[0] if len(views) == 1 else alt.hconcat(*views, spacing=10)


def _against_truth(fit: Fit) -> alt.LayerChart:
    """What the network says over what is true, on the test data if there are any."""
    part, X, y = list(fit.parts())[-1]
    step = -(-len(X) // MAX_POINTS)
    X, y = X[::step], y[::step]
    _, (y_name, *_others) = _names(fit)
    points = _frame(true=y[:, 0], predicted=fit.model.outputs(X)[:, 0])
    ends = [points.to_numpy().min(), points.to_numpy().max()]
    x = alt.X(**_axis("true", f"{y_name}, {part} data"))
    height = alt.Y(**_axis("predicted", f"{y_name}, network"))
    dots = alt.Chart(points).mark_point(filled=True, size=18, color=FITTED, fillOpacity=0.7)
    line = alt.Chart(_frame(true=ends, predicted=ends)).mark_line(color=GREY, strokeDash=[4, 2])
    layers = [line.encode(x=x, y=height), dots.encode(x=x, y=height)]
    return alt.LayerChart(layer=layers, width=WIDTH - 40, height=WIDTH - 40)


def _confusion(fit: Fit) -> alt.LayerChart:
    """How often each class is taken for each, on the test data if there are any."""
    part, X, y = list(fit.parts())[-1]
    labels = np.array([str(label) for label in fit.model.classes])
    pairs = pd.DataFrame(
        {
            "true": labels[y.argmax(axis=1)],
            "predicted": labels[fit.model.outputs(X).argmax(axis=1)],
        }
    )
    counts = pairs.value_counts().rename("samples").reset_index()
    base = alt.Chart(counts).encode(
        x=alt.X("predicted:N", sort=[*labels], title="network", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("true:N", sort=[*labels], title=f"{part} data"),
        tooltip=["true:N", "predicted:N", "samples:Q"],
    )
    shades = alt.Scale(range=["#dfe6eb", "#08507d"])
    dark = f"datum.samples > {0.5 * counts['samples'].max()}"
    ink = alt.condition(dark, alt.value("#fff"), alt.value("#000"))
    layers = [
        base.mark_rect().encode(color=alt.Color("samples:Q", scale=shades, legend=None)),
        base.mark_text(fontSize=9).encode(text="samples:Q", color=ink),
    ]
    return alt.LayerChart(layer=layers, width=WIDTH - 40, height=WIDTH - 40)
