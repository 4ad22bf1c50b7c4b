"""Draw the figures of README and docs/reproduction.md from the runs of the reference study.

    python scripts/study_figures.py

For README, medians and quartiles of 50 runs each on sinc, with and without symmetry breaking, and
the table of all problems as a picture; for the page, convergence on every problem by family.
"""

from collections.abc import Iterator
from pathlib import Path

import altair as alt
import pandas as pd
from _differences import complete_families

from symbreak.analysis import Results, convergence_chart, save_chart
from symbreak.analysis._charts import PARTS, part_chart, quartiles
from symbreak.analysis._lineup import ROLE_STYLES
from symbreak.analysis._paper import PAPER_METHODS
from symbreak.analysis._style import FONT_SIZE, GREY, log_ticks, styled, titled
from symbreak.experiments import Archive

ROOT = Path(__file__).parent.parent
STUDY, PROBLEM = ROOT / "studies" / "paper", "sinc"
FIGURE = ROOT / "docs" / "figures" / "with-and-without.svg"
TABLE = ROOT / "docs" / "figures" / "table-1.svg"
CURVES = ROOT / "docs" / "figures" / "paper"
FAMILIES = {"DE": "Differential Evolution", "CMA-ES": "CMA-ES"}
WITHOUT, WITH = "without", "with symmetry breaking"
LABEL_AT = 260_000  # evaluations, where the curves are far apart
ROLES = {"plain": WITHOUT, "proximity": WITH}


def curves() -> pd.DataFrame:
    """Quartiles of the best error so far, by family and with or without breaking."""
    frames = Archive(STUDY).frames()
    runs, every = frames.runs, frames.curves
    methods = runs[["method", "family", "role"]].drop_duplicates()
    chosen = every[every["problem"] == PROBLEM].merge(methods, on="method")
    chosen = chosen[chosen["role"].isin(ROLES)]
    frame = quartiles(chosen, "error").merge(methods, on="method")
    frame["breaking"] = frame["role"].map(ROLES)
    return frame[frame["evaluations"] >= 1_000]


def panel(data: pd.DataFrame, family: str, low: float, high: float) -> alt.LayerChart:
    """Both ways of one optimizer."""
    rows = data[data["family"] == family]
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    ticks = log_ticks(low, high)
    first = family == next(iter(FAMILIES))
    axis = alt.Axis(
        values=ticks, format="~e", labels=first, title="training error" if first else None
    )
    x = alt.X("evaluations:Q", title="networks evaluated", axis=alt.Axis(format="~s"))
    y = alt.Y("median:Q", scale=scale, axis=axis)
    colors = [ROLE_STYLES[role].color for role in ROLES]
    color = alt.Color(
        "breaking:N", scale=alt.Scale(domain=[WITHOUT, WITH], range=colors), legend=None
    )
    base = alt.Chart(rows, width=300, height=210, title=FAMILIES[family])
    band = base.mark_area(opacity=0.22).encode(y=alt.Y("lower:Q", scale=scale), y2="upper:Q")
    line = base.mark_line(strokeWidth=2.5).encode(y=y)
    layers = [band.encode(x=x, color=color), line.encode(x=x, color=color)]
    if first:  # the colours are the same in the other panel
        place = rows["evaluations"].sub(LABEL_AT).abs().groupby(rows["breaking"]).idxmin()
        words = alt.Chart(rows.loc[place]).mark_text(dy=-22, fontSize=14, fontWeight="bold")
        layers.append(words.encode(x=x, y=y, color=color, text="breaking:N"))
    return alt.layer(*layers)


def figure() -> alt.TopLevelMixin:
    """Both families, side by side."""
    data = curves()
    low, high = data["lower"].min() / 1.2, data["upper"].max() * 1.1
    panels = [panel(data, family, low, high) for family in FAMILIES]
    title = alt.TitleParams(
        "Same network, same data, same number of evaluations",
        subtitle="Five tanh neurons learn a noisy sinc. Median and quartiles of 50 runs.",
        fontSize=15,
        subtitleFontSize=12,
        color=GREY,
        offset=12,
    )
    return styled(alt.hconcat(*panels, spacing=24).properties(title=title))


