"""Pictures of data and networks: a problem, its best fit, what a training found, a network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from symbreak._support.checks import (
    Array,
    IntArray,
    check_finite,
    check_flag,
    check_kind,
    check_vectors,
)
from symbreak.analysis._style import GREY, HEIGHT, WIDTH, log_switch, styled, switched, titled
from symbreak.models import Model
from symbreak.problems import Problem

if TYPE_CHECKING:
    from symbreak.analysis._results import Fit

#: Points that a panel holds at most; others are left out evenly.
MAX_POINTS = 1_500
#: More targets, or classes, do not fit a page.
MAX_TARGETS, MAX_CLASSES = 4, 30
#: More weights than this cannot be told apart.
MAX_WEIGHTS = 3_000
#: Labels of an axis are no nearer to each other, in px; those so near to its end do not stand out,
#: or else the titles of panels were at different heights.
SEPARATION, FLUSH = 8, 6
#: Points of a curve, cells of a field along each side, and rows of the regions of classes.
N_CURVE, GRID, ROWS = 300, 32, 80
SIDE = WIDTH - 40  # of a square panel
#: Share of the targets that an interval holds.
COVERAGE = 0.9

Size = tuple[tuple[int, ...], float, float, float]  # layers, loss, standard error, ridge

SETS = {"training": "#7f868d", "validation": "#d55e00", "test": "#1a7fc1"}
CLASS_COLORS = ("#7f868d", "#1a7fc1", "#b8860b", "#009e73", "#cc79a7", "#d55e00")
#: Weights of either sign: safe for the colour-blind, on white and on black.
POSITIVE, NEGATIVE = "#1a7fc1", "#d55e00"
DATA, FITTED = GREY, "#1a7fc1"


def problem_chart(problem: Problem) -> alt.TopLevelMixin:
    """Draw the training data: targets over inputs, points by class, or digits as strokes."""
    check_kind("problem", problem, Problem, "as load_problem makes")
    X, y = problem.inputs.undo(problem.train.X), problem.targets.undo(problem.train.y)
    inputs = list(problem.feature_names) or _numbered("x", X.shape[1])
    chart: Any
    if problem.name == "digits":
        chart = _strokes(X, y)
    elif problem.task == "classification":
        labels = [str(label) for label in problem.classes]
        names = (inputs[0], inputs[min(1, len(inputs) - 1)])
        chart = _by_class(X[:, [0, min(1, X.shape[1] - 1)]], y, labels, names)
        chart = chart.properties(width=SIDE, height=SIDE)
    elif problem.task == "autoencoding" and X.shape[1] > 1:
        chart = _views(_rounded(**{f"x{i}": column for i, column in enumerate(X.T)}), inputs)
    elif X.shape[1] == 2:
        chart = _colored(X, y, (inputs[0], inputs[1]), "y")
    else:
        single = X.shape[1] == 1
        frame = _rounded(x=X[:, 0] if single else np.linalg.norm(X, axis=1), y=y[:, 0])
        mark = alt.Chart(frame, width=WIDTH, height=HEIGHT).mark_circle(size=20, color=FITTED)
        name = inputs[0] if single else "|x|"
        chart = mark.encode(x=alt.X(**_axis("x", name)), y=alt.Y(**_axis("y", "y")))
    return styled(chart.properties(title=titled(problem.name, problem.description)))


def fit_chart(fit: Fit, name: str) -> alt.TopLevelMixin:
    """The data and the fit: a curve, two fields, regions of classes, or predicted against true."""
    model, problem = fit.model, fit.problem
    n_inputs, n_outputs = model.topology.n_inputs, model.topology.n_outputs
    X, y = problem.inputs.undo(problem.train.X), problem.targets.undo(problem.train.y)
    inputs, targets = _names(model)
    chart: Any
    if model.classes:
        chart = _regions(model, X, y) if n_inputs == 2 else confusion_chart(model, problem)
    elif model.task == "autoencoding" and n_inputs > 1:
        both = np.concatenate([X, model.outputs(X)])
        frame = _rounded(**{f"x{i}": column for i, column in enumerate(both.T)})
        what = np.repeat(["data", "network"], len(X))[frame.index]
        chart = _views(frame.assign(what=what), inputs)
    elif n_inputs == 2 and n_outputs == 1:
        chart = _fields(model, X, y)
    else:
        rows = fit_points(model, problem)
        rows = rows[rows["output"] == 0]
        single = n_inputs == 1
        chart = (
            _curve(model, rows, 0, inputs[0], targets[0])
            if single
            else predicted_chart(rows, targets[0])
        )
    return styled(chart.properties(title=titled("Data and best fit", name)))


def training_chart(
    model: Model,
    problem: Problem,
    evaluations: IntArray,
    errors: Array,
    *,
    with_ridge: bool | None = None,
    size_path: Sequence[Size] = (),
) -> alt.TopLevelMixin:
    """Draw a model beside its data, and the errors of the run that found it.

    Regression: predicted over true values, or the curve if there is one input, and residuals.
    Classification: how often which class was taken for which. All in the units of the data.

    Args:
        model: The network.
        problem: What it was trained on.
        evaluations: When the error of the run improved.
        errors: To what.
        with_ridge: Whether the ridge is in them, as in those of a record; by default if the
            problem has one.
        size_path: What was tried where the size was chosen, as in a record.
    """
    check_kind("model", model, Model, "such as record.model")
    check_kind("problem", problem, Problem, "as load_problem makes")
    curve = _check_curve(evaluations, errors)
    ridge = problem.ridge.alpha > 0 if with_ridge is None else check_flag("with_ridge", with_ridge)
    panels = _fits(model, problem)
    if model.classes:
        name = list(problem.parts)[-1]
        panels = [
            confusion_chart(model, problem).properties(title=_panel(f"classes of the {name} set"))
        ]
    columns = 3 if len(panels) < 3 else 2  # several targets stand below each other
    # cross-entropy, which makes probabilities, comes after the search and is another error
    name = "error of the search" if model.output == "softmax" else "error"
    last = _convergence(*curve, f"{name} with its ridge" if ridge else name)
    sizes = [_sizes(size_path)] if size_path else []
    chart = alt.concat(*panels, *sizes, last, columns=columns)
    heading = alt.TitleParams(
        problem.name, subtitle=f"{model.topology} network, {model.task}", anchor="start", offset=12
    )
    return styled(chart.properties(title=heading))


def _sizes(path: Sequence[Size]) -> Any:
    """Loss over sizes, in their order, with a standard error to either side."""
    frame = pd.DataFrame(
        {
            "neurons": ["-".join(map(str, hidden)) for hidden, *_ in path],
            "loss": [loss for _, loss, *_ in path],
            "low": [loss - error for _, loss, error, _ in path],
            "high": [loss + error for _, loss, error, _ in path],
        }
    )
    x = alt.X("neurons:N", title="hidden neurons", sort=None, axis=alt.Axis(labelAngle=0))
    base = alt.Chart(frame, width=WIDTH, height=HEIGHT).encode(x=x)
    title = "loss of samples not shown"
    bars = base.mark_rule(color=FITTED).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
    points = base.mark_circle(size=40, color=FITTED).encode(y="loss:Q")
    return alt.layer(bars, points).properties(title=_panel("how many hidden neurons?"))


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


def _check_curve(evaluations: ArrayLike, errors: ArrayLike) -> tuple[Array, Array]:
    """Two vectors of equal length, with at least one entry."""
    at = check_vectors(evaluations, "(n,)", "evaluations")
    values = check_vectors(errors, "(n,)", "errors")
    if at.ndim != 1 or at.shape != values.shape or not len(at):
        raise ValueError(
            "evaluations and errors must be vectors of one length, at least 1, got shapes "
            f"{at.shape} and {values.shape}."
        )
    check_finite("evaluations", at)
    return at, values


def _numbered(letter: str, n: int) -> list[str]:
    return [letter] if n == 1 else [f"{letter}{i + 1}" for i in range(n)]


def _names(model: Model) -> tuple[list[str], list[str]]:
    """Titles for inputs and targets: their names, or letters."""
    inputs = list(model.feature_names) or _numbered("x", model.topology.n_inputs)
    return inputs, list(model.target_names) or _numbered("y", model.topology.n_outputs)


def _rounded(**columns: Any) -> pd.DataFrame:
    """A frame of few digits, evenly thinned if it is long."""
    frame = pd.DataFrame(columns).iloc[_thin(len(next(iter(columns.values()))))]
    return frame.map(lambda value: float(f"{value:.4g}"))


def _thin(n: int, most: int = MAX_POINTS) -> IntArray:
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))


def _fits(model: Model, problem: Problem) -> list[Any]:
    """Two panels for each target."""
    frame, ((x_name, *_), targets) = fit_points(model, problem), _names(model)
    panels: list[Any] = []
    for j, name in enumerate(targets[:MAX_TARGETS]):
        rows = frame[frame["output"] == j]
        if model.topology.n_inputs == 1:
            panels.append(_curve(model, rows, j, x_name, name).properties(title=_panel("fit")))
            panels.append(residual_chart(rows, "x", x_name, name))
        else:
            panels.append(predicted_chart(rows, name).properties(title=_panel("fit")))
            panels.append(residual_chart(rows, "predicted", f"predicted {name}", name))
    return panels


def fit_points(model: Model, problem: Problem) -> pd.DataFrame:
    """A row for each sample and output, evenly thinned if there are many."""
    frames = []
    n = MAX_POINTS // len(problem.parts)
    for name, data in problem.parts.items():
        rows = _thin(len(data), n)
        X, y = problem.inputs.undo(data.X[rows]), problem.targets.undo(data.y[rows])
        outputs = model.outputs(X)
        half = _half_widths(model, X, outputs)
        for j in range(min(y.shape[1], MAX_TARGETS)):
            columns = {"x": X[:, 0], "true": y[:, j], "predicted": outputs[:, j]}
            if half is not None:
                columns |= {"low": (outputs - half)[:, j], "high": (outputs + half)[:, j]}
            frames.append(pd.DataFrame({"set": name, "output": j, **columns}))
    frame = pd.concat(frames, ignore_index=True)
    frame["residual"] = frame["true"] - frame["predicted"]
    return frame


def _half_widths(model: Model, X: Array, outputs: Array) -> Array | None:
    """Of intervals around outputs (K, q), also where training saw nothing."""
    if model.error_bars is None:
        return None
    inputs = model.normalised_inputs(X)
    return model.targets.scale * model.error_bars.half_width(
        inputs, model.targets(outputs), COVERAGE
    )


def _marks(rows: pd.DataFrame) -> Any:
    names = [name for name in SETS if (rows["set"] == name).any()]
    scale = alt.Scale(domain=names, range=[SETS[name] for name in names])
    chart = alt.Chart(rows, width=WIDTH, height=HEIGHT).mark_circle(size=22, opacity=0.7)
    legend = alt.Legend(orient="bottom", title=None, columns=3) if len(names) > 1 else None
    return chart.encode(color=alt.Color("set:N", scale=scale, legend=legend))


def _panel(text: str) -> alt.TitleParams:
    """A title that begins where the frame of a panel does, however long the labels of its axis."""
    return alt.TitleParams(text, frame="group")


def _axis(field: str, title: str, **scale: Any) -> dict[str, Any]:
    axis = alt.Axis(labelSeparation=SEPARATION, labelFlush=FLUSH)
    scaled = alt.Scale(zero=False, **scale)
    return {"shorthand": f"{field}:Q", "title": title, "scale": scaled, "axis": axis}


def predicted_chart(rows: pd.DataFrame, name: str) -> Any:
    """Predicted over true values; all would be on the line if all were right."""
    both = np.concatenate([rows["true"], rows["predicted"]])
    ends = pd.DataFrame({"true": [both.min(), both.max()], "predicted": [both.min(), both.max()]})
    line = alt.Chart(ends).mark_line(color=GREY, strokeDash=[4, 3])
    axes = {
        "x": alt.X(**_axis("true", f"true {name}")),
        "y": alt.Y(**_axis("predicted", f"predicted {name}")),
    }
    layers = [line.encode(**axes), _marks(rows).encode(**axes)]
    if "low" in rows:
        bars = alt.Chart(rows).mark_rule(color=GREY, opacity=0.3)
        layers.insert(1, bars.encode(axes["x"], alt.Y("low:Q"), alt.Y2("high:Q")))
    return alt.layer(*layers)


def _curve(model: Model, rows: pd.DataFrame, output: int, x_name: str, name: str) -> Any:
    """The only input with the network's curve through the samples."""
    x = np.linspace(rows["x"].min(), rows["x"].max(), N_CURVE)
    outputs = model.outputs(x[:, None])
    curve, half = pd.DataFrame({"x": x, "true": outputs[:, output]}), None
    if (widths := _half_widths(model, x[:, None], outputs)) is not None:
        half = widths[:, output]
    axes = {"x": alt.X(**_axis("x", x_name)), "y": alt.Y(**_axis("true", name))}
    line = alt.Chart(curve).mark_line(color="#009e73", strokeWidth=2).encode(**axes)
    layers = [_marks(rows).encode(**axes), line]
    if half is not None:
        ends = curve.assign(low=curve["true"] - half, high=curve["true"] + half)
        band = alt.Chart(ends).mark_area(color="#009e73", opacity=0.2)
        layers.insert(0, band.encode(x=axes["x"], y=alt.Y("low:Q"), y2="high:Q"))
    return alt.layer(*layers)


