"""Charts with problems as rows and methods, or pairs of them, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from symbreak.analysis._arguments import check_frame, check_lineup
from symbreak.analysis._lineup import Lineup
from symbreak.analysis._statistics import LEVEL
from symbreak.analysis._style import (
    FONT_SIZE,
    GREY,
    Looks,
    drawn,
    looks_of,
    nothing_yet,
    styled,
    titled,
)
from symbreak.analysis._thinning import finite

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
    check_lineup(lineup)
    texts = ("problem", "method", "family")
    check_frame("summary_frame", summary_frame, texts, ("normalised_mean",))
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
    check_lineup(lineup)
    texts = ("problem", "family", "a", "b", "better", "note")
    numbers = ("p", "p_holm", "a12", "significant")
    pairwise_frame = check_frame("pairwise_frame", pairwise_frame, texts, numbers)
    title = titled("Which of two is better?", "a triangle points to it; a dot: no difference")
    problems = list(dict.fromkeys(pairwise_frame["problem"])) if len(pairwise_frame) else []
    blocks: list[alt.Chart] = []
    for family, part in _by_family(pairwise_frame, lineup):
        chart = _verdicts(part, problems, lineup.short_names(family), looks_of(lineup), not blocks)
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
    data: pd.DataFrame, problems: list[str], names: Mapping[str, str], looks: Looks, first: bool
) -> alt.Chart:
    """A symbol per problem and pair: its shape says the result, its colour who won."""
    rows = [_verdict(row, names) for row in data.to_dict("records")]
    pairs = list(dict.fromkeys(row["label"] for row in rows))
    winners = drawn(looks, (row["better"] for row in rows))
    colors = [look.color for look in winners.values()]
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
