"""Pictures of data and of what was found: a problem, its best fit, and a training."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from symbreak._support.checks import (
    Array,
    IntArray,
    check_kind,
)
from symbreak.analysis._style import (
    COUNTS,
    FITTED,
    GREY,
    HEIGHT,
    WIDTH,
    log_switch,
    styled,
    switched,
    titled,
)
from symbreak.models import Model
from symbreak.problems import Problem

#: Points that a panel holds at most, others are left out evenly.
MAX_POINTS = 1_500
#: More targets, or classes, do not fit a page.
MAX_TARGETS, MAX_CLASSES = 4, 30
#: Labels of an axis are no nearer to each other, in px; those so near to its end do not stand out,
#: or else the titles of panels were at different heights.
SEPARATION, FLUSH = 8, 6
#: Points of a curve, cells of a field along each side, and rows of the regions of classes.
N_CURVE, GRID, ROWS = 300, 32, 80
#: Of a square panel, and of one of two.
SIDE, HALF = WIDTH - 40, WIDTH // 2 - 10
#: Share of the targets that an interval holds.
COVERAGE = 0.9

Size = tuple[tuple[int, ...], float, float, float]  # layers, loss, standard error, ridge

SETS = {"training": "#7f868d", "validation": "#d55e00", "test": "#1a7fc1"}
CLASS_COLORS = ("#7f868d", "#1a7fc1", "#b8860b", "#009e73", "#cc79a7", "#d55e00")
CURVE = "#009e73"


def problem_chart(problem: Problem) -> alt.TopLevelMixin:
    """Draw the training data: targets over inputs, points by class."""
    check_kind("problem", problem, Problem, "as load_problem makes")
    title = titled(problem.name, problem.description)
    return styled(_data_and_fit(problem, None).properties(title=title))


def fit_chart(problem: Problem, model: Model, name: str) -> alt.TopLevelMixin:
    """The data and the fit: a curve, two fields, regions of classes, or predicted against true."""
    title = titled("Data and best fit", name)
    return styled(_data_and_fit(problem, model).properties(title=title))


def _data_and_fit(problem: Problem, model: Model | None) -> Any:
    """What suits the problem; without a model, the data alone."""
    X, y = problem.inputs.undo(problem.train.X), problem.targets.undo(problem.train.y)
    (inputs, targets), n = _names(model or problem), X.shape[1]
    if problem.task == "classification":
        if model and n != 2:
            return confusion_chart(model, problem)
        return _classes(problem, X, y, model, inputs)
    if problem.task == "autoencoding" and n > 1:
        return _views({"data": X} | ({"network": model.outputs(X)} if model else {}), inputs)
    if n == 2 and y.shape[1] == 1:
        return _fields(X, y, model, inputs, targets[0])
    if model:
        rows = fit_points(model, problem).query("output == 0")
        if n > 1:
            return predicted_chart(rows, targets[0])
        return _curve(model, rows, 0, inputs[0], targets[0])
    distance, name = (X[:, 0], inputs[0]) if n == 1 else (np.linalg.norm(X, axis=1), "|x|")
    rows = _rounded(x=distance, true=y[:, 0]).assign(set="training")
    return _marks(rows).encode(x=_x("x", name), y=_y("true", targets[0]))


def training_chart(
    record: Any, problem: Problem, seen: Sequence[tuple[int, float]] = ()
) -> alt.TopLevelMixin:
    """Draw the network of a record beside its data, and the errors of the run that found it.

    Regression: predicted over true values, or the curve if there is one input, and residuals.
    Classification: how often which class was taken for which. All in the units of the data.

    Args:
        record: What ``train`` gave.
        problem: What it was trained on.
        seen: When a better network was seen, and its error, if a callback of ``train`` noted that;
            the errors of the record have the ridge in them.
    """
    model = check_kind("record.model", getattr(record, "model", None), Model, "as train gives")
    check_kind("problem", problem, Problem, "as load_problem makes")
    if model.classes:
        title = _panel(f"classes of the {list(problem.parts)[-1]} set")
        panels = [confusion_chart(model, problem).properties(title=title)]
    else:
        panels = _fit_and_residuals(model, problem)
    # cross-entropy, which makes probabilities, comes after the search and is another error
    name = "error of the search" if model.output == "softmax" else "error"
    evaluations, errors = record.evaluations, record.errors
    if seen:
        evaluations, errors = np.array([*seen, (record.n_evaluations, seen[-1][1])]).T
    elif problem.ridge.alpha > 0:
        name = f"{name} with its ridge"
    last = progress_chart(evaluations, errors, "convergence", name, "error")
    panels += [_sizes(record.size_path)] if record.size_path else []
    columns = 3 if len(panels) == 2 else 2  # several targets stand below each other
    chart = alt.concat(*panels, last, columns=columns)
    return headed(chart, problem.name, f"{model.topology} network, {model.task}")


def headed(chart: Any, name: str, about: str) -> alt.TopLevelMixin:
    """Panels below a heading."""
    heading = alt.TitleParams(name, subtitle=about, anchor="start", offset=12)
    return styled(chart.properties(title=heading))


def progress_chart(evaluations: Any, values: Any, title: str, name: str, what: str) -> Any:
    """The best so far over evaluations."""
    frame = pd.DataFrame({"evaluations": evaluations, "best": values}, dtype=np.float64)
    frame = frame.iloc[_thin(len(frame))]
    frame = frame[np.isfinite(frame["best"])]
    mark = alt.Chart(frame, width=WIDTH, height=HEIGHT, title=_panel(title)).mark_line(
        interpolate="step-after", color=FITTED, strokeWidth=2
    )
    axis = alt.Axis(labelExpr=COUNTS, labelSeparation=SEPARATION)
    chart = mark.encode(x=alt.X("evaluations:Q", title="evaluations", axis=axis))
    if (frame["best"] <= 0).any():
        return chart.encode(y=_y("best", name))
    y = alt.Y("best:Q", title=name, **switched(frame["best"], labelFlush=FLUSH))
    return chart.encode(y=y).add_params(log_switch(what))


def _sizes(path: Sequence[Size]) -> Any:
    """Loss over sizes, in their order, with a standard error to either side."""
    rows = [("-".join(map(str, layers)), loss, loss - e, loss + e) for layers, loss, e, _ in path]
    frame = pd.DataFrame(rows, columns=["neurons", "loss", "low", "high"])
    x = alt.X("neurons:N", title="hidden neurons", sort=None, axis=alt.Axis(labelAngle=0))
    base = alt.Chart(frame, width=WIDTH, height=HEIGHT).encode(x=x)
    title = "loss of samples not shown"
    bars = base.mark_rule(color=FITTED).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
    points = base.mark_circle(size=40, color=FITTED).encode(y="loss:Q")
    return alt.layer(bars, points).properties(title=_panel("how many hidden neurons?"))


def _names(of: Model | Problem) -> tuple[list[str], list[str]]:
    """Titles for inputs and targets: their names, or letters."""
    sizes, named = of.topology.sizes, (of.feature_names, of.target_names)
    inputs, targets = (
        list(names) or ([letter] if n == 1 else [f"{letter}{i + 1}" for i in range(n)])
        for names, letter, n in zip(named, "xy", (sizes[0], sizes[-1]), strict=True)
    )
    return inputs, targets


def _rounded(**columns: Any) -> pd.DataFrame:
    """A frame of few digits, evenly thinned if it is long."""
    frame = pd.DataFrame(columns).iloc[_thin(len(next(iter(columns.values()))))]
    return frame.map(lambda value: float(f"{value:.4g}"))


def _thin(n: int, most: int = MAX_POINTS) -> IntArray:
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))


def _fit_and_residuals(model: Model, problem: Problem) -> list[Any]:
    """Two panels for each target."""
    frame, ((x_name, *_), targets) = fit_points(model, problem), _names(model)
    panels: list[Any] = []
    for j, name in enumerate(targets[:MAX_TARGETS]):
        rows, fit, over = frame[frame["output"] == j], None, ("predicted", f"predicted {name}")
        if model.topology.n_inputs == 1:
            fit, over = _curve(model, rows, j, x_name, name), ("x", x_name)
        fit = fit or predicted_chart(rows, name)
        residuals = residual_chart(rows, *over, name).properties(title=_panel("residuals"))
        panels += [fit.properties(title=_panel("fit")), residuals]
    return panels


def fit_points(model: Model, problem: Problem) -> pd.DataFrame:
    """A row for each sample and output, evenly thinned if there are many."""
    frames = []
    for name, data in problem.parts.items():
        rows = _thin(len(data), MAX_POINTS // len(problem.parts))
        X, y = problem.inputs.undo(data.X[rows]), problem.targets.undo(data.y[rows])
        columns = {"true": y, "predicted": model.outputs(X)}
        if (half := _half_widths(model, X, columns["predicted"])) is not None:
            columns |= {"low": columns["predicted"] - half, "high": columns["predicted"] + half}
        for j in range(min(y.shape[1], MAX_TARGETS)):
            of_target = {column: values[:, j] for column, values in columns.items()}
            frames.append(pd.DataFrame({"set": name, "output": j, "x": X[:, 0], **of_target}))
    frame = pd.concat(frames, ignore_index=True)
    return frame.assign(residual=frame["true"] - frame["predicted"])


def _half_widths(model: Model, X: Array, outputs: Array) -> Array | None:
    """Of intervals around outputs (K, q), also where training saw nothing."""
    if model.error_bars is None:
        return None
    inputs, targets = model.normalised_inputs(X), model.targets(outputs)
    return model.targets.scale * model.error_bars.half_width(inputs, targets, COVERAGE)


def _marks(rows: pd.DataFrame) -> Any:
    names = [name for name in SETS if (rows["set"] == name).any()]
    scale = alt.Scale(domain=names, range=[SETS[name] for name in names])
    chart = alt.Chart(rows, width=WIDTH, height=HEIGHT).mark_circle(size=22, opacity=0.7)
    legend = alt.Legend(orient="bottom", title=None, columns=3) if len(names) > 1 else None
    return chart.encode(color=alt.Color("set:N", scale=scale, legend=legend))


def _panel(text: str) -> alt.TitleParams:
    """A title that begins where the frame of a panel does, however long the labels of its axis."""
    return alt.TitleParams(text, frame="group")


def _axis(channel: Any, field: str, title: str, **scale: Any) -> Any:
    axis = alt.Axis(labelSeparation=SEPARATION, labelFlush=FLUSH)
    return channel(f"{field}:Q", title=title, scale=alt.Scale(zero=False, **scale), axis=axis)


_x, _y = partial(_axis, alt.X), partial(_axis, alt.Y)


def predicted_chart(rows: pd.DataFrame, name: str) -> Any:
    """Predicted over true values; all would be on the line if all were right."""
    x, y = _x("true", f"true {name}"), _y("predicted", f"predicted {name}")
    both = rows[["true", "predicted"]].to_numpy()
    ends = pd.DataFrame({side: [both.min(), both.max()] for side in ("true", "predicted")})
    layers = [alt.Chart(ends).mark_line(color=GREY, strokeDash=[4, 3]).encode(x=x, y=y)]
    if "low" in rows:
        bars = alt.Chart(rows).mark_rule(color=GREY, opacity=0.3)
        layers.append(bars.encode(x=x, y="low:Q", y2="high:Q"))
    return alt.layer(*layers, _marks(rows).encode(x=x, y=y))


def _curve(model: Model, rows: pd.DataFrame, output: int, x_name: str, name: str) -> Any:
    """The only input with the network's curve through the samples."""
    at = np.linspace(rows["x"].min(), rows["x"].max(), N_CURVE)
    outputs = model.outputs(at[:, None])
    curve = pd.DataFrame({"x": at, "true": outputs[:, output]})
    x, y = _x("x", x_name), _y("true", name)
    line = alt.Chart(curve).mark_line(color=CURVE, strokeWidth=2).encode(x=x, y=y)
    layers = [_marks(rows).encode(x=x, y=y), line]
    if (half := _half_widths(model, at[:, None], outputs)) is not None:
        low, high = ((outputs + sign * half)[:, output] for sign in (-1, 1))
        band = alt.Chart(curve.assign(low=low, high=high)).mark_area(color=CURVE, opacity=0.2)
        layers.insert(0, band.encode(x=x, y="low:Q", y2="high:Q"))
    return alt.layer(*layers)