def residual_chart(rows: pd.DataFrame, field: str, title: str, name: str) -> Any:
    """True minus predicted values."""
    zero = alt.Chart(pd.DataFrame({"residual": [0.0]})).mark_rule(color=GREY, strokeDash=[4, 3])
    y = alt.Y(**_axis("residual", f"{name}: true - predicted"))
    points = _marks(rows).encode(x=alt.X(**_axis(field, title)), y=y)
    return alt.layer(zero.encode(y=y), points).properties(title=_panel("residuals"))


def confusion_chart(model: Model, problem: Problem) -> Any:
    """Shares of each true class by predicted class, on the last set there is."""
    data = list(problem.parts.values())[-1]
    predicted = model.outputs(problem.inputs.undo(data.X)).argmax(axis=1)
    true = data.y.argmax(axis=1)
    labels = [str(label)[:30] for label in model.classes[:MAX_CLASSES]]
    counts = np.zeros((len(model.classes), len(model.classes)))
    np.add.at(counts, (true, predicted), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    cells = [
        {"true": a, "predicted": b, "share": shares[i, j], "count": int(counts[i, j])}
        for i, a in enumerate(labels)
        for j, b in enumerate(labels)
    ]
    side = max(160, min(28 * len(labels), 420))
    base = alt.Chart(pd.DataFrame(cells), width=side, height=side).encode(
        x=alt.X("predicted:N", sort=labels, axis=alt.Axis(labelAngle=-40)),
        y=alt.Y("true:N", sort=labels),
    )
    color = alt.Color("share:Q", scale=alt.Scale(scheme="blues", domain=[0, 1]), legend=None)
    ink = alt.condition("datum.share > 0.5", alt.value("white"), alt.value("#333333"))
    text = base.mark_text(fontSize=11).encode(text="count:Q", color=ink)
    return alt.layer(base.mark_rect().encode(color=color), text).resolve_scale(color="independent")


def _convergence(evaluations: Array, errors: Array, name: str) -> Any:
    """Best error over evaluations."""
    rows = _thin(len(errors))
    frame = pd.DataFrame({"evaluations": evaluations[rows], "error": errors[rows]})
    frame = frame[np.isfinite(frame["error"])]
    mark = alt.Chart(frame, width=WIDTH, height=HEIGHT, title=_panel("convergence")).mark_line(
        interpolate="step-after", color=SETS["test"], strokeWidth=2
    )
    expression = "datum.value ? format(datum.value, '~s') : '0'"
    labels = alt.Axis(labelExpr=expression, labelSeparation=SEPARATION)
    x = alt.X("evaluations:Q", title="evaluations", axis=labels)
    y = alt.Y("error:Q", title=name, **switched(frame["error"].to_numpy(), labelFlush=FLUSH))
    return mark.encode(x=x, y=y).add_params(log_switch("error "))


def _mesh(X: Array, n: int) -> Array:
    """Points of a grid over two inputs, (n^2, 2), row by row."""
    sides = [np.linspace(low, high, n) for low, high in zip(X.min(0), X.max(0), strict=True)]
    return np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)


