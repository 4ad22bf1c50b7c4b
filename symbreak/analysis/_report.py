"""Results as a page that people want to open, with their tables and figures beside it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, nullcontext
from functools import cache
from itertools import count, repeat, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import vl_convert
from altair.utils.schemapi import debug_mode
from markupsafe import Markup

from symbreak._support.checks import check_callable, check_count, check_path, shown
from symbreak._support.writing import write_text
from symbreak._version import __version__
from symbreak.analysis import _charts, _overview_charts, _tables, _targets
from symbreak.analysis._data_charts import fit_chart
from symbreak.analysis._figures import (
    USUAL_FORMATS,
    Figure,
    FigureFiles,
    check_formats,
    drawing_processes,
    figure,
)
from symbreak.analysis._lineup import styles_of
from symbreak.analysis._results import Fit, Results
from symbreak.analysis._words import paper_sentences, provenance, summary_sentences
from symbreak.experiments import open_results

#: With so many problems charts of all of them are as high as others.
FEW_ROWS = 5


class Report(NamedTuple):
    """A report that was written."""

    page: Path
    results: Results


def write_report(
    store: str | Path | Sequence[str | Path],
    folder: str | Path,
    *,
    formats: Sequence[str] = USUAL_FORMATS,
    refresh: int = 0,
    on_step: Callable[[str], object] | None = None,
) -> Report:
    """Turn stores, finished or still running, into a folder with a page, tables and figures.

    Args:
        store: A store or an archive, or several that are reported together.
        folder: Where to; made if it is missing. ``index.html`` there is one self-contained page.
        formats: Of the figures in ``figures/``: svg, png, pdf; none for the page alone.
        refresh: Seconds after which an open page styles again; 0 for never.
        on_step: Called with a word on what is done next.

    Returns:
        The page, and what it shows.

    Raises:
        ValueError: if runs of several stores could not be compared.
    """
    folder = check_path("folder", folder)
    stores = store if isinstance(store, list | tuple) else [store]
    paths = [check_path("store", each) for each in stores]
    if not paths:
        raise ValueError(f"a report needs at least one store, got {shown(store)}.")
    say = check_callable("on_step", on_step) or (lambda step: None)
    formats, refresh = check_formats(formats), check_count("refresh", refresh, 0)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"a report needs a folder, and {folder} is a file.")
    say("reading results")
    with ExitStack() as stack:
        sources = [open_results(path) for path in paths]
        for source in sources:
            stack.enter_context(source)
        with drawing_processes(__name__) if formats else nullcontext() as pool:
            results = Results.of(*sources)
            folder.mkdir(parents=True, exist_ok=True)
            say("computing statistics")
            write_tables(results, folder)
            say("drawing charts")
            files = FigureFiles(folder / "figures", formats)
            page = render_page(results, paths[0].stem, refresh, files, pool)
    _write(folder / "index.html", page)  # whole, so that a browser never sees half of it
    return Report(folder / "index.html", results)


def write_tables(results: Results, folder: Path) -> None:
    """The rows of all runs, and the normalised table in three formats."""
    runs = results.runs.drop(columns="versions")  # the page says them, once
    _write(folder / "results.csv", runs.to_csv(index=False))
    for ending, table in (
        ("md", _tables.markdown_table),
        ("tex", _tables.latex_table),
        ("csv", _tables.csv_table),
    ):
        _write(folder / f"table.{ending}", table(results))


def _write(path: Path, text: str) -> None:
    """A file of the report; what somebody has linked there is left alone."""
    write_text(path, text, follow_links=False)


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
        refresh: Seconds after which an open page styles again; 0 for never.
        files: Where figures go.
        pool: Processes to share the drawing out to.
    """
    # Charts and their files take almost all of the time, so problems are shared out.
    run = pool.map if pool else map
    sections = run(problem_section, results.by_problem(), count(), repeat(files))
    with debug_mode(False):  # charts are validated by tests
        fits = {name: _fit_figure(fit, name, i) for name, fit, i in _numbered_fits(results)}
        common = [*_lead(results), *_overview(results), *fits.values()]
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
        title=" + ".join(dict.fromkeys(study[0] for study in results.studies)) or name,
        version=__version__,
        made=datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        refresh=refresh,
        extent=extent,
        sentences=sentences,
        paper_words=paper_sentences(results),
        lead=_section(common, "lead"),
        overview=_section(common, "overview"),
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
    problem, styles = results.lead
    caption = "A line is the median of all runs, its band holds the middle half of them. Lower is "
    caption += "better."
    yield figure(
        "lead-convergence",
        _charts.convergence_chart(results.curves, problem, styles),
        caption,
        title=f"Training {problem}: best error so far",
    )
    if len(results.problems) > FEW_ROWS:  # then it fills the column beside a high chart
        yield from _ranks(results, "lead-ranks")
    if results.runs["method"].nunique() > 1:
        yield figure(
            "lead-relative",
            _overview_charts.relative_chart(results.summary, results.lineup),
            "Every method on every problem; the further left the better, at 1 the best of all.",
        )


def _overview(results: Results) -> Iterator[Figure]:
    """Two wide charts of all problems, a narrow one of each family beside them."""
    if results.runs.empty:
        return
    many = len(results.problems) > FEW_ROWS
    charts = (
        figure(
            "overview-heat-map",
            _overview_charts.heat_map(results.summary, results.lineup),
            "Mean errors divided by the largest of a family's compared methods; dark is good.",
            wide=many,
        ),
        figure(
            "overview-significance",
            _overview_charts.significance_chart(results.family_tests[1], results.lineup),
            "A triangle points to the significantly better of two methods (Wilcoxon rank-sum test "
            "at 0.05, uncorrected as in the paper), and is filled if that stays so after Holm's "
            "correction. A dot: no difference can be shown; a cross: too few runs to test.",
            wide=many,
        ),
    )
    for pair in zip_longest(charts, _targets_reached(results)):
        yield from filter(None, pair)
    if not many:
        yield from _ranks(results, "overview-ranks")


