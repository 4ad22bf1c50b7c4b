"""What all charts share: colours, sizes, the log/linear switch, and saving to any format."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, TypeVar

import altair as alt
import numpy as np
from numpy.typing import ArrayLike

from symbreak._support.checks import check_kind, check_path
from symbreak._support.words import CHART_FORMATS
from symbreak.analysis._lineup import Styles

#: A grey with a contrast of about 4.3 on white and on black (#111) alike.
GREY = "#797d82"
#: What was found, and weights of either sign: safe for the colour-blind, on white and on black.
FITTED = POSITIVE = "#1a7fc1"
NEGATIVE = "#d55e00"
#: 270 px are 7 cm in print; 11 px are then 8 pt.
WIDTH, HEIGHT, FONT_SIZE = 270, 190, 11
#: Labels such as 1.5k; Vega's own of an axis round them to 2k.
COUNTS = "datum.value ? format(datum.value, '~s') : '0'"
#: How a page with a single chart looks: in the middle, no wider than the window, and what
#: switches it below its right end, in its own letters.
PAGE = f"""<style>
  body {{ margin: 2rem 1rem; font: {FONT_SIZE + 1}px sans-serif; color: {GREY}; }}
  #vis.vega-embed {{ justify-content: center; box-sizing: border-box; padding: 0 38px; }}
  #vis svg.marks {{ max-width: 100%; height: auto; }}
  .vega-bindings {{ text-align: right; }}
  .vega-bind input {{ vertical-align: middle; }}
</style>
"""

AnyChart = TypeVar("AnyChart", bound=alt.TopLevelMixin)


def by_method(channel: Any, part: str, styles: Styles, legend: alt.Legend | None = None) -> Any:
    """A channel such as ``alt.Color`` by a part of each method's style, the same in every chart."""
    looks = [getattr(style, part) for style in styles.values()]
    looks = [list(look) if isinstance(look, tuple) else look for look in looks]  # dashes
    return channel("method:N", scale=alt.Scale(domain=[*styles], range=looks), legend=legend)


def log_switch(what: str = "") -> alt.Parameter:
    """The parameter ``logarithmic``, with a checkbox in HTML that says of what."""
    box = alt.binding_checkbox(name=f"logarithmic {what} ")
    return alt.param(name="logarithmic", value=True, bind=box)


def switched(values: ArrayLike, **axis: Any) -> dict[str, Any]:
    """Scale and axis for positive values, logarithmic or linear as ``log_switch`` says.

    Vega cannot change the type of a scale while it is shown, but the exponent of a power
    scale: ``x**e`` between two of its values tends to ``log(x)`` as ``e`` tends to 0. The
    difference is below a hundredth of a pixel at 1e-6.
    """
    numbers = np.asarray(values, dtype=np.float64).ravel().tolist()
    positive = [x for x in numbers if 0 < x < math.inf] or [1.0]
    low, high = min(positive) / 1.1, max(positive) * 1.1
    ticks = log_ticks(low, high)
    scale = alt.Scale(
        type="pow",
        exponent=alt.ExprRef("logarithmic ? 1e-6 : 1"),
        domainMin=alt.ExprRef(f"logarithmic ? {low:.6g} : 0"),
        domainMax=alt.ExprRef(f"{high:.6g}"),
        clamp=True,  # errors of 0 stay on the axis
        nice=False,
    )
    label = "datum.value && abs(datum.value) < 0.001 ? '~e' : '~r'"
    chosen = alt.Axis(
        values=alt.ExprRef(f"logarithmic ? {ticks} : null"),
        labelExpr=f"format(datum.value, {label})",
        **axis,
    )
    return {"scale": scale, "axis": chosen}


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers between two positive ones: powers of ten, or more if these are too few.

    Where the range is so short that it is nearly linear, multiples of a round step.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for digits in ((1,), (1, 3), (1, 2, 5), range(1, 10), [d / 2 for d in range(2, 20)]):
        numbers = (float(f"{digit}e{power}") for power in powers for digit in digits)
        ticks = [tick for tick in numbers if low <= tick <= high]
        if len(ticks) >= 3:
            break
    power = math.floor(math.log10(high - low)) if low < high else 0
    for digit, shift in ((5, 0), (2, 0), (1, 0), (5, 1), (2, 1)):
        if len(ticks) >= 3 or low >= high:
            break
        step = float(f"{digit}e{power - shift}")
        multiples = range(math.floor(low / step), math.ceil(high / step) + 1)
        numbers = (float(f"{digit * n}e{power - shift}") for n in multiples)
        ticks = [tick for tick in numbers if low <= tick <= high]
    return ticks[:: 1 + len(ticks) // 8]


def styled(chart: AnyChart) -> AnyChart:
    """Fonts, greys and a transparent background, for pages light and dark and for print."""
    text: dict[str, Any] = {"labelColor": GREY, "titleColor": GREY, "labelFontSize": FONT_SIZE}
    text |= {"titleFontSize": FONT_SIZE, "titleFontWeight": "normal"}
    lines: dict[str, Any] = {
        "domainColor": GREY,
        "tickColor": GREY,
        "gridColor": GREY,
        "gridOpacity": 0.2,
    }
    title: dict[str, Any] = {"color": GREY, "subtitleColor": GREY, "subtitleFontSize": FONT_SIZE}
    config = alt.Config(
        background="transparent",
        font="sans-serif",
        padding=4,
        view=alt.ViewConfig(stroke=None, continuousWidth=WIDTH, continuousHeight=HEIGHT),
        axis=alt.AxisConfig(
            **(text | lines), titlePadding=8, labelOverlap=True, tickCount=5, labelLimit=200
        ),
        axisX=alt.AxisConfig(titleLimit=220),  # a longer one would be cut at both ends
        axisY=alt.AxisConfig(titleLimit=150),
        legend=alt.LegendConfig(**text, orient="bottom", title=None, columns=2, offset=6),
        header=alt.HeaderConfig(**text),
        title=alt.TitleConfig(**title, anchor="start", fontSize=FONT_SIZE + 1),
    )
    return chart.properties(config=config)


def titled(text: str, about: str | list[str]) -> alt.TitleParams:
    """A title that says what a chart shows, and below it of what."""
    return alt.TitleParams(text, subtitle=about)


def nothing_yet(title: alt.TitleParams) -> alt.TopLevelMixin:
    """What stands where a chart will be."""
    data = alt.InlineData([{"text": "nothing to draw yet"}])
    chart = alt.Chart(data, width=WIDTH, height=40, title=title).encode(text="text:N")
    return styled(chart.mark_text(color=GREY, fontSize=FONT_SIZE))


class _ScriptJson(json.JSONEncoder):
    """JSON that cannot end the script element that it stands in, whatever columns are called."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def save_chart(chart: alt.TopLevelMixin, path: str | Path) -> None:
    """Write a chart in the format that the file's name ends with."""
    check_kind("chart", chart, alt.TopLevelMixin, "as the analysis draws them")
    path = check_path("path", path)
    if path.suffix not in CHART_FORMATS:
        raise ValueError(f"a chart is saved as {', '.join(CHART_FORMATS)}, got {str(path)!r}.")
    if not path.resolve().parent.is_dir():
        raise ValueError(f"the folder of {str(path)!r} must exist; create it first.")
    if path.suffix == ".html":
        page = chart.to_html(inline=True, json_kwds={"cls": _ScriptJson})
        path.write_text(page.replace("<head>", f"<head>\n{PAGE}", 1), encoding="utf-8")
    else:
        chart.save(path, scale_factor=2 if path.suffix == ".png" else 1)