def _colored(X: Array, y: Array, names: tuple[str, str], title: str, **scale: Any) -> Any:
    """The target over two inputs as colour."""
    legend = alt.Legend(title=title, gradientLength=120, orient="bottom")
    color = alt.Color("y:Q", scale=alt.Scale(scheme="viridis", **scale), legend=legend)
    frame = _rounded(x=X[:, 0], z=X[:, 1], y=y[:, 0])
    mark = alt.Chart(frame, width=SIDE, height=SIDE).mark_point(filled=True, size=14, opacity=1)
    a, b = (_axis(field, name, nice=False) for field, name in zip("xz", names, strict=True))
    return mark.encode(x=alt.X(**a), y=alt.Y(**b), color=color)


def _fields(model: Model, X: Array, y: Array) -> Any:
    """The target over two inputs: as it is, and as the network has it."""
    (a, b), (y_name, *_) = _names(model)
    mesh = _mesh(X, GRID)
    fitted = model.outputs(mesh)[:, 0]
    domain = [float(min(y.min(), fitted.min())), float(max(y.max(), fitted.max()))]
    points = _colored(X, y, (a, b), y_name, domain=domain)
    half = 1.04 * np.ptp(mesh, axis=0) / (GRID - 1) / 2  # a little larger, to leave no gaps
    (x, z), (x2, z2) = (mesh - half).T, (mesh + half).T
    cells = alt.Chart(_rounded(x=x, x2=x2, z=z, z2=z2, y=fitted)).mark_rect()
    height = alt.Y(**_axis("z", b, nice=False)).axis(None)
    color = points.encoding.color
    field = cells.encode(x=points.encoding.x, x2="x2:Q", y=height, y2="z2:Q", color=color)
    side = WIDTH // 2 - 10
    pair = {"data": points, "network": field}
    panels = [one.properties(title=name, width=side, height=side) for name, one in pair.items()]
    return alt.hconcat(*panels, spacing=10)