def residual_chart(rows: pd.DataFrame, field: str, title: str, name: str) -> Any:
    """True minus predicted values."""
    zero = alt.Chart(pd.DataFrame({"residual": [0.0]})).mark_rule(color=GREY, strokeDash=[4, 3])
    y = _y("residual", f"{name}: true - predicted")
    return alt.layer(zero.encode(y=y), _marks(rows).encode(x=_x(field, title), y=y))


def confusion_chart(model: Model, problem: Problem) -> Any:
    """Shares of each true class by predicted class, on the last set there is."""
    data = list(problem.parts.values())[-1]
    predicted = model.outputs(problem.inputs.undo(data.X)).argmax(axis=1)
    counts = np.zeros((len(model.classes), len(model.classes)), dtype=int)
    np.add.at(counts, (data.y.argmax(axis=1), predicted), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    labels = [str(label) for label in model.classes[:MAX_CLASSES]]
    cells = [
        {"true": a, "predicted": b, "share": shares[i, j], "count": int(counts[i, j])}
        for i, a in enumerate(labels)
        for j, b in enumerate(labels)
    ]
    side = max(160, min(28 * len(labels), 420))
    base = alt.Chart(pd.DataFrame(cells), width=side, height=side).encode(
        x=alt.X("predicted:N", sort=labels, axis=alt.Axis(labelAngle=-40, labelOverlap=False)),
        y=alt.Y("true:N", sort=labels, axis=alt.Axis(labelOverlap=False)),
    )
    color = alt.Color("share:Q", scale=alt.Scale(scheme="blues", domain=[0, 1]), legend=None)
    ink = alt.condition("datum.share > 0.5", alt.value("white"), alt.value("#333333"))
    text = base.mark_text(fontSize=11).encode(text="count:Q", color=ink)
    return alt.layer(base.mark_rect().encode(color=color), text).resolve_scale(color="independent")


def _mesh(X: Array, n: int) -> Array:
    """Points of a grid over two inputs, (n^2, 2), row by row."""
    sides = [np.linspace(low, high, n) for low, high in zip(X.min(0), X.max(0), strict=True)]
    return np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)


