"""Charts of all problems and methods at once: tests, distances from the best, ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from symbreak.analysis._lineup import (
    ROLE_STYLES,
    VARIANT_STYLES,
    Lineup,
    Styles,
    drawn,
    styles_of,
)
from symbreak.analysis._statistics import LEVEL, Ranks
from symbreak.analysis._style import (
    GREY,
    WIDTH,
    log_ticks,
    method_color,
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
#: Shape and size of the result of a test.
SYMBOLS = {
    "first better": ("triangle-left", 90),
    "second better": ("triangle-right", 90),
    "no difference": ("circle", 12),
    "no test": ("M-1,-1L1,1M1,-1L-1,1", 20),
}


def significance_chart(pairwise_frame: pd.DataFrame, lineup: Lineup) -> alt.TopLevelMixin:
    """Which of two methods is significantly better, problem by problem, a block per family.

    A triangle points to the better method of the pair, in its colour, and is filled if the
    difference stays significant after Holm's adjustment. A dot means no significant
    difference, a cross no test.

    Args:
        pairwise_frame: Columns problem, family, a, b, p, p_holm, a12, significant, better, note.
        lineup: The methods in their order.
    """
    title = titled("Which of two is better?", "a triangle points to it; a dot: no difference")
    if pairwise_frame.empty:
        return nothing_yet(title)
    styles = styles_of(lineup)
    names = {m: name for f in lineup.families for m, name in lineup.short_names(f).items()}
    rows: list[Any] = pairwise_frame.to_dict("records")
    frame = pd.DataFrame([_verdict(row, names, styles) for row in rows])
    labels = alt.Axis(
        title=None,
        orient="top",
        labelAngle=-45,
        labelOverlap=False,
        ticks=False,
        domain=False,
        minExtent=10 + 4.5 * frame["pair"].map(len).max(),  # so that titles of blocks align
    )
    blocks: list[Any] = []
    for family in lineup.families:
        part = frame[frame["family"] == family]
        if part.empty:
            continue
        side = alt.Axis(title=None, ticks=False, domain=False) if not blocks else None
        base = alt.Chart(part, width=alt.Step(34), height=alt.Step(20))
        block = base.mark_point(strokeWidth=1.5, opacity=1).encode(
            x=alt.X("pair:N", sort=list(dict.fromkeys(part["pair"])), axis=labels),
            y=alt.Y("problem:N", axis=side).scale(domain=list(dict.fromkeys(frame["problem"]))),
            stroke=alt.Stroke("color:N", scale=None),
            fill=alt.Fill("color:N", scale=None),
            shape=alt.Shape("shape:N", scale=None),
            size=alt.Size("size:Q", scale=None),
            fillOpacity=alt.condition("datum.holm", alt.value(1), alt.value(0)),
            tooltip=[
                *("problem:N", "a:N", "b:N", "result:N", alt.Tooltip("p:N", title="p-value")),
                alt.Tooltip("p_holm:N", title="p-value after Holm"),
                alt.Tooltip("a12:N", title="chance that a is better"),
                "note:N",
            ],
        )
        # above its cells, not above the row labels
        blocks.append(block.properties(title=alt.TitleParams(family, frame="group")))
    return styled(alt.hconcat(*blocks, spacing=8).properties(title=title))


def _verdict(row: dict[str, Any], names: Mapping[str, str], styles: Styles) -> dict[str, Any]:
    """A symbol for a pair: its shape says the result, its colour who won."""
    better, tested = row["better"], not np.isnan(row["p"])
    result = {row["a"]: "first better", row["b"]: "second better"}.get(better, "no difference")
    result = result if tested else "no test"
    shape, size = SYMBOLS[result]
    numbers = {n: f"{row[n]:.3g}" if tested else "-" for n in ("p", "p_holm", "a12")}
    return {
        **{name: row[name] for name in ("problem", "family", "a", "b", "note")},
        **numbers,
        "pair": " : ".join(names.get(row[side], row[side]) for side in "ab"),
        "result": result,
        "shape": shape,
        "size": size,
        "color": styles[better].color if better in styles else GREY,
        "holm": bool(row["p_holm"] < LEVEL or not better),
    }


def relative_chart(summary_frame: pd.DataFrame, lineup: Lineup) -> alt.TopLevelMixin:
    """Mean errors as multiples of the smallest on the problem: a row per problem, 1 is the best.

    Colours are roles and shapes are families, so that families compare too.

    Args:
        summary_frame: Columns problem, family, method, mean.
        lineup: The methods with their roles.
    """
    title = titled("How far is each method from the best?", "mean errors")
    data = _multiples(summary_frame, lineup)
    if data.empty:
        return nothing_yet(title)
    families = [family for family in lineup.families if family in set(data["family"])]
    styles = [*ROLE_STYLES.values(), VARIANT_STYLES[0]]
    colors = dict(zip(ROLE_WORDS.values(), (style.color for style in styles), strict=True))
    colors = {role: color for role, color in colors.items() if role in set(data["breaking"])}
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(families))]
    top = max(2.0, float(data["multiple"].max()))
    axis = alt.Axis(
        title=None, ticks=False, domain=False, grid=True, labelPadding=10, labelLimit=110
    )
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
    if summary_frame.empty:
        return summary_frame
    roles = {member.method: ROLE_WORDS.get(member.role, "") for member in lineup.members}
    data = summary_frame[["problem", "family", "method", "mean"]]
    data = data[np.isfinite(data["mean"].astype(float))]
    smallest = data.groupby("problem")["mean"].transform("min")
    data = data.assign(smallest=smallest, breaking=data["method"].map(roles))[smallest > 0]
    rounded = [float(f"{value:.4g}") for value in data["mean"] / data.pop("smallest")]
    return data.assign(multiple=rounded)


def rank_chart(ranks: Ranks, styles: Styles) -> alt.TopLevelMixin:
    """Mean ranks over all problems with their critical difference: bars that overlap say nothing.

    Args:
        ranks: From ``overall_ranks``.
        styles: How methods are drawn.
    """
    half = ranks.critical_difference / 2
    data = ranks.table.assign(low=ranks.table["rank"] - half, high=ranks.table["rank"] + half)
    order = list(data["method"])
    y = alt.Y("method:N", sort=order, axis=alt.Axis(title=None, ticks=False, domain=False))
    scale = alt.Scale(zero=False, nice=False, padding=8)
    tooltip: list[Any] = ["method:N", alt.Tooltip("rank:Q", title="mean rank", format=".2f")]
    base = alt.Chart(data).encode(y=y, color=method_color(drawn(styles, order)), tooltip=tooltip)
    bars = base.mark_rule(strokeWidth=5, opacity=0.35).encode(
        x=alt.X("low:Q", title="mean rank (1: best on every problem)", scale=scale), x2="high:Q"
    )
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("rank:Q", scale=scale))
    about = f"{ranks.n_problems} problems; where bars overlap, no difference can be shown"
    chart = alt.layer(bars, dots).properties(width=WIDTH, height=alt.Step(24))
    return styled(chart.properties(title=titled("Overall ranks", about)))
