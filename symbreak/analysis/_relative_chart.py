"""All methods on all problems in one picture: how far each stays from the best of all."""

from __future__ import annotations

import json
from collections.abc import Iterable
from textwrap import wrap
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from symbreak.analysis._arguments import check_frame, check_lineup
from symbreak.analysis._lineup import Lineup
from symbreak.analysis._style import (
    FONT_SIZE,
    GREY,
    ROLE_LOOKS,
    VARIANT_LOOKS,
    WIDTH,
    log_ticks,
    nothing_yet,
    styled,
    titled,
)

#: Roles in words that need no paper, in the order of the legend.
ROLE_WORDS = {
    "plain": "no breaking",
    "invariant": "fixed rules",
    "proximity": "towards the optimum",
    "exhaustive": "nearest of all replicas",
    "variant": "other variants",
}
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")
#: Longer names of problems are wrapped: characters of a line, and at most so many lines.
LABEL_WIDTH, LABEL_LINES = 18, 8
LINE_HEIGHT = FONT_SIZE + 2  # Vega's


def relative_chart(summary_frame: pd.DataFrame, lineup: Lineup) -> alt.TopLevelMixin:
    """Mean errors as multiples of the smallest on the problem: a row per problem, 1 is the best.

    Colours are roles and shapes are families, so that families compare too.

    Args:
        summary_frame: Columns problem, family, method, mean.
        lineup: The methods with their roles.
    """
    check_lineup(lineup)
    check_frame("summary_frame", summary_frame, ("problem", "family", "method"), ("mean",))
    title = titled("How far is each method from the best?", "mean errors")
    data = _multiples(summary_frame, lineup)
    if data.empty:
        return nothing_yet(title)
    families = [family for family in lineup.families if family in set(data["family"])]
    roles = [words for words in ROLE_WORDS.values() if words in set(data["breaking"])]
    looks = [*ROLE_LOOKS.values(), VARIANT_LOOKS[0]]
    colors = dict(zip(ROLE_WORDS.values(), (look.color for look in looks), strict=True))
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(families))]
    legend = alt.Legend(orient="top", symbolFillColor=GREY, columns=4)
    color_legend = alt.Legend(columns=2)
    ticks = log_ticks(1, max(2.0, float(data["multiple"].max())))
    scale = alt.Scale(type="log", domain=[0.95, 1.1 * max(2.0, float(data["multiple"].max()))])
    axis, step = _problem_axis(data["problem"], len(families))
    chart = alt.Chart(data, width=WIDTH, height=step).mark_point(
        filled=True, size=60, opacity=1, fillOpacity=0.85, stroke=GREY, strokeWidth=0.5
    )
    encoded = chart.encode(
        x=alt.X("multiple:Q", title="times the smallest mean error", scale=scale).axis(
            values=ticks, format="~r"
        ),
        y=alt.Y("problem:N", sort=list(dict.fromkeys(data["problem"])), axis=axis),
        yOffset=alt.YOffset("family:N", sort=families, scale=alt.Scale(paddingOuter=0.2)),
        color=alt.Color(
            "breaking:N",
            scale=alt.Scale(domain=roles, range=[colors[name] for name in roles]),
            legend=color_legend,
        ),
        shape=alt.Shape("family:N", scale=alt.Scale(domain=families, range=shapes), legend=legend),
        tooltip=[
            *("problem:N", "method:N", alt.Tooltip("mean:Q", title="mean error", format=".4g")),
            alt.Tooltip("multiple:Q", title="times the smallest", format=".3g"),
        ],
    )
    return styled(encoded.properties(title=title))


def _problem_axis(names: Iterable[str], n_families: int) -> tuple[alt.Axis, alt.Step]:
    """Names of problems in lines, and the height of a family in the row of its problem."""
    labels = _wrapped(names)
    n_lines = max(map(len, labels.values()))
    lines = _in_lines(labels, n_lines)
    axis = alt.Axis(
        title=None, ticks=False, domain=False, grid=True, labelPadding=10, labelLimit=110, **lines
    )
    return axis, alt.Step(max(26, LINE_HEIGHT * n_lines / n_families))


def _wrapped(names: Iterable[str]) -> dict[str, list[str]]:
    """The lines of each name, the same number for all; what is far too long is cut inside."""
    lines = {name: wrap(name, LABEL_WIDTH) or [name] for name in names}
    half = LABEL_LINES // 2
    for name, parts in lines.items():
        if len(parts) > LABEL_LINES:
            lines[name] = [*parts[:half], "…", *parts[1 - half :]]
    n = max(map(len, lines.values()))
    above = {name: (n - len(parts)) // 2 for name, parts in lines.items()}
    return {
        name: [*[""] * above[name], *parts, *[""] * (n - len(parts) - above[name])]
        for name, parts in lines.items()
    }


def _in_lines(labels: dict[str, list[str]], n_lines: int) -> dict[str, Any]:
    """What an axis needs for labels of several lines; Vega has the first of them at the tick."""
    if n_lines == 1:
        return {}
    return {
        "labelExpr": f"({json.dumps(labels)})[datum.label]",
        "labelOffset": -LINE_HEIGHT * (n_lines - 1) / 2,
    }


def _multiples(summary_frame: pd.DataFrame, lineup: Lineup) -> pd.DataFrame:
    """Where the smallest mean of a problem is above 0, the others divided by it."""
    roles = {member.method: ROLE_WORDS.get(member.role, "") for member in lineup.members}
    if summary_frame.empty:
        return summary_frame
    data = summary_frame[["problem", "family", "method", "mean"]]
    means = data["mean"].astype(float)
    smallest = means.where(np.isfinite(means)).groupby(data["problem"]).transform("min")
    data = data.assign(multiple=means / smallest, breaking=data["method"].map(roles))
    data = data[(smallest > 0) & np.isfinite(data["multiple"])]
    rounded = [float(f"{value:.4g}") for value in data["multiple"]]
    return data.assign(multiple=rounded)
