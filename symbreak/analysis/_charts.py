"""Charts of a study's results, each from the frames of its store.

Every chart is interactive in HTML and exports to SVG, PNG and PDF. Curves are thinned to a common
grid of evaluations before they are drawn, so that a chart holds a few hundred rows and never the
curves of all runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from symbreak._support.checks import Array
from symbreak.analysis._lineup import Styles, drawn
from symbreak.analysis._style import (
    GREY,
    HEIGHT,
    WIDTH,
    log_switch,
    log_ticks,
    method_color,
    method_dash,
    method_shape,
    nothing_yet,
    styled,
    switched,
    titled,
)

#: Points per curve, one every five pixels.
N_POINTS = 60
GOLDEN = 0.618034  # its multiples modulo 1 are spread evenly, however many there are
PANEL = 4 * WIDTH // 9  # of three beside each other
#: Errors on parts of the data, in frames, and what the paper calls the parts.
PARTS = {"train_error": "training", "validation_error": "validation", "test_error": "test"}


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
    if data.empty:
        return nothing_yet(title)
    y = alt.Y("median:Q", title="error", **switched(data[["lower", "median", "upper"]]))
    chart = _curves(data, y, styles).add_params(log_switch())
    return styled(chart.properties(title=title))


def part_convergence_charts(
    part_errors: pd.DataFrame,
    runs: pd.DataFrame,
    problem: str,
    styles: Styles,
    *,
    shares: bool = True,
) -> alt.TopLevelMixin:
    """Errors on training, validation and test data over evaluations, as far as there are any.

    Args:
        part_errors: Columns of ``PARTS``; a row where the validation error improves.
        runs: Says where each run ends.
        problem: Which to draw.
        styles: Those to draw.
        shares: Whether errors are shares of samples, as in classification.
    """
    title = titled("Error rates so far" if shares else "Errors so far", problem)
    frame = until_the_end(select(part_errors, problem, styles), select(runs, problem, styles))
    charts: list[alt.LayerChart] = []
    parts = _parts_of(frame)
    for column, name in parts.items():
        data = quartiles(frame, column)
        y = alt.Y("median:Q", axis=_side_axis("error rate", shares=shares, first=not charts))
        y = y.scale(zero=False)
        width = PANEL
        chart = _curves(data, y, styles, view=name, toggle=next(iter(parts.values())), width=width)
        charts.append(chart.properties(title=name))
    if not charts:
        return nothing_yet(title)
    return styled(_beside(charts).resolve_scale(y="shared").properties(title=title))


def modified_chart(traces: pd.DataFrame, problem: str, styles: Styles) -> alt.TopLevelMixin:
    """Share of candidates that the breaking modified over evaluations, where it modified any."""
    title = titled("Candidates that breaking moves", problem)
    chosen = select(traces, problem, styles)
    data = quartiles(averaged(chosen), "modified_share", logarithmic=True)
    data = data.groupby("method").filter(lambda part: part["upper"].any())
    if data.empty:
        return nothing_yet(title)
    y = alt.Y("median:Q", axis=_side_axis("share of candidates"))
    return styled(_curves(data, y, styles, logarithmic=True).properties(title=title))


def spread_chart(spread: pd.DataFrame, problem: str, styles: Styles) -> alt.TopLevelMixin:
    """Effective number of conventions among the candidates over evaluations; 1 is agreement.

    Where plain methods stay above 1, symmetries divide the search; where they come to 1 by
    themselves, there is little to break.

    Args:
        spread: Columns problem, method, repetition, evaluations, conventions.
        problem: Which to draw.
        styles: Those to draw.
    """
    title = titled("Competing conventions", problem)
    data = quartiles(select(spread, problem, styles), "conventions", logarithmic=True)
    if data.empty:
        return nothing_yet(title)
    axis = alt.Axis(format="~s", values=log_ticks(1, data["upper"].max()))
    y = alt.Y("median:Q", title="conventions (1: all agree)", axis=axis)
    y = y.scale(type="log", domainMin=1, nice=False)
    return styled(_curves(data, y, styles, logarithmic=True).properties(title=title))


def ecdf_chart(ecdf_frame: pd.DataFrame, styles: Styles) -> alt.TopLevelMixin:
    """Share of targets reached over evaluations.

    Args:
        ecdf_frame: Columns method, evaluations, share; the points of step functions, in order.
        styles: Those to draw.
    """
    title = titled("Targets reached", "all problems")
    chosen = ecdf_frame[ecdf_frame["method"].isin(styles)] if len(ecdf_frame) else ecdf_frame
    data = quartiles(chosen.assign(repetition=0), "share", logarithmic=True)
    if data.empty:
        return nothing_yet(title)
    y = alt.Y("median:Q", axis=_side_axis("share of targets")).scale(domain=[0, 1.05])
    return styled(_curves(data, y, styles, logarithmic=True).properties(title=title))


def box_chart(
    runs: pd.DataFrame, problem: str, styles: Styles, column: str = "error"
) -> alt.TopLevelMixin:
    """Box plot of a column of the runs, with a point for each run.

    Positive values have a logarithmic axis, and in HTML a checkbox for a linear one. The axis
    says how many runs have no finite value.
    """
    title = titled("Final errors of all runs", problem)
    chosen = select(runs, problem, styles)
    data = chosen[finite(chosen, column)]
    if data.empty:
        return nothing_yet(title)
    left_out = len(chosen) - len(data)
    words = column.replace("_", " ")
    words += f" (not shown: {left_out} without a finite value)" if left_out else ""
    x = alt.X(f"{column}:Q", title=words)
    if (data[column] <= 0).any():
        chart = _boxes(data, x.scale(zero=False, padding=6), styles)
    else:
        scale = switched(data[column])
        x = x.scale(scale["scale"]).axis(scale["axis"])
        chart = _boxes(data, x, styles).add_params(log_switch())
    return styled(chart.properties(title=title))


def part_box_charts(
    runs: pd.DataFrame, problem: str, styles: Styles, *, shares: bool = True
) -> alt.TopLevelMixin:
    """Box plots of the final errors on training, validation and test data."""
    title = titled("Final error rates of all runs" if shares else "Final errors", problem)
    chosen = select(runs, problem, styles)
    parts = _parts_of(chosen)
    charts: list[alt.LayerChart] = []
    for column, name in parts.items():
        data = chosen[finite(chosen, column)]
        words = "error rate" if shares else "error"
        x = alt.X(f"{column}:Q", title=words, scale=alt.Scale(zero=False, padding=6))
        x = x.axis(format="~%" if shares else "~g", tickCount=3)
        boxes = _boxes(data, x, styles, first=not charts)
        charts.append(boxes.properties(title=name, width=PANEL))
    if not charts:
        return nothing_yet(title)
    row = alt.hconcat(*charts, spacing=12).resolve_scale(x="shared", color="independent")
    return styled(row.properties(title=title))


def _parts_of(frame: pd.DataFrame) -> dict[str, str]:
    """The parts of the data on which there are errors."""
    return {
        column: name
        for column, name in PARTS.items()
        if column in frame and finite(frame, column).any()
    }


def _side_axis(title: str, *, shares: bool = True, first: bool = True) -> alt.Axis:
    """An axis of shares, or of numbers; beside another panel only its grid."""
    if first:
        return alt.Axis(format="~%" if shares else "~g", title=title)
    return alt.Axis(labels=False, ticks=False, domain=False, title=None)


def _curves(
    data: pd.DataFrame,
    y: alt.Y,
    styles: Styles,
    *,
    view: str = "curves",
    toggle: str | None = None,
    logarithmic: bool = False,
    width: int = WIDTH,
) -> alt.LayerChart:
    """A line per method with a band; the legend hides methods, hovering shows values.

    ``view`` names the chart among those beside it, ``toggle`` the one whose legend serves it.
    """
    styles = drawn(styles, data["method"])
    shown = _legend_selection(toggle or view, [*styles])
    columns = 2 if toggle or width == WIDTH else 1
    legend = alt.Legend(columns=columns, symbolType="stroke", symbolSize=400, symbolStrokeWidth=2)
    color, dash = method_color(styles, legend), method_dash(styles, legend)
    x = _evaluations(data, logarithmic)
    base = alt.Chart(data).transform_filter(shown)
    line = base.mark_line(strokeWidth=2, interpolate="step-after", clip=True)
    line = line.encode(x=x, y=y, color=color, strokeDash=dash).properties(name=view)
    if toggle in (None, view):
        line = line.add_params(shown)
    band = base.mark_area(opacity=1, fillOpacity=0.1, interpolate="step-after", clip=True)
    band = band.encode(x=x, y=y.copy(), y2="upper:Q", color=color)
    band.encoding.y.shorthand = "lower:Q"
    spread = [band] if (data["lower"] < data["upper"]).any() else []
    layers = [line, *spread, _hover(data, x, view, [*styles])]  # the first makes the legend
    return alt.LayerChart(layer=layers, width=width, height=HEIGHT)


def _evaluations(data: pd.DataFrame, logarithmic: bool) -> alt.X:
    x = alt.X("evaluations:Q", title="evaluations", scale=alt.Scale(nice=False))
    if not logarithmic:
        return x.axis(format="~s", tickCount=4)
    ticks = log_ticks(data["evaluations"].min(), data["evaluations"].max())
    return x.scale(type="log", nice=False).axis(format="~s", values=ticks)


def _legend_selection(view: str, methods: list[str]) -> alt.Parameter:
    """The methods shown: all at first, and a click in the legend takes one out or in again."""
    return alt.selection_point(
        name=f"shown_{view}",
        fields=["method"],
        bind="legend",
        toggle="true",
        value=[{"method": method} for method in methods],
    )


def _beside(charts: Sequence[alt.LayerChart]) -> alt.HConcatChart:
    """Charts of curves in a row."""
    row = alt.hconcat(*charts)
    params: Any = row.params
    for param in params:  # Altair 6 lists every layer with a name; a selection is of one
        param.views = param.views[:1] if param.name.startswith("shown") else param.views[-1:]
    return row


def _hover(data: pd.DataFrame, x: alt.X, view: str, methods: list[str]) -> alt.Chart:
    """A bar per point of the grid, seen under the pointer, with the values of all methods there."""
    texts = data.assign(text=[_range(row) for row in data.itertuples()])
    texts = texts.pivot(index="evaluations", columns="method", values="text")[methods]
    # Columns are numbered: a method's name may hold what Vega reads as a path or expression.
    fields = [f"m{number}" for number in range(len(methods))]
    table = texts.set_axis(fields, axis=1).reset_index()
    table["until"] = table["evaluations"].shift(-1, fill_value=table["evaluations"].iloc[-1])
    # Not the nearest point: Vega-Lite 6 finds no strings for its tooltip.
    near = alt.selection_point(
        name=f"near_{view}",
        fields=["evaluations"],
        on="pointerover",
        clear="pointerout",
        empty=False,
    )
    shown = [alt.Tooltip(field="evaluations", type="quantitative", format=",")]
    for field, method in zip(fields, methods, strict=True):
        shown.append(alt.Tooltip(field=field, type="nominal", title=_escaped(method)))
    opacity = alt.condition(near, alt.value(0.4), alt.value(0))  # of the fill: small PDFs
    bars = alt.Chart(table, name=f"{view}_hover").mark_rect(color=GREY)
    return bars.encode(x=x, x2="until:Q", fillOpacity=opacity, tooltip=shown).add_params(near)


def _escaped(text: str) -> str:
    """A title of a tooltip: Vega-Lite makes it part of an expression and escapes only quotes."""
    return " ".join(text.split()).replace("\\", "\\\\")


def _range(row: Any) -> str:
    if row.lower == row.upper:
        return f"{row.median:.3g}"
    return f"{row.median:.3g} ({row.lower:.3g} to {row.upper:.3g})"


def _boxes(data: pd.DataFrame, x: alt.X, styles: Styles, first: bool = True) -> alt.LayerChart:
    """A horizontal box per method and a point per run, moved aside to keep them apart."""
    styles = drawn(styles, data["method"])
    column = str(x.shorthand).removesuffix(":Q")
    rows = data[["method", "repetition"]].copy()
    rows[column] = [float(f"{value:.5g}") for value in data[column]]
    rows["aside"] = ((rows["repetition"] * GOLDEN) % 1 - 0.5).round(3)
    axis = alt.Axis(title=None, ticks=False, domain=False) if first else None
    y = alt.Y("method:N", sort=[*styles], axis=axis)
    color = method_color(styles)
    base = alt.Chart(rows).encode(x=x, y=y, color=color)
    box = base.mark_boxplot(
        size=18,
        outliers=False,
        box={"fillOpacity": 0.2, "strokeWidth": 1},
        median={"color": GREY, "strokeWidth": 2},
        ticks=False,
        rule={"color": GREY},
    )
    points = base.mark_point(filled=True, size=18, opacity=1, fillOpacity=0.8).encode(
        shape=method_shape(styles),
        yOffset=alt.YOffset("aside:Q", scale=alt.Scale(domain=[-1, 1])),
        tooltip=["method:N", "repetition:Q", alt.Tooltip(f"{column}:Q", format=".4g")],
    )
    return alt.LayerChart(layer=[box, points], width=WIDTH, height=max(HEIGHT, 24 * len(styles)))


def select(frame: pd.DataFrame, problem: str, methods: Iterable[str]) -> pd.DataFrame:
    """The rows of some methods on a problem; quick if the frame holds no other problem."""
    if frame.empty:
        return frame
    of_problem = frame[frame["problem"] == problem]
    return of_problem[of_problem["method"].isin(list(methods))]


def finite(frame: pd.DataFrame, column: str) -> pd.Series[bool]:
    """Which rows have a finite number there."""
    values = pd.Series(dtype=float) if frame.empty else frame[column]
    return pd.Series(np.isfinite(values.to_numpy(np.float64)), index=values.index)


def _runs(frame: pd.DataFrame, column: str) -> Iterator[tuple[Array, Array]]:
    """Evaluations and values of each run of a method."""
    evaluations, values = (frame[name].to_numpy(np.float64) for name in ("evaluations", column))
    changes = np.diff(frame["repetition"].to_numpy()) != 0
    starts = np.flatnonzero(changes | (np.diff(evaluations) < 0)) + 1
    yield from zip(np.split(evaluations, starts), np.split(values, starts), strict=True)


def quartiles(frame: pd.DataFrame, column: str, logarithmic: bool = False) -> pd.DataFrame:
    """Quartiles over runs on a grid of evaluations, where all runs of a method have values.

    The frame has the columns method, repetition, evaluations and the one asked for, whose
    values hold until the next row.
    """
    if frame.empty:
        return pd.DataFrame(columns=["method", "evaluations", "lower", "median", "upper"])
    grid = _grid(frame["evaluations"], logarithmic)
    parts = []
    for method in frame["method"].unique():
        runs = list(_runs(frame[frame["method"] == method], column))
        first = max(evaluations[0] for evaluations, _ in runs)
        last = min(evaluations[-1] for evaluations, _ in runs)
        points = grid[(grid >= first) & (grid <= last)]
        held = [values[np.searchsorted(at, points, side="right") - 1] for at, values in runs]
        parts.append(_quartile_rows(method, points, np.array(held)))
    data = pd.concat(parts, ignore_index=True)
    return data[np.isfinite(data["median"])]


def _grid(evaluations: pd.Series[Any], logarithmic: bool = False) -> Array:
    """Points up to the last evaluation; logarithmic ones span three decades."""
    end = max(1.0, float(evaluations.max()))
    low = max(1.0, end / 1000) if logarithmic else end / N_POINTS
    spaced = np.geomspace if logarithmic else np.linspace
    return np.unique(np.append(spaced(low, end, N_POINTS).round(), end))


def _quartile_rows(method: str, points: Array, values: Array) -> pd.DataFrame:
    with np.errstate(invalid="ignore"):  # infinite errors
        quartiles = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
    data = pd.DataFrame({"method": method, "evaluations": points.astype(np.int64)})
    for name, row in zip(("lower", "median", "upper"), quartiles, strict=True):
        data[name] = [float(f"{value:.4g}") for value in row]  # a third of the size of a chart
    return data


def until_the_end(errors: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Part errors with a last row at the end of each run; they come at improvements only."""
    if errors.empty or runs.empty:
        return errors.iloc[:0]
    keys = ["method", "repetition"]
    last = errors.groupby(keys, as_index=False).last().drop(columns="evaluations")
    ends = last.merge(runs[[*keys, "evaluations"]], on=keys)
    return pd.concat([errors, ends]).sort_values([*keys, "evaluations"], kind="stable")


def averaged(traces: pd.DataFrame) -> pd.DataFrame:
    """Shares averaged over the generations between two points of a logarithmic grid."""
    if traces.empty:
        return traces
    grid = _grid(traces["evaluations"], logarithmic=True)
    points = grid[np.searchsorted(grid, traces["evaluations"])]
    keys = ["method", "repetition", "evaluations"]
    shares = traces.assign(evaluations=points).groupby(keys)["modified_share"]
    return shares.mean().reset_index()
