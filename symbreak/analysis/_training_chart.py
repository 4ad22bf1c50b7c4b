"""A picture of what a training found: fit, residuals and convergence."""

from __future__ import annotations

from typing import Any

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
from symbreak.analysis._style import GREY, HEIGHT, WIDTH, log_switch, styled, switched
from symbreak.models import Model
from symbreak.problems import Problem

#: More points would hide each other; a browser would not like them either.
MAX_POINTS = 1_500
#: More targets, or classes, do not fit a page.
MAX_TARGETS, MAX_CLASSES = 4, 30
#: Labels of an axis are no nearer to each other, in px; those so near to its end do not stand out,
#: or else the titles of panels were at different heights.
SEPARATION, FLUSH = 8, 6
#: Points of a curve.
N_CURVE = 300

SETS = {"training": "#7f868d", "validation": "#d55e00", "test": "#1a7fc1"}


def training_chart(
    model: Model,
    problem: Problem,
    evaluations: IntArray,
    errors: Array,
    *,
    with_ridge: bool | None = None,
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
    """
    check_kind("model", model, Model, "such as record.model")
    check_kind("problem", problem, Problem, "as load_problem makes")
    curve = _check_curve(evaluations, errors)
    ridge = problem.ridge > 0 if with_ridge is None else check_flag("with_ridge", with_ridge)
    panels = [_confusion(model, problem)] if model.classes else _fits(model, problem)
    columns = 3 if len(panels) < 3 else 2  # several targets stand below each other
    # cross-entropy, which makes probabilities, comes after the search and is another error
    name = "error of the search" if model.output == "softmax" else "error"
    last = _convergence(*curve, f"{name} with its ridge" if ridge else name)
    chart = alt.concat(*panels, last, columns=columns)
    title = alt.TitleParams(
        problem.name, subtitle=f"{model.topology} network, {model.task}", anchor="start", offset=12
    )
    return styled(chart.properties(title=title))


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


def _fits(model: Model, problem: Problem) -> list[Any]:
    """Two panels for each target."""
    frame = _points(model, problem)
    x_name = model.feature_names[0] if model.feature_names else "x"
    panels: list[Any] = []
    for j in range(min(model.topology.n_outputs, MAX_TARGETS)):
        name = model.target_names[j] if model.target_names else f"y{j + 1}"
        rows = frame[frame["output"] == j]
        if model.topology.n_inputs == 1:
            panels += [_curve(model, rows, j, x_name, name), _residuals(rows, "x", x_name, name)]
        else:
            predicted = f"predicted {name}"
            panels += [_predicted(rows, name), _residuals(rows, "predicted", predicted, name)]
    return panels


def _points(model: Model, problem: Problem) -> pd.DataFrame:
    """A row for each sample and output, evenly thinned if there are many."""
    frames = []
    n = MAX_POINTS // len(problem.parts)
    for name, data in problem.parts.items():
        rows = np.unique(np.linspace(0, len(data) - 1, min(len(data), n)).astype(int))
        X, y = problem.inputs.undo(data.X[rows]), problem.targets.undo(data.y[rows])
        outputs = model.outputs(X)
        for j in range(min(y.shape[1], MAX_TARGETS)):
            columns = {"x": X[:, 0], "true": y[:, j], "predicted": outputs[:, j]}
            frames.append(pd.DataFrame({"set": name, "output": j, **columns}))
    frame = pd.concat(frames, ignore_index=True)
    frame["residual"] = frame["true"] - frame["predicted"]
    return frame


def _marks(rows: pd.DataFrame) -> Any:
    names = [name for name in SETS if (rows["set"] == name).any()]
    scale = alt.Scale(domain=names, range=[SETS[name] for name in names])
    chart = alt.Chart(rows, width=WIDTH, height=HEIGHT).mark_circle(size=22, opacity=0.7)
    legend = alt.Legend(orient="bottom", title=None, columns=3) if len(names) > 1 else None
    return chart.encode(color=alt.Color("set:N", scale=scale, legend=legend))


def _titled(text: str) -> alt.TitleParams:
    """A title that begins where the frame of a panel does, however long the labels of its axis."""
    return alt.TitleParams(text, frame="group")


def _axis(field: str, title: str) -> dict[str, Any]:
    axis = alt.Axis(labelSeparation=SEPARATION, labelFlush=FLUSH)
    return {"shorthand": f"{field}:Q", "title": title, "scale": alt.Scale(zero=False), "axis": axis}


def _predicted(rows: pd.DataFrame, name: str) -> Any:
    """Predicted over true values; all would be on the line if all were right."""
    both = np.concatenate([rows["true"], rows["predicted"]])
    ends = pd.DataFrame({"true": [both.min(), both.max()], "predicted": [both.min(), both.max()]})
    line = alt.Chart(ends).mark_line(color=GREY, strokeDash=[4, 3])
    axes = {
        "x": alt.X(**_axis("true", f"true {name}")),
        "y": alt.Y(**_axis("predicted", f"predicted {name}")),
    }
    return alt.layer(line.encode(**axes), _marks(rows).encode(**axes)).properties(
        title=_titled("fit")
    )


def _curve(model: Model, rows: pd.DataFrame, output: int, x_name: str, name: str) -> Any:
    """The only input with the network's curve through the samples."""
    x = np.linspace(rows["x"].min(), rows["x"].max(), N_CURVE)
    curve = pd.DataFrame({"x": x, "true": model.outputs(x[:, None])[:, output]})
    axes = {"x": alt.X(**_axis("x", x_name)), "y": alt.Y(**_axis("true", name))}
    line = alt.Chart(curve).mark_line(color="#009e73", strokeWidth=2).encode(**axes)
    return alt.layer(_marks(rows).encode(**axes), line).properties(title=_titled("fit"))


def _residuals(rows: pd.DataFrame, field: str, title: str, name: str) -> Any:
    """True minus predicted values."""
    zero = alt.Chart(pd.DataFrame({"residual": [0.0]})).mark_rule(color=GREY, strokeDash=[4, 3])
    y = alt.Y(**_axis("residual", f"{name}: true - predicted"))
    points = _marks(rows).encode(x=alt.X(**_axis(field, title)), y=y)
    return alt.layer(zero.encode(y=y), points).properties(title=_titled("residuals"))


def _confusion(model: Model, problem: Problem) -> Any:
    """Shares of each true class by predicted class, on the last set there is."""
    name, data = list(problem.parts.items())[-1]
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
    title = _titled(f"classes of the {name} set")
    base = alt.Chart(pd.DataFrame(cells), width=side, height=side, title=title).encode(
        x=alt.X("predicted:N", sort=labels, axis=alt.Axis(labelAngle=-40)),
        y=alt.Y("true:N", sort=labels),
    )
    color = alt.Color("share:Q", scale=alt.Scale(scheme="blues", domain=[0, 1]), legend=None)
    ink = alt.condition("datum.share > 0.5", alt.value("white"), alt.value("#333333"))
    text = base.mark_text(fontSize=11).encode(text="count:Q", color=ink)
    return alt.layer(base.mark_rect().encode(color=color), text).resolve_scale(color="independent")


def _convergence(evaluations: Array, errors: Array, name: str) -> Any:
    """Best error over evaluations."""
    rows = np.unique(np.linspace(0, len(errors) - 1, min(len(errors), MAX_POINTS)).astype(int))
    frame = pd.DataFrame({"evaluations": evaluations[rows], "error": errors[rows]})
    frame = frame[np.isfinite(frame["error"])]
    mark = alt.Chart(frame, width=WIDTH, height=HEIGHT, title=_titled("convergence")).mark_line(
        interpolate="step-after", color=SETS["test"], strokeWidth=2
    )
    expression = "datum.value ? format(datum.value, '~s') : '0'"
    labels = alt.Axis(labelExpr=expression, labelSeparation=SEPARATION)
    x = alt.X("evaluations:Q", title="evaluations", axis=labels)
    y = alt.Y("error:Q", title=name, **switched(frame["error"].to_numpy(), labelFlush=FLUSH))
    return mark.encode(x=x, y=y).add_params(log_switch("error "))
