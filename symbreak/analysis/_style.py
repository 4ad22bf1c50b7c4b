"""What all charts share: colours, sizes, the log/linear switch, and saving to any format."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import altair as alt
import numpy as np
from numpy.typing import ArrayLike


class Look(NamedTuple):
    """How a method is drawn: a colour, and for those who do not see it a dash and a shape."""

    color: str
    dash: tuple[int, ...]
    shape: str


#: By how a method ends. A grey and Okabe and Ito's colours, safe for the colour-blind; the blue
#: is a little lighter, so that all have a contrast of 3 or more on white and on black alike.
LOOKS = {
    "plain": Look("#7f868d", (1, 0), "circle"),
    "INV-SB": Look("#d55e00", (2, 2), "triangle-up"),
    "SB": Look("#1a7fc1", (6, 2), "square"),
    "SB-LA": Look("#009e73", (6, 2, 2, 2), "diamond"),
    "SB-LA-W": Look("#b8860b", (4, 4), "triangle-down"),
    "SB-LA-P": Look("#b8860b", (4, 4), "triangle-down"),
    "SB-BF": Look("#cc79a7", (10, 3), "cross"),
}
#: For methods of other names.
OTHER_LOOKS = (
    Look("#56b4e9", (8, 2, 2, 2, 2, 2), "triangle-right"),
    Look("#8c7b00", (2, 4), "triangle-left"),
    Look("#a9746e", (12, 2), "stroke"),
)
FAMILIES = ("DE", "CMA-ES")
ENDINGS = (
    "SB-BF",
    "SB-LA-W",
    "SB-LA-P",
    "SB-LA",
    "INV-SB",
    "SB",
)  # the longer first: they end alike

#: A grey with a contrast of about 4.3 on white and on black (#111) alike.
GREY = "#797d82"
#: 300 px are 7 cm in print; 11 px are then 7 pt.
WIDTH, HEIGHT, FONT_SIZE = 300, 200, 11
FORMATS = (".svg", ".png", ".pdf", ".html")

AnyChart = TypeVar("AnyChart", bound=alt.TopLevelMixin)


def role_of(method: str) -> str:
    """``"plain"``, the ending of a method's name, or ``"other"``."""
    if method in FAMILIES:
        return "plain"
    return next((ending for ending in ENDINGS if method.endswith(f"-{ending}")), "other")


def look_of(method: str) -> Look:
    """The look of a method: by its ending, or else one of nine by its name alone."""
    if method_look := LOOKS.get(role_of(method)):
        return method_look
    rest, first = divmod(zlib.crc32(method.encode()), len(OTHER_LOOKS))
    second = OTHER_LOOKS[rest % len(OTHER_LOOKS)]
    return OTHER_LOOKS[first]._replace(dash=second.dash, shape=second.shape)


def family_of(method: str) -> str:
    """The name without its ending."""
    return method.removesuffix(f"-{role_of(method)}")


def short_names(methods: Iterable[str]) -> dict[str, str]:
    """Endings alone, for charts that name the family elsewhere; full names if they are alike."""
    names = {method: role_of(method) for method in methods}
    alike = "other" in names.values() or len(set(names.values())) < len(names)
    return {method: method for method in names} if alike else names


def method_order(methods: Iterable[str]) -> list[str]:
    """Each method once: DE, CMA-ES, others; within a family plain, INV-SB, SB, SB-LA, SB-BF."""
    roles, families = [*LOOKS, "other"], [*FAMILIES]

    def rank(method: str) -> tuple[int, str, int, str]:
        family = family_of(method)
        known = families.index(family) if family in families else len(families)
        return known, family, roles.index(role_of(method)), method

    return sorted(set(methods), key=rank)


def method_color(methods: Sequence[str], legend: alt.Legend | None = None) -> alt.Color:
    """Colour by method, the same in every chart; no legend unless there is one given."""
    scale = alt.Scale(domain=list(methods), range=[look_of(name).color for name in methods])
    return alt.Color("method:N", scale=scale, legend=legend)


def method_dash(methods: Sequence[str], legend: alt.Legend | None = None) -> alt.StrokeDash:
    """Dashes by method."""
    scale = alt.Scale(domain=list(methods), range=[list(look_of(name).dash) for name in methods])
    return alt.StrokeDash("method:N", scale=scale, legend=legend)


def method_shape(methods: Sequence[str]) -> alt.Shape:
    """Shape of points by method."""
    scale = alt.Scale(domain=list(methods), range=[look_of(name).shape for name in methods])
    return alt.Shape("method:N", scale=scale, legend=None)


def log_switch() -> alt.Parameter:
    """The parameter ``logarithmic``, with a checkbox in HTML."""
    box = alt.binding_checkbox(name="logarithmic ")
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
    """Round numbers between two positive ones: powers of ten, or more if these are too few."""
    ticks: list[float] = []
    for digits in ((1,), (1, 3), (1, 2, 5), range(1, 10), [d / 2 for d in range(2, 20)]):
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        rounded = (float(f"{digit}e{power}") for power in powers for digit in digits)
        ticks = [tick for tick in rounded if low <= tick <= high]
        if len(ticks) >= 3:
            break
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
        axis=alt.AxisConfig(**text, **lines, labelOverlap=True, tickCount=5, labelLimit=200),
        legend=alt.LegendConfig(**text, orient="bottom", title=None, columns=2, offset=6),
        header=alt.HeaderConfig(**text),
        title=alt.TitleConfig(**title, anchor="start", fontSize=FONT_SIZE + 1),
    )
    return chart.properties(config=config)


def nothing_yet(title: str) -> alt.TopLevelMixin:
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
    path = Path(path)
    if path.suffix not in FORMATS:
        raise ValueError(f"a chart is saved as {', '.join(FORMATS)}, got {str(path)!r}.")
    if not path.resolve().parent.is_dir():
        raise ValueError(f"the folder of {str(path)!r} must exist; create it first.")
    if path.suffix == ".html":
        chart.save(path, inline=True, json_kwds={"cls": _ScriptJson})
    elif path.suffix == ".png":
        chart.save(path, scale_factor=2)
    else:
        chart.save(path)