def table(results: Results) -> alt.TopLevelMixin:
    """Table 1 of the study: every complete problem, the paper's three methods of each family."""
    methods = [method for three in PAPER_METHODS.values() for method in three]
    known, rows = complete_families(results)["problem"], results.summary
    rows = rows[rows["method"].isin(methods) & rows["problem"].isin(known)]
    about = ["50 runs each, divided by the worst of", "the family; the best is bold"]
    problems, blocks = list(dict.fromkeys(rows["problem"])), []
    for family in PAPER_METHODS:
        names = {m: m.removeprefix(f"{family}-") for m in PAPER_METHODS[family]}
        block = _cells(rows[rows["family"] == family], problems, names, first=not blocks)
        blocks.append(block.properties(title=alt.TitleParams(family, frame="group")))
    chart = styled(alt.hconcat(*blocks, spacing=8).properties(title=titled("Mean errors", about)))
    return chart.properties(padding={"left": 16, "right": 5, "top": 5, "bottom": 5})


def _cells(
    rows: pd.DataFrame, problems: list[str], names: dict[str, str], first: bool
) -> alt.LayerChart:
    """A coloured cell per problem and method with its number; dark is good, bold the best."""
    cells = rows.assign(label=rows["method"].map(names))
    cells["text"] = [f"{value:.2f}" for value in cells["normalised_mean"]]
    labels = [name for method, name in names.items() if method in set(rows["method"])]
    bare = {"title": None, "ticks": False, "domain": False}
    top = alt.Axis(**bare, orient="top", labelAngle=-45, labelOverlap=False, minExtent=40)
    base = alt.Chart(cells[["problem", "label", "text", "normalised_mean", "best"]]).encode(
        x=alt.X("label:N", sort=labels, axis=top),
        y=alt.Y("problem:N", sort=problems, axis=alt.Axis(**bare) if first else None),
    )
    shades = alt.Scale(domain=[0, 1], range=["#08507d", "#5d9cc4", "#dfe6eb"])
    ink = alt.condition("datum.normalised_mean < 0.45", alt.value("#fff"), alt.value("#000"))
    numbers = base.encode(text="text:N", color=ink)
    bold = numbers.mark_text(fontSize=FONT_SIZE, fontWeight="bold")
    layers = [
        base.mark_rect(cornerRadius=2).encode(
            color=alt.Color("normalised_mean:Q", scale=shades, legend=None)
        ),
        bold.transform_filter("datum.best === true"),
        numbers.mark_text(fontSize=FONT_SIZE).transform_filter("datum.best !== true"),
    ]
    return alt.LayerChart(layer=layers, width=alt.Step(40), height=alt.Step(20))


def convergence(results: Results) -> Iterator[tuple[Path, alt.TopLevelMixin]]:
    """Errors over evaluations, a picture for each complete problem and family, and its file.

    As in the paper's figures, training errors, and error rates on all parts in classification.
    """
    medians = results.runs.groupby(["problem", "method"])["table_error"].median()
    for problem, family in complete_families(results)[["problem", "family"]].itertuples(
        index=False
    ):
        styles = results.styles(family, problem)
        if results.facts[problem]["task"] == "classification":
            parts = [
                _still(part_chart(results.part_errors, results.runs, problem, styles, part))
                for part in PARTS
            ]
            chart, what = styled(alt.hconcat(*parts)), "error rates"
        else:
            chart, what = convergence_chart(results.curves, problem, styles), "training error"
        names = {m: m.removeprefix(f"{family}-") for m in PAPER_METHODS[family]}
        three = PAPER_METHODS[family]
        ends = ", ".join(f"{names[m]} {medians[problem, m]:.2g}" for m in three)
        chart.title = titled(f"{problem}, {family}: {what}", f"in the end: {ends}")
        yield CURVES / f"{problem}-{family}.svg", chart


def _still(chart: alt.LayerChart) -> alt.LayerChart:
    """A chart of curves without what can be clicked or hovered, to stand beside others."""
    line, *others, _ = chart.layer
    for layer in (line, *others):
        layer.transform = layer.params = alt.Undefined
    still = alt.LayerChart(layer=[line, *others], width=chart.width * 4 // 9, height=chart.height)
    return still.properties(title=chart.title.text.split()[0].lower())


if __name__ == "__main__":
    results = Results.of(Archive(STUDY))
    save_chart(figure(), FIGURE)
    save_chart(table(results), TABLE)
    CURVES.mkdir(exist_ok=True)
    for path, chart in convergence(results):
        save_chart(chart, path)