def _points(frame: pd.DataFrame, inputs: Sequence[str], size: int) -> Any:
    """Points over two inputs, x and z."""
    mark = alt.Chart(frame, width=SIDE, height=SIDE).mark_point(filled=True, size=size, opacity=1)
    return mark.encode(x=_x("x", inputs[0], nice=False), y=_y("z", inputs[1], nice=False))


def _fields(X: Array, y: Array, model: Model | None, inputs: Sequence[str], name: str) -> Any:
    """The target over two inputs as colour: as it is, and as the network has it."""
    mesh = _mesh(X, GRID)
    fitted = model.outputs(mesh)[:, 0] if model else y[:, 0]
    domain = [float(min(y.min(), fitted.min())), float(max(y.max(), fitted.max()))]
    legend = alt.Legend(title=name, gradientLength=120, orient="bottom")
    color = alt.Color("y:Q", scale=alt.Scale(scheme="viridis", domain=domain), legend=legend)
    points = _points(_rounded(x=X[:, 0], z=X[:, 1], y=y[:, 0]), inputs, 14).encode(color=color)
    if model is None:
        return points
    half = 1.04 * np.ptp(mesh, axis=0) / (GRID - 1) / 2  # a little larger, to leave no gaps
    (x, z), (x2, z2) = (mesh - half).T, (mesh + half).T
    cells = alt.Chart(_rounded(x=x, x2=x2, z=z, z2=z2, y=fitted)).mark_rect()
    height = _y("z", inputs[1], nice=False).axis(None)
    field = cells.encode(x=points.encoding.x, x2="x2:Q", y=height, y2="z2:Q", color=color)
    pair = {"data": points, "network": field}
    panels = [one.properties(title=name, width=HALF, height=HALF) for name, one in pair.items()]
    return alt.hconcat(*panels, spacing=10)


