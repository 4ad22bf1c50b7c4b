"""Charts of runs, on a problem and over all, each from the frames of a store.

Every chart is interactive in HTML and exports to SVG, PNG and PDF. Curves are thinned to a common
grid of evaluations before they are drawn, so that a chart holds a few hundred rows and never the
curves of all runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from symbreak._support.checks import Array
from symbreak.analysis._lineup import ROLE_STYLES, VARIANT_STYLES, Lineup, Styles, drawn
from symbreak.analysis._statistics import Ranks
from symbreak.analysis._style import (
    COUNTS,
    GREY,
    HEIGHT,
    WIDTH,
    by_method,
    log_switch,
    log_ticks,
    nothing_yet,
    styled,
    switched,
    titled,
)

#: Points per curve, one every five pixels.
N_POINTS = 60
GOLDEN = 0.618034  # its multiples modulo 1 are spread evenly, however many there are
#: Errors on parts of the data, in frames, and what the paper calls the parts.
PARTS = {"train_error": "training", "validation_error": "validation", "test_error": "test"}
RUN = ["method", "repetition"]
#: Roles in words that need no paper, in the order of the legend, and their colours.
ROLE_WORDS = {
    "plain": "no breaking",
    "invariant": "fixed rules",
    "proximity": "towards the optimum",
    "exhaustive": "nearest of all replicas",
    "variant": "other variants",
}
ROLE_COLORS = [style.color for style in (*ROLE_STYLES.values(), VARIANT_STYLES[0])]
#: An axis of names.
BARE: dict[str, Any] = {"title": None, "ticks": False, "domain": False}
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")


def convergence_chart(curves: pd.DataFrame, problem: str, styles: Styles) -> alt.TopLevelMixin:
    """Best error so far over evaluations: median and quartiles of the repetitions.

    In HTML a click on the legend hides a method, a checkbox chooses the scale of the errors, and
    hovering shows values.

    Args:
        curves: Columns problem, method, repetition, evaluations, error; run by run and in order.
        problem: Which to draw.
        styles: Those to draw, such as ``results.styles("DE")``; without runs, a method is left out.
    """
    title = titled("Best training error so far", problem)
    data = quartiles(select(curves, problem, styles), "error")
    y = alt.Y("median:Q", title="error", **switched(data[["lower", "median", "upper"]]))
    return _curves(title, data, y, styles, switch=True) or nothing_yet(title)


def part_chart(
    part_errors: pd.DataFrame, runs: pd.DataFrame, problem: str, styles: Styles, part: str
) -> alt.TopLevelMixin | None:
    """Errors on a part of the data over evaluations, of the network that validation selects.

    ``part_errors`` has a row where the validation error improves; ``runs`` says where each run
    ends, and whether errors are shares of samples.
    """
    errors, ended = (select(frame, problem, styles) for frame in (part_errors, runs))
    shares, errors = is_classification(ended), until_the_end(errors, ended)
    name = f"{PARTS[part].capitalize()} error{' rate' if shares else ''} so far"
    ends = pd.concat([quartiles(errors, each)[["lower", "upper"]] for each in PARTS])
    scale = alt.Scale(zero=False)
    if (low := ends["lower"].min()) < (high := ends["upper"].max()):
        scale = alt.Scale(domain=[low, high])  # the same for all parts
    axis = alt.Axis(format="~%" if shares else "~g", title="error rate" if shares else "error")
    y = alt.Y("median:Q", axis=axis, scale=scale)
    return _curves(titled(name, problem), quartiles(errors, part), y, styles)


def modified_chart(traces: pd.DataFrame, problem: str, styles: Styles) -> alt.TopLevelMixin | None:
    """Share of candidates that the breaking modified over evaluations, where it modified any."""
    title = titled("Candidates moved", problem)
    chosen = select(traces, problem, styles)
    data = quartiles(averaged(chosen), "modified_share", logarithmic=True)
    data = data.groupby("method").filter(lambda part: part["upper"].any())
    y = alt.Y("median:Q", axis=alt.Axis(format="~%", title="share of candidates"))
    return _curves(title, data, y, styles, logarithmic=True)


def spread_chart(spread: pd.DataFrame, problem: str, styles: Styles) -> alt.TopLevelMixin | None:
    """Effective number of conventions among the candidates over evaluations; 1 is agreement.

    Where plain methods stay above 1, symmetries divide the search; where they come to 1 by
    themselves, there is little to break.
    """
    title = titled("Competing conventions", problem)
    data = quartiles(select(spread, problem, styles), "conventions", logarithmic=True)
    ticks = log_ticks(1, data["upper"].max()) if len(data) else []
    y = alt.Y("median:Q", axis=alt.Axis(format="~s", values=ticks, title="conventions"))
    y = y.scale(type="log", domainMin=1, nice=False)
    return _curves(title, data, y, styles, logarithmic=True)


def ecdf_chart(ecdf_frame: pd.DataFrame, styles: Styles) -> alt.TopLevelMixin:
    """Share of targets reached over evaluations: method, evaluations, share; steps, in order."""
    title = titled("Targets reached", "all problems")
    chosen = ecdf_frame[ecdf_frame["method"].isin(styles)] if len(ecdf_frame) else ecdf_frame
    data = quartiles(chosen.assign(repetition=0), "share", logarithmic=True)
    axis = alt.Axis(format="~%", title="share of targets")
    y = alt.Y("median:Q", axis=axis).scale(domain=[0, 1.05])
    return _curves(title, data, y, styles, logarithmic=True) or nothing_yet(title)


def box_chart(runs: pd.DataFrame, problem: str, styles: Styles) -> alt.TopLevelMixin:
    """Box plot of the errors that runs are judged by, with a point for each run.

    Positive values have a logarithmic axis, and in HTML a checkbox for a linear one. The axis
    says how many runs have no finite value.
    """
    title = titled("Final errors of all runs", problem)
    chosen = select(runs, problem, styles)
    data = chosen[np.isfinite(chosen["table_error"].astype(float))]
    if data.empty:
        return nothing_yet(title)
    shares, left_out = is_classification(data), len(chosen) - len(data)
    words = "error rate on test data" if shares else "error"
    words += f" (not shown: {left_out} without a finite value)" if left_out else ""
    x: Any = alt.X("error:Q", title=words)
    linear = shares or bool((data["table_error"] <= 0).any())
    if linear:
        x = x.scale(zero=False, padding=6).axis(format="~%" if shares else "~g", tickCount=4)
    else:
        scale = switched(data["table_error"])
        x = x.scale(scale["scale"]).axis(scale["axis"])
    chart = _boxes(data, x, styles)
    chart = chart if linear else chart.add_params(log_switch())
    return styled(chart.properties(title=title))


def relative_chart(summary_frame: pd.DataFrame, lineup: Lineup) -> alt.TopLevelMixin:
    """Mean errors as multiples of the smallest on the problem: a row per problem, 1 is the best.

    Colours are roles and shapes are families, so that families compare too.
    """
    title = titled("How far is each method from the best?", "mean errors")
    data = _multiples(summary_frame, lineup)
    if data.empty:
        return nothing_yet(title)
    families = [family for family in lineup.families if family in set(data["family"])]
    colors = dict(zip(ROLE_WORDS.values(), ROLE_COLORS, strict=True))
    colors = {role: color for role, color in colors.items() if role in set(data["breaking"])}
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(families))]
    top = max(2.0, float(data["multiple"].max()))
    axis = alt.Axis(**BARE, grid=True, labelPadding=10, labelLimit=110)
    chart = alt.Chart(data, width=WIDTH, height=alt.Step(26)).mark_point(
        filled=True, size=60, opacity=1, fillOpacity=0.85, stroke=GREY, strokeWidth=0.5
    )
    encoded = chart.encode(
        x=alt.X("multiple:Q", title="times the smallest mean error")
        .scale(type="log", domain=[0.95, 1.1 * top])
        .axis(values=log_ticks(1, top), format="~r"),
        y=alt.Y("problem:N", sort=list(dict.fromkeys(data["problem"])), axis=axis),
        yOffset=alt.YOffset("family:N", sort=families, scale=alt.Scale(paddingOuter=0.2)),
        color=alt.Color("breaking:N", legend=alt.Legend(columns=2)).scale(
            domain=[*colors], range=[*colors.values()]
        ),
        shape=alt.Shape(
            "family:N", legend=alt.Legend(orient="top", symbolFillColor=GREY, columns=4)
        ).scale(domain=families, range=shapes),
        tooltip=[
            *("problem:N", "method:N", alt.Tooltip("mean:Q", title="mean error", format=".4g")),
            alt.Tooltip("multiple:Q", title="times the smallest", format=".3g"),
        ],
    )
    return styled(encoded.properties(title=title))


def _multiples(summary_frame: pd.DataFrame, lineup: Lineup) -> pd.DataFrame:
    """Where the smallest mean of a problem is above 0, the others divided by it."""
    roles = {member.method: ROLE_WORDS.get(member.role, "") for member in lineup.members}
    data = summary_frame[np.isfinite(summary_frame["mean"])]
    smallest = data.groupby("problem")["mean"].transform("min")
    multiple = (data["mean"] / smallest).map(lambda value: float(f"{value:.4g}"))
    data = data[["problem", "family", "method", "mean"]].assign(multiple=multiple)
    return data.assign(breaking=data["method"].map(roles))[smallest > 0]


def rank_chart(ranks: Ranks, styles: Styles) -> alt.TopLevelMixin:
    """Mean ranks over all problems with their critical difference; overlaps say nothing."""
    half = ranks.critical_difference / 2
    data = ranks.table.assign(low=ranks.table["rank"] - half, high=ranks.table["rank"] + half)
    order = list(data["method"])
    y = alt.Y("method:N", sort=order, axis=alt.Axis(**BARE))
    scale = alt.Scale(zero=False, nice=False, padding=8)
    tooltip: list[Any] = ["method:N", alt.Tooltip("rank:Q", title="mean rank", format=".2f")]
    color = by_method(alt.Color, "color", drawn(styles, order))
    base = alt.Chart(data).encode(y=y, color=color, tooltip=tooltip)
    bars = base.mark_rule(strokeWidth=5, opacity=0.35).encode(
        x=alt.X("low:Q", title="mean rank (1: best on every problem)", scale=scale), x2="high:Q"
    )
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("rank:Q", scale=scale))
    about = f"{ranks.n_problems} problems; where bars overlap, no difference can be shown"
    chart = alt.layer(bars, dots).properties(width=WIDTH, height=alt.Step(24))
    return styled(chart.properties(title=titled("Overall ranks", about)))


def is_classification(runs: pd.DataFrame) -> bool:
    """Whether errors of runs on a problem are shares of samples."""
    return "task" in runs and bool((runs["task"] == "classification").any())


def _curves(
    title: alt.TitleParams,
    data: pd.DataFrame,
    y: alt.Y,
    styles: Styles,
    *,
    logarithmic: bool = False,
    switch: bool = False,
) -> alt.TopLevelMixin | None:
    """A line per method with a band; the legend hides methods, hovering shows values."""
    if data.empty:
        return None
    styles = drawn(styles, data["method"])
    shown = alt.selection_point(  # all at first; a click in the legend takes one out or in again
        name="shown",
        fields=["method"],
        bind="legend",
        toggle="true",
        value=[{"method": method} for method in styles],
    )
    legend = alt.Legend(symbolType="stroke", symbolSize=400, symbolStrokeWidth=2)
    color = by_method(alt.Color, "color", styles, legend)
    dash = by_method(alt.StrokeDash, "dash", styles, legend)
    x = alt.X("evaluations:Q", title="evaluations", scale=alt.Scale(nice=False))
    if not logarithmic:
        x = x.axis(labelExpr=COUNTS, tickCount=4)
    else:
        ticks = log_ticks(data["evaluations"].min(), data["evaluations"].max())
        x = x.scale(type="log", nice=False).axis(labelExpr=COUNTS, values=ticks)
    base = alt.Chart(data).transform_filter(shown)
    line = base.mark_line(strokeWidth=2, interpolate="step-after", clip=True)
    line = line.encode(x=x, y=y, color=color, strokeDash=dash).add_params(shown)
    band = base.mark_area(opacity=1, fillOpacity=0.1, interpolate="step-after", clip=True)
    band = band.encode(x=x, y=y.copy(), y2="upper:Q", color=color)
    band.encoding.y.shorthand = "lower:Q"
    spread = [band] if (data["lower"] < data["upper"]).any() else []
    layers = [line, *spread, _hover(data, x, [*styles])]  # the first makes the legend
    chart = alt.LayerChart(layer=layers, width=WIDTH, height=HEIGHT)
    chart = chart.add_params(log_switch()) if switch else chart
    return styled(chart.properties(title=title))


def _hover(data: pd.DataFrame, x: alt.X, methods: list[str]) -> alt.Chart:
    """A bar per point of the grid, seen under the pointer, with the values of all methods there."""
    texts = data.assign(text=[_range(row) for row in data.itertuples()])
    texts = texts.pivot(index="evaluations", columns="method", values="text")[methods]
    # Columns are numbered: a method's name may hold what Vega reads as a path or expression.
    fields = [f"m{number}" for number in range(len(methods))]
    table = texts.set_axis(fields, axis=1).reset_index()
    table["until"] = table["evaluations"].shift(-1, fill_value=table["evaluations"].iloc[-1])
    # Not the nearest point: Vega-Lite 6 finds no strings for its tooltip.
    near = alt.selection_point(
        name="near", fields=["evaluations"], on="pointerover", clear="pointerout", empty=False
    )
    shown = [alt.Tooltip(field="evaluations", type="quantitative", format=",")]
    for field, method in zip(fields, methods, strict=True):
        # Vega-Lite makes a title part of an expression, and escapes only quotes.
        title = " ".join(method.split()).replace("\\", "\\\\")
        shown.append(alt.Tooltip(field=field, type="nominal", title=title))
    opacity = alt.condition(near, alt.value(0.4), alt.value(0))  # of the fill: small PDFs
    bars = alt.Chart(table).mark_rect(color=GREY)
    return bars.encode(x=x, x2="until:Q", fillOpacity=opacity, tooltip=shown).add_params(near)


def _range(row: Any) -> str:
    if row.lower == row.upper:
        return f"{row.median:.3g}"
    return f"{row.median:.3g} ({row.lower:.3g} to {row.upper:.3g})"


def _boxes(data: pd.DataFrame, x: alt.X, styles: Styles) -> alt.LayerChart:
    """A horizontal box per method and a point per run, moved aside to keep them apart."""
    styles = drawn(styles, data["method"])
    rows = data[RUN].copy()
    rows["error"] = [float(f"{value:.5g}") for value in data["table_error"]]
    rows["aside"] = ((rows["repetition"] * GOLDEN) % 1 - 0.5).round(3)
    y = alt.Y("method:N", sort=[*styles], axis=alt.Axis(**BARE))
    base = alt.Chart(rows).encode(x=x, y=y, color=by_method(alt.Color, "color", styles))
    box = base.mark_boxplot(
        size=18,
        outliers=False,
        box={"fillOpacity": 0.2, "strokeWidth": 1},
        median={"color": GREY, "strokeWidth": 2},
        ticks=False,
        rule={"color": GREY},
    )
    points = base.mark_point(filled=True, size=18, opacity=1, fillOpacity=0.8).encode(
        shape=by_method(alt.Shape, "shape", styles),
        yOffset=alt.YOffset("aside:Q", scale=alt.Scale(domain=[-1, 1])),
        tooltip=["method:N", "repetition:Q", alt.Tooltip("error:Q", format=".4g")],
    )
    return alt.LayerChart(layer=[box, points], width=WIDTH, height=max(HEIGHT, 24 * len(styles)))


def select(frame: pd.DataFrame, problem: str, methods: Iterable[str]) -> pd.DataFrame:
    """The rows of some methods on a problem."""
    if frame.empty:
        return frame
    return frame[(frame["problem"] == problem) & frame["method"].isin(list(methods))]


def quartiles(frame: pd.DataFrame, column: str, logarithmic: bool = False) -> pd.DataFrame:
    """Quartiles over runs on a grid of evaluations, where all runs of a method have values.

    The frame has the columns method, repetition, evaluations and the one asked for, whose
    values hold until the next row.
    """
    names = ["lower", "median", "upper"]
    parts = [pd.DataFrame(columns=["evaluations", *names, "method"])]
    grid = np.empty(0) if frame.empty else _grid(frame["evaluations"], logarithmic)
    for method, rows in frame.groupby("method", sort=False) if len(grid) else ():
        ends = rows.groupby("repetition")["evaluations"].agg(["min", "max"])
        points = grid[(grid >= ends["min"].max()) & (grid <= ends["max"].min())]
        rows = rows.drop_duplicates(["repetition", "evaluations"], keep="last")
        runs = rows.pivot(index="evaluations", columns="repetition", values=column).ffill()
        held = runs.reindex(points.astype(np.int64), method="ffill").to_numpy(np.float64)
        with np.errstate(invalid="ignore"):  # infinite errors
            data = pd.DataFrame(np.quantile(held, (0.25, 0.5, 0.75), axis=1).T, columns=names)
        data = data.map(lambda value: float(f"{value:.4g}"))  # a third of the size of a chart
        parts.append(data.assign(method=method, evaluations=points.astype(np.int64)))
    data = pd.concat(parts[1:] or parts, ignore_index=True)
    return data[np.isfinite(data["median"].astype(np.float64))]


def _grid(evaluations: pd.Series[Any], logarithmic: bool = False) -> Array:
    """Points up to the last evaluation; logarithmic ones span three decades."""
    end = max(1.0, float(evaluations.max()))
    low = max(1.0, end / 1000) if logarithmic else end / N_POINTS
    spaced = np.geomspace if logarithmic else np.linspace
    return np.unique(np.append(spaced(low, end, N_POINTS).round(), end))


def until_the_end(errors: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Part errors with a last row at the end of each run; they come at improvements only."""
    if errors.empty or runs.empty:
        return errors.iloc[:0]
    last = errors.groupby(RUN, as_index=False).last().drop(columns="evaluations")
    ends = last.merge(runs[[*RUN, "evaluations"]], on=RUN)
    return pd.concat([errors, ends]).sort_values([*RUN, "evaluations"], kind="stable")


def averaged(traces: pd.DataFrame) -> pd.DataFrame:
    """Shares averaged over the generations between two points of a logarithmic grid."""
    if traces.empty:
        return traces
    grid = _grid(traces["evaluations"], logarithmic=True)
    points = grid[np.searchsorted(grid, traces["evaluations"])]
    shares = traces.assign(evaluations=points).groupby([*RUN, "evaluations"])["modified_share"]
    return shares.mean().reset_index()
