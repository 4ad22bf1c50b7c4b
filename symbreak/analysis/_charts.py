"""Charts of a study's results, each from the frames of its store.

Every chart is interactive in HTML and exports to SVG, PNG and PDF.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from symbreak.analysis._matrix_charts import heat_map, significance_chart
from symbreak.analysis._style import (
    GREY,
    HEIGHT,
    WIDTH,
    log_switch,
    log_ticks,
    method_color,
    method_dash,
    method_order,
    method_shape,
    nothing_yet,
    styled,
    switched,
)
from symbreak.analysis._thinning import (
    averaged,
    by_family,
    finite,
    quartiles,
    select,
    until_the_end,
)

__all__ = [
    "box_chart",
    "convergence_chart",
    "ecdf_chart",
    "heat_map",
    "modified_chart",
    "rate_box_charts",
    "rate_convergence_charts",
    "significance_chart",
    "spread_chart",
]

GOLDEN = 0.618034  # its multiples modulo 1 are spread evenly, however many there are
#: Error rates of classification in the frame of runs, and what the paper calls them.
RATES = {"train_rate": "training", "validation_rate": "validation", "test_error": "test"}


def convergence_chart(
    curves: pd.DataFrame, problem: str, methods: Sequence[str]
) -> alt.TopLevelMixin:
    """Best error so far over evaluations: median and quartiles of the repetitions.

    In HTML a click on the legend hides a method, a checkbox chooses the scale of the errors, and
    hovering shows values.

    Args:
        curves: Columns problem, method, repetition, evaluations, error; run by run and in order.
        problem: Which to draw.
        methods: Those of a family; without runs, a method is left out.
    """
    data = quartiles(select(curves, problem, methods), "error")
    if data.empty:
        return nothing_yet(problem)
    y = alt.Y("median:Q", title="error", **switched(data[["lower", "median", "upper"]]))
    return styled(_curves(data, y).add_params(log_switch()).properties(title=problem))


def rate_convergence_charts(
    rates: pd.DataFrame, runs: pd.DataFrame, problem: str, methods: Sequence[str]
) -> alt.TopLevelMixin:
    """Error rates of classification over evaluations: training, validation and test."""
    frame = until_the_end(select(rates, problem, methods), select(runs, problem, methods))
    charts: list[alt.LayerChart] = []
    for column, title in RATES.items():
        data = quartiles(frame, column.replace("error", "rate"))
        if data.empty:
            return nothing_yet(problem)
        y = alt.Y("median:Q", axis=_side_axis("error rate", first=not charts))
        y = y.scale(zero=False)
        chart = _curves(data, y, view=title, toggle="training", width=WIDTH // 3)
        charts.append(chart.properties(title=title))
    return styled(_beside(charts).resolve_scale(y="shared").properties(title=problem))


def modified_chart(traces: pd.DataFrame, problem: str, methods: Sequence[str]) -> alt.TopLevelMixin:
    """Share of candidates that the breaking modified over evaluations, where it modified any."""
    chosen = select(traces, problem, methods)
    data = quartiles(averaged(chosen), "modified_share", logarithmic=True)
    data = data.groupby("method").filter(lambda part: part["upper"].any())
    if data.empty:
        return nothing_yet(problem)
    y = alt.Y("median:Q", axis=_side_axis("candidates modified"))
    return styled(_curves(data, y, logarithmic=True).properties(title=problem))


def spread_chart(spread: pd.DataFrame, problem: str, methods: Sequence[str]) -> alt.TopLevelMixin:
    """Effective number of conventions among the candidates over evaluations; 1 is agreement.

    Where plain methods stay above 1, symmetries divide the search; where they come to 1 by
    themselves, there is little to break.

    Args:
        spread: Columns problem, method, repetition, evaluations, conventions.
        problem: Which to draw.
        methods: Those of a family.
    """
    data = quartiles(select(spread, problem, methods), "conventions", logarithmic=True)
    if data.empty:
        return nothing_yet(problem)
    ticks = log_ticks(data["lower"].min(), data["upper"].max())
    y = alt.Y("median:Q", title="conventions", axis=alt.Axis(format="~s", values=ticks))
    y = y.scale(type="log", domainMin=1, nice=False)
    return styled(_curves(data, y, logarithmic=True).properties(title=problem))


def ecdf_chart(ecdf_frame: pd.DataFrame) -> alt.TopLevelMixin:
    """Share of targets reached over evaluations, a panel per family.

    Args:
        ecdf_frame: Columns method, evaluations, share; the points of step functions, in order.
    """
    families = dict(by_family(ecdf_frame))
    panels: list[alt.LayerChart] = []
    for family, part in families.items():
        data = quartiles(part.assign(repetition=0), "share", logarithmic=True)
        y = alt.Y("median:Q", axis=_side_axis("targets reached", first=not panels))
        y = y.scale(domain=[0, 1.05])
        width = WIDTH if len(families) == 1 else WIDTH // 2
        view = f"family{len(panels)}"
        panel = _curves(data, y, view=view, logarithmic=True, width=width)
        panels.append(panel.properties(title=family))
    if not panels:
        return nothing_yet("targets reached")
    return styled(_beside(panels).resolve_scale(color="independent", strokeDash="independent"))


def box_chart(
    runs: pd.DataFrame, problem: str, methods: Sequence[str], column: str = "error"
) -> alt.TopLevelMixin:
    """Box plot of a column of the runs, with a point for each run.

    Positive values have a logarithmic axis, and in HTML a checkbox for a linear one; rates are
    shares of samples and always linear. A subtitle says how many runs have no finite value.
    """
    chosen = select(runs, problem, methods)
    data = chosen[finite(chosen, column)]
    if data.empty:
        return nothing_yet(problem)
    left_out = len(chosen) - len(data)
    title = alt.TitleParams(problem)
    if left_out:
        title.subtitle = f"not shown: {left_out} without a finite value"
    x = alt.X(f"{column}:Q", title=column.replace("_", " "))
    if column in RATES or (data[column] <= 0).any():
        chart = _boxes(data, x.scale(zero=False, padding=6))
    else:
        scale = switched(data[column])
        chart = _boxes(data, x.scale(scale["scale"]).axis(scale["axis"])).add_params(log_switch())
    return styled(chart.properties(title=title))


def rate_box_charts(runs: pd.DataFrame, problem: str, methods: Sequence[str]) -> alt.TopLevelMixin:
    """Box plots of the error rates of classification: training, validation and test."""
    chosen = select(runs, problem, methods)
    charts: list[alt.LayerChart] = []
    for column, title in RATES.items():
        data = chosen[finite(chosen, column)]
        if data.empty:
            return nothing_yet(problem)
        x = alt.X(f"{column}:Q", title="error rate", scale=alt.Scale(zero=False, padding=6))
        boxes = _boxes(data, x.axis(format="~%", tickCount=3), first=not charts)
        charts.append(boxes.properties(title=title, width=WIDTH // 3))
    row = alt.hconcat(*charts, spacing=12).resolve_scale(x="shared", color="independent")
    return styled(row.properties(title=problem))


def _side_axis(title: str, first: bool = True) -> alt.Axis:
    """An axis of shares; beside another panel only its grid."""
    if first:
        return alt.Axis(format="~%", title=title)
    return alt.Axis(labels=False, ticks=False, domain=False, title=None)


def _curves(
    data: pd.DataFrame,
    y: alt.Y,
    *,
    view: str = "curves",
    toggle: str | None = None,
    logarithmic: bool = False,
    width: int = WIDTH,
) -> alt.LayerChart:
    """A line per method with a band; the legend hides methods, hovering shows values.

    ``view`` names the chart among those beside it, ``toggle`` the one whose legend serves it.
    """
    methods = method_order(data["method"])
    shown = _legend_selection(toggle or view, methods)
    columns = 2 if toggle or width == WIDTH else 1
    legend = alt.Legend(columns=columns, symbolType="stroke", symbolSize=400, symbolStrokeWidth=2)
    color, dash = method_color(methods, legend), method_dash(methods, legend)
    x = _evaluations(data, logarithmic)
    base = alt.Chart(data).transform_filter(shown)
    line = base.mark_line(strokeWidth=2, interpolate="step-after", clip=True)
    line = line.encode(x=x, y=y, color=color, strokeDash=dash).properties(name=view)
    if toggle in (None, view):
        line = line.add_params(shown)
    band = base.mark_area(opacity=1, fillOpacity=0.15, interpolate="step-after", clip=True)
    band = band.encode(x=x, y=y.copy(), y2="upper:Q", color=color)
    band.encoding.y.shorthand = "lower:Q"
    spread = [band] if (data["lower"] < data["upper"]).any() else []
    layers = [line, *spread, _hover(data, x, view)]  # the first makes the legend
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


def _hover(data: pd.DataFrame, x: alt.X, view: str) -> alt.Chart:
    """A bar per point of the grid, seen under the pointer, with the values of all methods there."""
    methods = method_order(data["method"])
    texts = data.assign(text=[_range(row) for row in data.itertuples()])
    texts = texts.pivot(index="evaluations", columns="method", values="text")[methods]
    # Columns are numbered: a method's name may hold what Vega reads as a path or expression.
    fields = [f"m{number}" for number in range(len(methods))]
    table = texts.set_axis(fields, axis=1).reset_index()
    table["until"] = table["evaluations"].shift(-1, fill_value=table["evaluations"].iloc[-1])
    # Not the nearest point: Vega-Lite 6 finds no texts for the tooltip of that.
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


def _boxes(data: pd.DataFrame, x: alt.X, first: bool = True) -> alt.LayerChart:
    """A horizontal box per method and a point per run, shaken to keep them apart."""
    methods = method_order(data["method"])
    column = str(x.shorthand).removesuffix(":Q")
    rows = data[["method", "repetition"]].copy()
    rows[column] = [float(f"{value:.5g}") for value in data[column]]
    rows["shake"] = ((rows["repetition"] * GOLDEN) % 1 - 0.5).round(3)
    axis = alt.Axis(title=None, ticks=False, domain=False) if first else None
    y = alt.Y("method:N", sort=methods, axis=axis)
    color = method_color(methods)
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
        shape=method_shape(methods),
        yOffset=alt.YOffset("shake:Q", scale=alt.Scale(domain=[-1, 1])),
        tooltip=["method:N", "repetition:Q", alt.Tooltip(f"{column}:Q", format=".4g")],
    )
    return alt.LayerChart(layer=[box, points], width=WIDTH, height=alt.Step(30))