def _classes(
    problem: Problem, X: Array, y: Array, model: Model | None, inputs: Sequence[str]
) -> Any:
    """Points over two inputs by class, on the regions that the network gives to each."""
    labels, second = [str(label) for label in problem.classes], min(1, X.shape[1] - 1)
    frame = _rounded(x=X[:, 0], z=X[:, second])
    frame["class"] = np.array(labels)[y[frame.index].argmax(axis=1)]
    colors = [CLASS_COLORS[i % len(CLASS_COLORS)] for i in range(len(labels))]
    color = alt.Color("class:N", scale=alt.Scale(domain=labels, range=colors))
    dots = _points(frame, (inputs[0], inputs[second]), 20)
    dots = dots.encode(color=color, shape=alt.Shape("class:N", legend=None))
    if model is None:
        return dots
    area = alt.Chart(_stripes(model, X, labels)).mark_rect(opacity=1, fillOpacity=0.25)
    x, y_ = dots.encoding.x, dots.encoding.y
    area = area.encode(x=x, x2="x2:Q", y=y_, y2="z2:Q", color=color)
    return alt.layer(area, dots).properties(width=SIDE, height=SIDE)


def _stripes(model: Model, X: Array, labels: list[str]) -> pd.DataFrame:
    """The regions of classes as rectangles, each as long as the class stays the same."""
    mesh = _mesh(X, ROWS)
    winners = model.outputs(mesh).argmax(axis=1).reshape(ROWS, ROWS)
    columns, rows = mesh[:ROWS, 0], mesh[::ROWS, 1]
    width, height = columns[1] - columns[0], rows[1] - rows[0]
    stripes = []
    for z, line in zip(rows, winners, strict=True):
        starts = np.flatnonzero(np.diff(line, prepend=-1))
        for a, b in pairwise([*starts, ROWS]):
            ends = columns[a] - width / 2, columns[b - 1] + width / 2
            stripes.append((*ends, z - height / 2, z + height / 2, labels[line[a]]))
    return pd.DataFrame(stripes, columns=["x", "x2", "z", "z2", "class"]).round(4)


def _views(sets: dict[str, Array], names: list[str]) -> Any:
    """Points over the first two inputs: the data's, and the network's."""
    points = np.concatenate([*sets.values()])
    frame = _rounded(x=points[:, 0], z=points[:, 1])
    frame["what"] = np.repeat([*sets], len(points) // len(sets))[frame.index]
    legend = alt.Legend() if len(sets) > 1 else None
    colors = [GREY, FITTED][-len(sets) :]
    color = alt.Color("what:N", legend=legend).scale(domain=[*sets], range=colors)
    return _points(frame, names, 10).encode(color=color)