def _ranks(results: Results, name: str) -> Iterator[Figure]:
    if results.ranks is not None:
        yield figure(
            name,
            _overview_charts.rank_chart(results.ranks, styles_of(results.lineup)),
            f"Mean ranks on {results.ranks.n_problems} problems of the methods that ran on all of "
            "them; a bar is the critical difference of Nemenyi's test at 0.05, and where two "
            "overlap, no difference can be shown. Friedman's test: p = "
            f"{_tables.text_of(results.ranks.p)}.",
        )


def _targets_reached(results: Results) -> Iterator[Figure]:
    reached = _targets.ecdf(results.hits) if len(results.hits) else results.hits
    for number, family in enumerate(results.lineup.families if len(reached) else ()):
        if len(results.methods(family)) < 2:
            continue
        yield figure(
            f"overview-targets-{number}",
            _charts.ecdf_chart(reached, results.styles(family)),
            "Share of all pairs of run and target that are reached by so many evaluations. Targets "
            "are 10, 3, 1.5 and 1.1 times the best mean training error of any method.",
            title=f"Targets reached, {family}",
        )


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
        "errors": _tables.error_table(results, name),
        "tables": list(_tables.number_tables(results, name)),
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
    return {"fit": fits[name], "quality": _tables.quality_table(fit), "variables": fit.variables}


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
        f"parameters, {_tables.integer_text(str(facts['n_replicas']))} replicas of every network, "
        f"{f'{words}, ' if samples else ''}"
        f"{' or '.join(f'{n:,}' for n in budgets)} evaluations a run."
    )


def _family_figures(results: Results, label: str, name: str, family: str) -> Iterator[Figure]:
    """Convergence, results and work of breaking on one problem."""
    styles = results.styles(family, name)
    yield figure(
        f"{label}-convergence",
        _charts.convergence_chart(results.curves, name, styles),
        "Median and middle half of the runs.",
    )
    yield figure(
        f"{label}-boxes",
        _charts.box_chart(results.runs, name, styles),
        "A point is a run, a box the middle half of them.",
    )
    if results.methods_that_break(family, name):
        yield figure(
            f"{label}-modified",
            _charts.modified_chart(results.traces, name, styles),
            "How many candidates of a generation are replaced by a replica.",
        )
    if len(results.spread):
        yield figure(
            f"{label}-spread",
            _charts.spread_chart(results.spread, name, styles),
            "How many replicas of the optimum the candidates gather around; at 1 they agree.",
            saved=False,
        )
    yield from _part_figures(results, label, name, family)


def _part_figures(results: Results, label: str, name: str, family: str) -> Iterator[Figure]:
    """Errors on validation and test data, where there are any."""
    styles, shares = results.styles(family, name), results.facts[name]["task"] == "classification"
    if not len(results.part_errors):
        return
    yield figure(
        f"{label}-parts",
        _charts.part_convergence_charts(
            results.part_errors, results.runs, name, styles, shares=shares
        ),
        "Of the network that had the smallest error on validation data so far.",
        wide=True,
    )
    yield figure(
        f"{label}-part-boxes",
        _charts.part_box_charts(results.runs, name, styles, shares=shares),
        "Of the network that validation selects in each run.",
        wide=True,
    )


def _table(results: Results) -> dict[str, Any] | None:
    """The normalised table, with the best of all methods in its last column."""
    if results.runs.empty:
        return None
    here = {(row["problem"], row["method"]): row for row in _tables.records(results.summary)}
    paper = {
        (row["problem"], row["method"]): row for row in _tables.records(results.agreement.cells)
    }
    best = {row["problem"]: row for row in _tables.records(results.best)}
    methods = [member.method for member in results.lineup.members]
    rows: list[dict[str, Any]] = []
    for number, name in enumerate(results.problems):
        known = None if name in results.shorter else results.paper_problems.get(name)
        cells = [_cell(here.get((name, m)), paper.get((known, m), {})) for m in methods]
        top = best.get(name)
        words = "" if top is None else f"{top['method']} ({_tables.text_of(top['mean'])})"
        tests = _tables.against_best(results, name)
        second = next((f"p = {p} against {other}" for other, (p, _) in tests.items()), "")
        row = {"problem": name, "anchor": f"problem-{number}", "cells": cells, "second": second}
        rows.append(row | {"best": words})
    families = {f: len(results.lineup.methods(f)) for f in results.lineup.families}
    shown = any(cell and cell["paper"] for row in rows for cell in row["cells"])
    return {"families": families, "methods": methods, "rows": rows, "paper": shown}


def _cell(row: dict[str, Any] | None, printed: dict[str, Any]) -> dict[str, Any] | None:
    if row is None:
        return None
    published = _tables.cell_text(printed["mean_paper"], printed["std_paper"]) if printed else ""
    text = _tables.cell_text(row["normalised_mean"], row["normalised_std"])
    return {"text": text, "best": row["best"], "paper": published}


def _agreement(results: Results) -> list[dict[str, Any]]:
    """Rows of those families of the paper that were run here, and for as long."""
    short = {results.paper_problems[name] for name in results.shorter}
    families = _tables.records(results.agreement.families)
    return [row for row in families if row["winner_here"] and row["problem"] not in short]


@cache
def _javascript() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, from the package that renders figures."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")


def _escaped_json(text: str) -> str:
    """JSON that cannot end the script element that it stands in."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
