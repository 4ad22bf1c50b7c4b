"""Results as a page that people want to open, with their tables and figures beside it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import jinja2
import numpy as np
import vl_convert
from altair.utils.schemapi import debug_mode
from markupsafe import Markup

from symbreak._support.checks import check_folder, check_path, shown
from symbreak._support.writing import write_bytes, write_text
from symbreak._version import __version__
from symbreak.analysis import _charts, _statistics, _tables
from symbreak.analysis._data_charts import fit_chart
from symbreak.analysis._lineup import styles_of
from symbreak.analysis._paper import TABLE_1, Cell
from symbreak.analysis._results import Results
from symbreak.analysis._words import paper_sentences, provenance, summary_sentences
from symbreak.experiments import open_results

#: What figures are saved as, made of SVG.
FORMATS: dict[str, Callable[[str], bytes]] = {
    "svg": str.encode,
    "png": lambda svg: vl_convert.svg_to_png(svg, 2),
    "pdf": vl_convert.svg_to_pdf,
}


#: JSON cannot end the script element that it stands in.
_INSIDE_SCRIPTS = {ord(c): f"\\u{ord(c):04x}" for c in "<>&"}


class Figure(NamedTuple):
    """A chart with its place in a page: what it shows, and how to read it."""

    id: str  # name of its files, and of its place in the page
    spec: str  # as JSON
    title: str
    caption: str


class Figures:
    """All figures of a report; each becomes files of some formats, in a folder."""

    def __init__(self, folder: Path, formats: Sequence[str] = ()) -> None:
        self.made: list[Figure] = []
        self._folder, self._formats = folder, formats

    def add(
        self, name: str, chart: alt.TopLevelMixin, caption: str = "", *, title: str = ""
    ) -> Figure:
        """A figure, by default with the title that its chart has."""
        spec = chart.to_dict(validate=False)
        text = json.dumps(spec, separators=(",", ":"), allow_nan=False)
        self.made.append(Figure(name, text, title or spec["title"]["text"], caption))
        if self._formats:
            spec["config"]["aria"] = False  # half the size
            svg = vl_convert.vegalite_to_svg(spec)
            self._folder.mkdir(parents=True, exist_ok=True)
        for ending in self._formats:  # PNG for screens, the others for print
            drawn = FORMATS[ending](svg)
            write_bytes(self._folder / f"{name}.{ending}", drawn, follow_links=False)
        return self.made[-1]


class Report(NamedTuple):
    """A report that was written."""

    page: Path
    results: Results


def write_report(
    store: str | Path | Sequence[str | Path],
    folder: str | Path,
    *,
    formats: Sequence[str] = ("svg", "pdf"),
) -> Report:
    """Turn stores, finished or still running, into a folder with a page, tables and figures.

    Args:
        store: A store or an archive, or several that are reported together.
        folder: Where to; made if it is missing. ``index.html`` there is one self-contained page.
        formats: Of the figures in ``figures/``: svg, png, pdf; none for the page alone.

    Raises:
        ValueError: if runs of several stores could not be compared.
    """
    folder = check_folder("folder", folder)
    stores = store if isinstance(store, list | tuple) else [store]
    paths = [check_path("store", each) for each in stores]
    if not paths:
        raise ValueError(f"a report needs at least one store, got {shown(store)}.")
    if not isinstance(formats, list | tuple):
        raise TypeError(f"formats must be a sequence, such as ('svg',), got {shown(formats)}.")
    for name in formats:
        if not isinstance(name, str) or name not in FORMATS:
            raise ValueError(f"figures are saved as {', '.join(FORMATS)}, got {shown(name)}.")
    with ExitStack() as stack:
        sources = [open_results(path) for path in paths]
        for source in sources:
            stack.enter_context(source)
        results = Results.of(*sources)
        folder.mkdir(parents=True, exist_ok=True)
        runs = results.runs.drop(columns="versions")  # the page says them, once
        for name, text in (
            ("results.csv", runs.to_csv(index=False)),
            ("table.csv", results.summary.to_csv(index=False)),
            ("table.md", _tables.markdown_table(results)),
            ("table.tex", _tables.latex_table(results)),
        ):
            write_text(folder / name, text, follow_links=False)  # somebody's links stay
        page = render_page(results, paths[0].stem, Figures(folder / "figures", formats))
    index = folder / "index.html"  # written whole, so that a browser never sees half of it
    write_text(index, page, follow_links=False)
    return Report(index, results)


def render_page(results: Results, name: str, figures: Figures) -> str:
    """The page as HTML, with that name if no study has one; its figures are saved on the way."""
    there = not results.runs.empty
    extent, *sentences = summary_sentences(results)
    with debug_mode(False):  # charts are validated by tests
        lead = list(_lead(results, figures)) if there else []
        targets = list(_targets_reached(results, figures)) if there else []
        problems = [_problem(results, *each, figures) for each in enumerate(results.problems)]
    specs = ",".join(f"{json.dumps(figure.id)}:{figure.spec}" for figure in figures.made)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("symbreak.analysis"), autoescape=True, trim_blocks=True
    )
    page: str = environment.get_template("report.html.j2").render(
        title=" + ".join(dict.fromkeys(study[0] for study in results.studies)) or name,
        version=__version__,
        made=datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        extent=extent,
        sentences=sentences,
        lead=lead,
        targets=targets,
        problems=problems,
        table=_table(results) if there else None,
        agreement=results.agreement,
        paper_words=paper_sentences(results),
        libraries=Markup(_javascript()),
        specs=Markup(f"{{{specs}}}".translate(_INSIDE_SCRIPTS)),
        **provenance(results),
    )
    return page


def _lead(results: Results, figures: Figures) -> Iterator[Figure]:
    """What a stranger sees first: errors falling on a typical problem, then everything at once."""
    problem, styles = results.lead
    chart = _charts.convergence_chart(results.curves, problem, styles)
    said = (
        "A line is the median of all runs, its band holds the middle half of them. Lower is better."
    )
    yield figures.add(
        "lead-convergence", chart, said, title=f"Training {problem}: best error so far"
    )
    if (ranks := results.ranks) is not None:
        chart = _charts.rank_chart(ranks, styles_of(results.lineup))
        said = (
            f"Mean ranks on {ranks.n_problems} problems of the methods that ran on all of them; a "
            "bar is the critical difference of Nemenyi's test at 0.05, and where two overlap, no "
            "difference can be shown."
        )
        yield figures.add("lead-ranks", chart, said)
    if results.runs["method"].nunique() > 1:
        chart = _charts.relative_chart(results.summary, results.lineup)
        said = "Every method on every problem; the further left the better, at 1 the best of all."
        yield figures.add("lead-relative", chart, said)


def _targets_reached(results: Results, figures: Figures) -> Iterator[Figure]:
    """A chart for each family of several methods."""
    reached = _statistics.ecdf(results.hits)
    for number, family in enumerate(results.lineup.families if len(reached) else ()):
        if len(results.methods(family)) > 1:
            yield figures.add(
                f"targets-{number}",
                _charts.ecdf_chart(reached, results.styles(family)),
                title=family,
            )


def _problem(results: Results, number: int, name: str, figures: Figures) -> dict[str, Any]:
    """What the page shows of a problem."""
    label, fit = f"problem-{number}", results.fits.get(name)
    figure = None
    if fit:
        said = f"The best network is that of {fit.method}, repetition {fit.repetition}."
        figure = figures.add(f"{label}-fit", fit_chart(fit.problem, fit.model, name), said)
    return {
        "name": name,
        "anchor": label,
        "facts": _facts(results, name),
        "errors": _tables.error_table(results, name),
        "fit": figure,
        "quality": fit and _tables.quality_table(fit),
        "families": {
            family: list(_family_figures(results, f"{label}-family-{i}", name, family, figures))
            for i, family in enumerate(results.lineup.families)
            if results.methods(family, name)
        },
        "tables": list(_tables.number_tables(results, name)),
    }


def _facts(results: Results, name: str) -> str:
    facts, runs = results.facts[name], results.runs
    budgets = sorted(set(runs[runs["problem"] == name]["max_evaluations"]))
    parts = [f"{n:,}" for n in facts["samples"]]
    others = " (training and others)" if len(parts) > 1 else ""
    samples = f"{' + '.join(parts)} samples{others}, " if parts else ""
    return (
        f"{facts['description']}{'. ' if facts['description'] else ''}"
        f"{facts['task'].capitalize()} with a {facts['net']} network: {facts['dim']} parameters, "
        f"{_tables.integer_text(str(facts['n_replicas']))} replicas of every network, {samples}"
        f"{' or '.join(f'{n:,}' for n in budgets)} evaluations a run. "
    )


def _family_figures(
    results: Results, label: str, name: str, family: str, figures: Figures
) -> Iterator[Figure]:
    """Convergence, results and work of breaking on one problem, and errors on parts of its data."""
    styles, runs = results.styles(family, name), results.runs
    charts = [
        (
            "convergence",
            _charts.convergence_chart(results.curves, name, styles),
            "Median and middle half of the runs.",
        ),
        (
            "boxes",
            _charts.box_chart(runs, name, styles),
            "A point is a run, a box the middle half of them.",
        ),
        (
            "modified",
            _charts.modified_chart(results.traces, name, styles),
            "How many candidates of a generation are replaced by a replica.",
        ),
        (
            "spread",
            _charts.spread_chart(results.spread, name, styles),
            "How many replicas of the optimum the candidates gather around; at 1 they agree.",
        ),
    ]
    said = "Of the network that had the smallest error on validation data so far."
    for part, called in _charts.PARTS.items():
        chart = _charts.part_chart(results.part_errors, runs, name, styles, part)
        charts.append((called, chart, said))
    for what, drawn, caption in charts:
        if drawn is not None:
            yield figures.add(f"{label}-{what}", drawn, caption)


def _table(results: Results) -> dict[str, Any]:
    """The normalised table, with the best of all methods in its first column."""
    lineup, methods = results.lineup, [member.method for member in results.lineup.members]
    here = {(row["problem"], row["method"]): row for row in _tables.records(results.summary)}
    against_plain = {
        (row["problem"], row["b"]): row
        for row in _tables.records(results.family_tests[1])
        if row["a"] == lineup.first(row["family"], "plain")
    }
    best = {row["problem"]: row for row in _tables.records(results.best)}
    rows: list[dict[str, Any]] = []
    for number, name in enumerate(results.problems):
        known = None if name in results.shorter else results.paper_problems.get(name)
        printed = TABLE_1.get(known or "", {})
        cells = [
            _cell(here[name, m], against_plain.get((name, m)), printed.get(m))
            if (name, m) in here
            else None
            for m in methods
        ]
        row = {"problem": name, "anchor": f"problem-{number}", "cells": cells}
        if top := best.get(name):
            row["best"] = f"{top['method']} ({_tables.text_of(top['mean'])})"
        for other, (p, _) in list(_tables.against_best(results, name).items())[:1]:
            row["second"] = f"p = {p} against {other}"
        rows.append(row)
    families = {f: len(lineup.methods(f)) for f in lineup.families}
    shown = any(cell and cell["paper"] for row in rows for cell in row["cells"])
    return {"families": families, "methods": methods, "rows": rows, "paper": shown}


def _cell(row: dict[str, Any], test: dict[str, Any] | None, printed: Cell | None) -> dict[str, Any]:
    """A cell: the smaller the mean, the darker; how its test ends, and what the paper has there."""
    mean, mark = row["normalised_mean"], ""
    if test and test["better"]:
        mark = ("▼▲" if test["significant_holm"] else "▽△")[test["better"] == row["method"]]
    return {
        "text": _tables.cell_text(mean, row["normalised_std"]),
        "best": row["best"],
        "mark": mark,
        "shade": 0 if np.isnan(mean) else round(40 * max(0.0, 1 - mean)),
        "paper": _tables.cell_text(*printed) if printed else "",
    }


@cache
def _javascript() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, from the package that renders figures."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")
