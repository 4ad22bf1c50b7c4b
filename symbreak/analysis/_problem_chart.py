"""A picture of a problem's data."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from symbreak._support.checks import check_kind
from symbreak.problems import Dataset, Problem

WIDTH, HEIGHT = 320, 240
INK = "#0072b2"


def problem_chart(problem: Problem) -> alt.TopLevelMixin:
    """Draw the training data: targets over inputs, points by class, or digits as strokes."""
    check_kind("problem", problem, Problem, "as load_problem makes")
    data = Dataset(problem.inputs.undo(problem.train.X), problem.targets.undo(problem.train.y))
    chart: Any
    if problem.name == "digits":
        chart = _strokes(problem, data)
    elif problem.task == "classification":
        chart = _classes(problem, data)
    elif problem.task == "autoencoding":
        chart = _points(data)
    else:
        chart = _function(data)
    title = alt.TitleParams(problem.name, subtitle=problem.description, anchor="start")
    titled: alt.TopLevelMixin = chart.properties(title=title)
    return titled


def _function(data: Dataset) -> alt.Chart | alt.HConcatChart:
    """The target over the only input, over two as colour, or over the distance from 0."""
    frame = pd.DataFrame({"y": data.y[:, 0]})
    if data.X.shape[1] == 2:
        frame["x1"], frame["x2"] = data.X.T
        color = alt.Color("y:Q", scale=alt.Scale(scheme="viridis"))
        mark = alt.Chart(frame, width=WIDTH, height=HEIGHT).mark_circle(size=30, opacity=1)
        return mark.encode(x="x1:Q", y="x2:Q", color=color)
    name = "x" if data.X.shape[1] == 1 else "|x|"
    frame[name] = data.X[:, 0] if name == "x" else np.linalg.norm(data.X, axis=1)
    mark = alt.Chart(frame, width=WIDTH, height=HEIGHT).mark_circle(size=20, color=INK, opacity=0.7)
    return mark.encode(x=f"{name}:Q", y="y:Q")


def _points(data: Dataset) -> alt.Chart | alt.HConcatChart:
    """Points in the plane, or space from two sides."""
    frame = pd.DataFrame(data.X, columns=[f"x{i + 1}" for i in range(data.X.shape[1])])
    mark = alt.Chart(frame, width=220, height=220).mark_circle(size=14, color=INK, opacity=0.6)
    sides = [("x1", "x2")] if data.X.shape[1] == 2 else [("x1", "x2"), ("x1", "x3")]
    views = [mark.encode(x=f"{a}:Q", y=f"{b}:Q") for a, b in sides]
    return alt.hconcat(*views) if len(views) > 1 else views[0]


def _classes(problem: Problem, data: Dataset) -> alt.Chart:
    """The first two inputs, by class."""
    frame = pd.DataFrame({"x1": data.X[:, 0], "x2": data.X[:, min(1, data.X.shape[1] - 1)]})
    frame["class"] = np.array([str(label) for label in problem.classes])[data.y.argmax(axis=1)]
    colors = alt.Scale(range=["#56646e", "#0072b2", "#e69f00", "#009e73", "#cc79a7"])
    mark = alt.Chart(frame, width=260, height=260).mark_point(filled=True, size=30, opacity=0.9)
    return mark.encode(
        x="x1:Q", y="x2:Q", color=alt.Color("class:N", scale=colors), shape="class:N"
    )


def _strokes(problem: Problem, data: Dataset) -> alt.FacetChart:
    """One sample of each digit: eight pen positions in order."""
    rows = []
    for digit in range(10):
        sample = data.X[np.flatnonzero(data.y[:, digit])[0]].reshape(8, 2)
        rows += [{"digit": digit, "step": i, "x": x, "y": y} for i, (x, y) in enumerate(sample)]
    hidden = alt.Axis(labels=False, ticks=False, title=None, grid=False, domain=False)
    mark = alt.Chart(pd.DataFrame(rows), width=70, height=90).mark_line(
        color=INK, strokeWidth=4, strokeCap="round", strokeJoin="round"
    )
    lines = mark.encode(x=alt.X("x:Q", axis=hidden), y=alt.Y("y:Q", axis=hidden), order="step:O")
    return lines.facet(alt.Facet("digit:O", title=None), columns=5)
