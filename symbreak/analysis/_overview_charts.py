"""Charts of all problems and methods at once: errors, tests, distances from the best, ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from symbreak.analysis._charts import finite
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
    FONT_SIZE,
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
#: Pixels for slanted names of methods and of pairs, as for CMA-ES: so titles of blocks align.
METHOD_HEIGHT, PAIR_HEIGHT = 40, 76
#: Shape and size of the result of a test.
SYMBOLS = {
    "first better": ("triangle-left", 90),
    "second better": ("triangle-right", 90),
    "no difference": ("circle", 12),
    "no test": ("M-1,-1L1,1M1,-1L-1,1", 20),
}


def heat_map(summary_frame: pd.DataFrame, lineup: Lineup) -> alt.TopLevelMixin:
    """Normalised mean errors of problems and methods, a block per family, the best in bold.

    Args:
        summary_frame: Columns problem, method, family, normalised_mean, best.
        lineup: The methods in their order.
    """
    title = titled("Normalised mean errors", "dark is good; the best of a family in bold")
    columns = ["problem", "method", "family", "normalised_mean", "best"]
    data = summary_frame.reindex(columns=columns)
    data = data[finite(data, "normalised_mean")]
    problems = list(dict.fromkeys(data["problem"]))
    top = max(1.0, float(data["normalised_mean"].max())) if len(data) else 1.0
    blocks: list[alt.LayerChart] = []
    for family, part in _by_family(data, lineup):
        names = lineup.short_names(family)
        block = _cells(part, problems, names, top, first=not blocks)
        blocks.append(block.properties(title=_block_title(family)))
    if not blocks:
        return nothing_yet(title)
    return styled(alt.hconcat(*blocks, spacing=8).properties(title=title))


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
    problems = list(dict.fromkeys(pairwise_frame["problem"])) if len(pairwise_frame) else []
    blocks: list[alt.Chart] = []
    for family, part in _by_family(pairwise_frame, lineup):
        chart = _verdicts(part, problems, lineup.short_names(family), styles_of(lineup), not blocks)
        blocks.append(chart.properties(title=_block_title(family)))
    if not blocks:
        return nothing_yet(title)
    row = alt.hconcat(*blocks, spacing=8)
    row = row.resolve_scale(stroke="independent", fill="independent")  # the winners differ
    return styled(row.properties(title=title))


def _block_title(family: str) -> alt.TitleParams:
    return alt.TitleParams(family, frame="group")  # above its cells, not above the row labels


def _by_family(frame: pd.DataFrame, lineup: Lineup) -> Iterator[tuple[str, pd.DataFrame]]:
    for family in lineup.families if len(frame) else ():
        part = frame[frame["family"] == family]
        if len(part):
            yield family, part


def _cells(
    data: pd.DataFrame, problems: list[str], names: Mapping[str, str], top: float, first: bool
) -> alt.LayerChart:
    """A coloured cell per problem and method with its number; dark is good."""
    cells = data.assign(label=data["method"].map(names))
    cells["text"] = [f"{value:.2f}" for value in data["normalised_mean"]]
    base = alt.Chart(cells).encode(
        x=_label_axis([n for m, n in names.items() if m in set(data["method"])], METHOD_HEIGHT),
        y=_problem_axis(problems, first),
        tooltip=["problem:N", "method:N", alt.Tooltip("normalised_mean:Q", format=".4f")],
    )
    shades = alt.Scale(domain=[0, top], range=["#08507d", "#5d9cc4", "#dfe6eb"])
    fill = alt.Color("normalised_mean:Q", scale=shades, legend=None)
    dark = f"datum.normalised_mean < {0.45 * top}"
    ink = alt.condition(dark, alt.value("#fff"), alt.value("#000"))
    numbers = base.encode(text="text:N", color=ink)
    bold = numbers.mark_text(fontSize=FONT_SIZE, fontWeight="bold")
    plain = numbers.mark_text(fontSize=FONT_SIZE)
    layers = [
        base.mark_rect(cornerRadius=2).encode(color=fill),
        bold.transform_filter("datum.best === true"),
        plain.transform_filter("datum.best !== true"),
    ]
    return alt.LayerChart(layer=layers, width=alt.Step(40), height=alt.Step(20))


def _verdicts(
    data: pd.DataFrame, problems: list[str], names: Mapping[str, str], styles: Styles, first: bool
) -> alt.Chart:
    """A symbol per problem and pair: its shape says the result, its colour who won."""
    rows = [_verdict(row, names) for row in data.to_dict("records")]
    pairs = list(dict.fromkeys(row["label"] for row in rows))
    winners = drawn(styles, (row["better"] for row in rows))
    colors = [style.color for style in winners.values()]
    inks = alt.Scale(domain=[*winners, ""], range=[*colors, GREY])
    shapes = alt.Scale(domain=list(SYMBOLS), range=[shape for shape, _ in SYMBOLS.values()])
    chart = alt.Chart(pd.DataFrame(rows)).mark_point(strokeWidth=1.5, opacity=1)
    return chart.encode(
        x=_label_axis(pairs, PAIR_HEIGHT),
        y=_problem_axis(problems, first),
        stroke=alt.Stroke("better:N", scale=inks, legend=None),
        fill=alt.Fill("better:N", scale=inks, legend=None),
        shape=alt.Shape("result:N", scale=shapes, legend=None),
        size=alt.Size("size:Q", scale=None),
        fillOpacity=alt.condition("datum.holm", alt.value(1), alt.value(0)),
        tooltip=[
            *("problem:N", "a:N", "b:N", "result:N", alt.Tooltip("p:N", title="p-value")),
            alt.Tooltip("p_holm:N", title="p-value after Holm"),
            alt.Tooltip("a12:N", title="chance that a is better"),
            "note:N",
        ],
    ).properties(width=alt.Step(34), height=alt.Step(20))


def _verdict(row: dict[Any, Any], names: Mapping[str, str]) -> dict[str, Any]:
    better = row["better"] if row["significant"] else ""
    result = {row["a"]: "first better", row["b"]: "second better"}.get(better, "no difference")
    tested = not np.isnan(row["p"])
    p, p_holm, a12 = (f"{row[name]:.3g}" if tested else "-" for name in ("p", "p_holm", "a12"))
    return {
        "size": SYMBOLS[result][1],
        **{name: row[name] for name in ("problem", "a", "b", "note")},
        **{"p": p, "p_holm": p_holm, "a12": a12, "better": better},
        "label": " : ".join(names.get(row[side], row[side]) for side in "ab"),
        "result": result if tested else "no test",
        "holm": bool(row["p_holm"] < LEVEL or not better),
    }


def _label_axis(labels: list[str], height: int) -> alt.X:
    axis = alt.Axis(
        title=None,
        orient="top",
        labelAngle=-45,
        labelOverlap=False,
        ticks=False,
        domain=False,
        minExtent=height,
    )
    return alt.X("label:N", sort=labels, axis=axis)


def _problem_axis(problems: list[str], first: bool) -> alt.Y:
    axis = alt.Axis(title=None, ticks=False, domain=False) if first else None
    return alt.Y("problem:N", sort=problems, axis=axis, scale=alt.Scale(domain=problems))


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
    roles = [words for words in ROLE_WORDS.values() if words in set(data["breaking"])]
    styles = [*ROLE_STYLES.values(), VARIANT_STYLES[0]]
    colors = dict(zip(ROLE_WORDS.values(), (style.color for style in styles), strict=True))
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(families))]
    legend = alt.Legend(orient="top", symbolFillColor=GREY, columns=4)
    color_legend = alt.Legend(columns=2)
    ticks = log_ticks(1, max(2.0, float(data["multiple"].max())))
    scale = alt.Scale(type="log", domain=[0.95, 1.1 * max(2.0, float(data["multiple"].max()))])
    axis = alt.Axis(
        title=None, ticks=False, domain=False, grid=True, labelPadding=10, labelLimit=110
    )
    chart = alt.Chart(data, width=WIDTH, height=alt.Step(26)).mark_point(
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
