"""The page of a report: its sections, each a few figures, tables and words."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import count, repeat, zip_longest
from typing import Any

import jinja2
import vl_convert
from altair.utils.schemapi import debug_mode
from markupsafe import Markup

from symbreak._version import __version__
from symbreak.analysis import _charts, _matrix_charts, _targets
from symbreak.analysis._figures import Figure, FigureFiles, figure
from symbreak.analysis._fit_chart import fit_chart
from symbreak.analysis._fits import Fit
from symbreak.analysis._idea_chart import breaking_chart, separation_chart
from symbreak.analysis._numbers import (
    error_table,
    number_tables,
    quality_table,
    records,
    text_of,
    whole_number,
)
from symbreak.analysis._provenance import provenance
from symbreak.analysis._relative_chart import relative_chart
from symbreak.analysis._results import Results
from symbreak.analysis._tables import cell_text
from symbreak.analysis._words import paper_sentences, summary_sentences


def render_page(
    results: Results,
    name: str,
    refresh: int,
    files: FigureFiles,
    pool: ProcessPoolExecutor | None = None,
) -> str:
    """The page as HTML; its figures are saved on the way.

    Args:
        results: What to show.
        name: A title, if no study has one.
        refresh: Seconds after which an open page looks again; 0 for never.
        files: Where figures go.
        pool: Processes to share the drawing out to.
    """
    # Charts and their files take almost all of the time, so problems are shared out.
    run = pool.map if pool else map
    sections = run(problem_section, results.by_problem(), count(), repeat(files))
    with debug_mode(False):  # charts are validated by tests
        fits = {name: _fit_figure(fit, name, i) for name, fit, i in _numbered_fits(results)}
        common = [*_lead(results), *_overview(results), *_idea(), *fits.values()]
    saved = run(files.save, [common])
    extent, *sentences = summary_sentences(results)  # meanwhile
    context = {"table": _table(results), "agreement": _agreement(results), **provenance(results)}
    problems = [{**section, **_fit_parts(results, section["name"], fits)} for section in sections]
    list(saved)  # raises what went wrong
    figures = [*common, *(figure for problem in problems for figure in problem["all_figures"])]
    specs = ",".join(f"{json.dumps(figure.id)}:{figure.spec}" for figure in figures)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("symbreak.analysis"), autoescape=True, trim_blocks=True
    )
    page: str = environment.get_template("report.html.j2").render(
        title=" + ".join(dict.fromkeys(name for name, _ in results.studies)) or name,
        version=__version__,
        made=datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        refresh=refresh,
        extent=extent,
        sentences=sentences,
        paper_words=paper_sentences(results),
        lead=_section(common, "lead"),
        overview=_section(common, "overview"),
        idea=_section(common, "idea"),
        problems=problems,
        libraries=Markup(_javascript()),
        specs=Markup(_escaped_json(f"{{{specs}}}")),
        **context,
    )
    return page


def _section(figures: list[Figure], section: str) -> list[Figure]:
    return [figure for figure in figures if figure.id.startswith(section)]


def _lead(results: Results) -> Iterator[Figure]:
    """What a stranger sees first: errors falling on a typical problem, then everything at once."""
    if results.runs.empty:
        return
    problem, family = results.typical
    caption = "A line is the median of all runs, its band holds the middle half of them. Lower is "
    caption += "better."
    if len(results.gains) > 1:
        caption += " A typical problem: breaking gains here what it gains in the median of all."
    yield figure(
        "lead-convergence",
        _charts.convergence_chart(results.curves, problem, results.looks(family, problem)),
        caption,
        title=f"Training {problem} with {family}: best error so far",
    )
    if results.runs["method"].nunique() > 1:
        yield figure(
            "lead-relative",
            relative_chart(results.summary, results.lineup),
            "Every method on every problem; the further left the better, at 1 the best of all.",
        )


def _overview(results: Results) -> Iterator[Figure]:
    """Two wide charts of all problems, a narrow one of each family beside them."""
    if results.runs.empty:
        return
    wide = (
        figure(
            "overview-heat-map",
            _matrix_charts.heat_map(results.summary, results.lineup),
            "Mean errors divided by the largest of a family's compared methods; dark is good.",
            wide=True,
        ),
        figure(
            "overview-significance",
            _matrix_charts.significance_chart(results.pairwise, results.lineup),
            "A triangle points to the significantly better of two methods (Wilcoxon rank-sum test "
            "at 0.05, uncorrected as in the paper), and is filled if that stays so after Holm's "
            "correction. A dot: no difference can be shown; a cross: too few runs to test.",
            wide=True,
        ),
    )
    for pair in zip_longest(wide, _targets_reached(results)):
        yield from filter(None, pair)


def _targets_reached(results: Results) -> Iterator[Figure]:
    reached = _targets.ecdf(results.hits) if len(results.hits) else results.hits
    for number, family in enumerate(results.lineup.families if len(reached) else ()):
        yield figure(
            f"overview-targets-{number}",
            _charts.ecdf_chart(reached, results.looks(family)),
            "Share of all pairs of run and target that are reached by so many evaluations. Targets "
            "are 10, 3, 1.5 and 1.1 times the best mean training error of any method.",
            title=f"Targets reached, {family}",
        )


def _idea() -> Iterator[Figure]:
    for name, chart in (("cut", separation_chart()), ("breaking", breaking_chart())):
        made = figure(f"idea-{name}", chart)
        words = json.loads(made.spec)["title"]["subtitle"]
        yield replace(made, caption=" ".join(words), wide=name == "breaking")


def problem_section(results: Results, number: int, files: FigureFiles) -> dict[str, Any]:
    """What the page shows of the only problem in ``results``; saves its figures."""
    (name,) = results.problems
    label = f"problem-{number}"
    with debug_mode(False):
        families = {
            family: list(_family_figures(results, f"{label}-family-{i}", name, family))
            for i, family in enumerate(results.lineup.families)
            if results.methods(family)
        }
    figures = [figure for part in families.values() for figure in part]
    files.save(figures)
    return {
        "name": name,
        "anchor": label,
        "facts": _facts(results, name),
        "families": families,
        "all_figures": figures,
        "errors": error_table(results, name),
        "tables": list(number_tables(results, name)),
    }


def _numbered_fits(results: Results) -> Iterator[tuple[str, Fit, int]]:
    for number, name in enumerate(results.problems):
        if name in results.fits:
            yield name, results.fits[name], number


def _fit_figure(fit: Fit, name: str, number: int) -> Figure:
    caption = f"The best network is that of {fit.method}, repetition {fit.repetition}."
    return figure(f"problem-{number}-fit", fit_chart(fit, name), caption)


def _fit_parts(results: Results, name: str, fits: dict[str, Figure]) -> dict[str, Any]:
    """The picture of data and fit, and the numbers beside it, where there are data."""
    if name not in fits:
        return {"fit": None, "quality": None, "variables": ""}
    fit = results.fits[name]
    return {"fit": fits[name], "quality": quality_table(fit), "variables": fit.variables}


def _facts(results: Results, name: str) -> str:
    facts = results.facts[name]
    budgets = sorted(set(results.runs[results.runs["problem"] == name]["max_evaluations"]))
    samples = facts["samples"]
    words = f"{' + '.join(f'{n:,}' for n in samples)} samples"
    if len(samples) > 1:
        words += " (training and others)"
    text = f"{facts['description']}. " if facts["description"] else ""
    return (
        f"{text}{facts['task'].capitalize()} with a {facts['net']} network: {facts['dim']} "
        f"parameters, {whole_number(str(facts['n_replicas']))} replicas of every network, {words}, "
        f"{' or '.join(f'{n:,}' for n in budgets)} evaluations a run."
    )


def _family_figures(results: Results, label: str, name: str, family: str) -> Iterator[Figure]:
    """Convergence, results and work of breaking on one problem."""
    looks = results.looks(family, name)
    yield figure(
        f"{label}-convergence",
        _charts.convergence_chart(results.curves, name, looks),
        "Median and middle half of the runs.",
    )
    yield figure(
        f"{label}-boxes",
        _charts.box_chart(results.runs, name, looks),
        "A point is a run, a box the middle half of them.",
    )
    if results.methods_that_break(family, name):
        yield figure(
            f"{label}-modified",
            _charts.modified_chart(results.traces, name, looks),
            "How many candidates of a generation are replaced by a replica.",
        )
    if len(results.spread):
        yield figure(
            f"{label}-spread",
            _charts.spread_chart(results.spread, name, looks),
            "How many replicas of the optimum the candidates gather around; at 1 they agree.",
            saved=False,
        )
    yield from _part_figures(results, label, name, family)


def _part_figures(results: Results, label: str, name: str, family: str) -> Iterator[Figure]:
    """Errors on validation and test data, where there are any."""
    looks, shares = results.looks(family, name), results.facts[name]["task"] == "classification"
    if not len(results.rates):
        return
    yield figure(
        f"{label}-parts",
        _charts.part_convergence_charts(results.rates, results.runs, name, looks, shares=shares),
        "Of the network that had the smallest error on validation data so far.",
        wide=True,
    )
    yield figure(
        f"{label}-part-boxes",
        _charts.part_box_charts(results.runs, name, looks, shares=shares),
        "Of the network that validation selects in each run.",
        wide=True,
    )


def _table(results: Results) -> dict[str, Any] | None:
    """The normalised table, with the best of all methods in its last column."""
    if results.runs.empty:
        return None
    here = {(row["problem"], row["method"]): row for row in records(results.summary)}
    paper = {(row["problem"], row["method"]): row for row in records(results.agreement.cells)}
    best = {row["problem"]: row for row in records(results.best)}
    methods = [member.method for member in results.lineup.members]
    rows: list[dict[str, Any]] = []
    for number, name in enumerate(results.problems):
        known = results.paper_problems.get(name)
        cells = [_cell(here.get((name, m)), paper.get((known, m), {})) for m in methods]
        top = best.get(name)
        words = "" if top is None else f"{top['method']} ({text_of(top['mean'])})"
        rows.append({"problem": name, "anchor": f"problem-{number}", "cells": cells, "best": words})
    families = {f: len(results.lineup.methods(f)) for f in results.lineup.families}
    shown = any(cell and cell["paper"] for row in rows for cell in row["cells"])
    return {"families": families, "methods": methods, "rows": rows, "paper": shown}


def _cell(row: dict[str, Any] | None, printed: dict[str, Any]) -> dict[str, Any] | None:
    if row is None:
        return None
    published = cell_text(printed["mean_paper"], printed["std_paper"]) if printed else ""
    text = cell_text(row["normalised_mean"], row["normalised_std"])
    return {"text": text, "best": row["best"], "paper": published}


def _agreement(results: Results) -> list[dict[str, Any]]:
    """Rows of those families of the paper that were run here."""
    families = records(results.agreement.families)
    return [row for row in families if row["winner_here"]]


def _javascript() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, from the package that renders figures."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")


def _escaped_json(text: str) -> str:
    """JSON that cannot end the script element that it stands in."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