def _by_class(X: Array, y: Array, labels: list[str], names: tuple[str, str]) -> Any:
    """Points over two inputs, by class."""
    frame = _rounded(x=X[:, 0], z=X[:, 1])
    frame["class"] = np.array(labels)[y[frame.index].argmax(axis=1)]
    colors = [CLASS_COLORS[i % len(CLASS_COLORS)] for i in range(len(labels))]
    color = alt.Color("class:N", scale=alt.Scale(domain=labels, range=colors))
    a, b = (_axis(field, name, nice=False) for field, name in zip("xz", names, strict=True))
    dots = alt.Chart(frame).mark_point(filled=True, size=20, opacity=1)
    shape = alt.Shape("class:N", legend=None)
    return dots.encode(x=alt.X(**a), y=alt.Y(**b), color=color, shape=shape)


def _regions(model: Model, X: Array, y: Array) -> Any:
    """Points by class on the regions that the network gives to each."""
    (a, b), _ = _names(model)
    labels = [str(label) for label in model.classes]
    dots = _by_class(X, y, labels, (a, b))
    encoding = dots.encoding
    area = alt.Chart(_stripes(model, X, labels)).mark_rect(opacity=1, fillOpacity=0.25)
    area = area.encode(x=encoding.x, x2="x2:Q", y=encoding.y, y2="z2:Q", color=encoding.color)
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
            stripes.append((columns[a], columns[b - 1] + width, z, labels[line[a]]))
    frame = pd.DataFrame(stripes, columns=["x", "x2", "z", "class"])
    frame = frame.assign(z2=frame["z"] + height / 2, z=frame["z"] - height / 2)
    return frame.assign(x=frame["x"] - width / 2, x2=frame["x2"] - width / 2).round(4)


def _views(frame: pd.DataFrame, names: list[str]) -> Any:
    """Points in the plane, or space from two sides; by ``what`` they are, if that is said."""
    sides = [(0, 1)] if len(names) == 2 else [(0, 1), (0, 2)]
    width = SIDE if len(sides) == 1 else WIDTH // 2 - 10
    mark = alt.Chart(frame, width=width, height=width).mark_point(
        filled=True, size=10, opacity=1, fillOpacity=0.7, color=FITTED
    )
    if "what" in frame:
        scale = alt.Scale(domain=["data", "network"], range=[DATA, FITTED])
        mark = mark.encode(color=alt.Color("what:N", scale=scale))
    views = [
        mark.encode(x=alt.X(**_axis(f"x{i}", names[i])), y=alt.Y(**_axis(f"x{j}", names[j])))
        for i, j in sides
    ]
    return views[0] if len(views) == 1 else alt.hconcat(*views, spacing=10)


def _strokes(X: Array, y: Array) -> Any:
    """One sample of each digit: eight pen positions in order."""
    rows = []
    for digit in range(10):
        sample = X[np.flatnonzero(y[:, digit])[0]].reshape(8, 2)
        rows += [{"digit": digit, "step": i, "x": a, "y": b} for i, (a, b) in enumerate(sample)]
    hidden = alt.Axis(labels=False, ticks=False, title=None, grid=False, domain=False)
    mark = alt.Chart(pd.DataFrame(rows), width=70, height=90).mark_line(
        color=FITTED, strokeWidth=4, strokeCap="round", strokeJoin="round"
    )
    lines = mark.encode(x=alt.X("x:Q", axis=hidden), y=alt.Y("y:Q", axis=hidden), order="step:O")
    return lines.facet(alt.Facet("digit:O", title=None), columns=5)


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
