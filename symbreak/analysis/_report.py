"""A store as a page that people want to open, with its tables and figures beside it."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain, count, repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import numpy as np
import pandas as pd
import vl_convert
from altair.utils.schemapi import debug_mode
from markupsafe import Markup

from symbreak._processes import detached_start
from symbreak._version import __version__
from symbreak.analysis import _charts, _matrix_charts, _tables, _targets
from symbreak.analysis._idea_chart import idea_chart
from symbreak.analysis._results import FAMILIES, Results
from symbreak.analysis._words import summary_sentences
from symbreak.experiments import Store

FORMATS = ("svg", "png", "pdf")
#: Enough for print and for screens; PNG takes a third of the time and space.
USUAL_FORMATS = ("svg", "pdf")


@dataclass(frozen=True)
class Figure:
    """A chart as JSON, with the name of its file and place."""

    id: str
    spec: str
    caption: str = ""
    page_only: bool = False


def _figure(
    name: str, chart: alt.TopLevelMixin, caption: str = "", page_only: bool = False
) -> Figure:
    spec = json.dumps(chart.to_dict(validate=False), separators=(",", ":"), allow_nan=False)
    return Figure(name, spec, caption, page_only)


def write_report(
    store: str | Path,
    folder: str | Path,
    *,
    formats: Sequence[str] = USUAL_FORMATS,
    refresh: int = 0,
    on_step: Callable[[str], object] | None = None,
) -> Path:
    """Turn a store, finished or still running, into a folder with a page, tables and figures.

    Args:
        store: The store of a study.
        folder: Where to; made if it is missing. ``index.html`` there is one self-contained page.
        formats: Of the figures in ``figures/``: svg, png, pdf; none for the page alone.
        refresh: Seconds after which an open page looks again; 0 for never.
        on_step: Called with a word on what is done next.

    Returns:
        The path of the page.
    """
    folder, say = Path(folder), on_step or (lambda step: None)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"a report needs a folder, and {folder} is a file.")
    say("reading the store")
    with Store(store, create=False) as opened:
        drawn = bool(formats and opened.count("run"))
        with _helpers() if drawn else nullcontext() as pool:
            results = Results.of(opened)
            folder.mkdir(parents=True, exist_ok=True)
            say("computing statistics")
            _write_tables(results, folder)
            say("drawing charts")
            files = _FigureFiles(folder / "figures", tuple(formats))
            page = _page(results, Path(store), refresh, files, pool)
    _replace(folder / "index.html", page)
    return folder / "index.html"


@contextmanager
def _helpers() -> Iterator[ProcessPoolExecutor]:
    """Processes to draw with; they load what they need while this one reads the store."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(mp_context=context) as pool:
        with detached_start():
            for _ in range(os.cpu_count() or 1):
                pool.submit(os.getpid)
        yield pool


def _write_tables(results: Results, folder: Path) -> None:
    runs = results.runs.drop(columns="versions")  # the page says them, once
    (folder / "results.csv").write_text(runs.to_csv(index=False), encoding="utf-8")
    for ending, table in (
        ("md", _tables.markdown_table),
        ("tex", _tables.latex_table),
        ("csv", _tables.csv_table),
    ):
        (folder / f"table.{ending}").write_text(table(results), encoding="utf-8")


def _replace(path: Path, text: str) -> None:
    """Write a file at once, so that a browser never sees half of it."""
    draft = path.with_suffix(".tmp")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)


@dataclass(frozen=True)
class _FigureFiles:
    """Where figures are saved, and in which formats."""

    folder: Path
    formats: tuple[str, ...]

    def save(self, figures: Sequence[Figure]) -> None:
        """Render figures; the PNG is for screens, the others for print."""
        if self.formats:
            self.folder.mkdir(exist_ok=True)
        for figure in figures if self.formats else ():
            if figure.page_only:
                continue
            spec = json.loads(figure.spec)
            spec["config"] = {**spec.get("config", {}), "aria": False}  # half the size
            svg = vl_convert.vegalite_to_svg(spec)
            path = self.folder / figure.id
            if "svg" in self.formats:
                path.with_suffix(".svg").write_text(svg, encoding="utf-8")
            if "png" in self.formats:
                path.with_suffix(".png").write_bytes(vl_convert.svg_to_png(svg, scale=2))
            if "pdf" in self.formats:
                path.with_suffix(".pdf").write_bytes(vl_convert.svg_to_pdf(svg))


def _page(
    results: Results,
    store: Path,
    refresh: int,
    files: _FigureFiles,
    pool: ProcessPoolExecutor | None,
) -> str:
    # Charts and their files take almost all of the time, so problems are shared out.
    run = pool.map if pool else map
    sections = run(_problem_section, results.by_problem(), count(), repeat(files))
    overview, idea = _overview(results), [_figure("idea", idea_chart())]
    saved = run(files.save, [[*overview, *idea]])
    common = _common_parts(results, store)  # meanwhile
    problems = list(sections)
    list(saved)  # raises what went wrong
    parts = [figures for problem in problems for figures in problem["families"].values()]
    figures = [*overview, *chain.from_iterable(parts), *idea]
    specs = ",".join(f"{json.dumps(figure.id)}:{figure.spec}" for figure in figures)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("symbreak.analysis"), autoescape=True, trim_blocks=True
    )
    page: str = environment.get_template("report.html.j2").render(
        refresh=refresh,
        contents=_contents(problems),
        table=_table_rows(results, problems),
        overview=overview,
        problems=problems,
        idea=idea,
        specs=Markup(_escaped_json(f"{{{specs}}}")),
        **common,
    )
    return page


def _common_parts(results: Results, store: Path) -> dict[str, Any]:
    """What the page shows of the store as a whole."""
    failures = _records(results.failures)
    return {
        "title": " + ".join(dict.fromkeys(name for name, _ in results.studies)) or store.stem,
        "version": __version__,
        "made": datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        "sentences": summary_sentences(results),
        "methods": _tables.table_methods(results),
        "agreement": _agreement_rows(results),
        "settings": _settings(results),
        "failures": [row | {"reason": _last_line(row["traceback"])} for row in failures],
        "missing": _records(results.missing),
        "studies": [
            {
                "name": name,
                "text": text,
                "command": f"symbreak study {name}.toml --store {store.name}",
            }
            for name, text in results.studies
        ],
        "versions": results.versions,
        "libraries": Markup(_javascript()),
    }


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def _contents(problems: list[dict[str, Any]]) -> list[tuple[str, str]]:
    if not problems:
        return [("idea", "The idea"), ("about", "How this was made")]
    links = [("table", "Table"), ("agreement", "Agreement"), ("overview", "Overview")]
    links += [(problem["anchor"], problem["name"]) for problem in problems]
    return [*links, ("idea", "The idea"), ("about", "How this was made")]


def _overview(results: Results) -> list[Figure]:
    if results.runs.empty:
        return []
    figures = [
        _figure("heat-map", _matrix_charts.heat_map(results.summary), "Normalised mean errors."),
        _figure(
            "significance",
            _matrix_charts.significance_chart(results.pairwise),
            "Pairwise Wilcoxon rank-sum tests at 0.05, uncorrected as in the paper.",
        ),
    ]
    if len(results.hits):
        caption = "Share of all (run, target) pairs reached; targets are 10, 3, 1.5 and 1.1 times "
        caption += "the best mean training error of any method on the problem."
        figures.append(_figure("ecdf", _charts.ecdf_chart(_targets.ecdf(results.hits)), caption))
    return figures


def _problem_section(results: Results, number: int, files: _FigureFiles) -> dict[str, Any]:
    """What the page shows of the only problem in ``results``; saves its figures."""
    (name,) = results.problems
    with debug_mode(False):  # charts are validated by tests
        families = {
            family: list(_family_figures(results, f"problem-{number}", name, family))
            for family in FAMILIES
            if results.methods(family)
        }
    files.save([figure for figures in families.values() for figure in figures])
    return {
        "name": name,
        "anchor": f"problem-{number}",
        "facts": _facts(results, name),
        "families": families,
        "tables": list(_problem_tables(results, name)),
    }


def _facts(results: Results, name: str) -> str:
    facts = results.facts[name]
    budgets = sorted(set(results.runs[results.runs["problem"] == name]["max_evaluations"]))
    samples = " + ".join(f"{n:,}" for n in facts["samples"])
    text = f"{facts['description']}. " if facts["description"] else ""
    return (
        f"{text}{facts['task'].capitalize()} with a {facts['net']} network: {facts['dim']} "
        f"parameters, {int(facts['n_replicas']):,} replicas of every network, {samples} samples, "
        f"{' or '.join(f'{n:,}' for n in budgets)} evaluations a run."
    )


def _family_figures(results: Results, anchor: str, name: str, family: str) -> Iterator[Figure]:
    """Convergence, results and work of breaking on one problem."""
    methods, label = results.methods(family, name), f"{anchor}-{family}"
    yield _figure(
        f"{label}-convergence",
        _charts.convergence_chart(results.curves, name, methods),
        "Best training error so far, median and quartiles.",
    )
    if results.facts[name]["task"] == "classification" and len(results.rates):
        yield _figure(
            f"{label}-rates",
            _charts.rate_convergence_charts(results.rates, results.runs, name, methods),
            "Error rates, taken over where the validation rate improves.",
        )
        yield _figure(
            f"{label}-boxes",
            _charts.rate_box_charts(results.runs, name, methods),
            "Error rates of all runs.",
        )
    else:
        yield _figure(
            f"{label}-boxes",
            _charts.box_chart(results.runs, name, methods),
            "Errors of all runs.",
        )
    breaking = [method for method in methods if method != family]
    if breaking:
        yield _figure(
            f"{label}-modified",
            _charts.modified_chart(results.traces, name, breaking),
            "Candidates that breaking modified.",
        )
    if len(results.spread):
        yield _figure(
            f"{label}-spread",
            _charts.spread_chart(results.spread, name, methods),
            "Conventions among the candidates; 1 is agreement.",
            page_only=True,
        )


def _problem_tables(results: Results, name: str) -> Iterator[dict[str, Any]]:
    """Tables of numbers: title, text, columns and rows of texts."""
    wanted = {
        "Errors": (
            results.summary,
            ["method", "n", "mean", "std", "median", "q1", "q3", "note"],
            "",
        ),
        "Kruskal-Wallis": (
            results.kruskal_wallis,
            ["family", "statistic", "p", "significant", "note"],
            "Is there any difference among the three methods of a family?",
        ),
        "Wilcoxon rank-sum": (
            results.pairwise,
            ["a", "b", "p", "p_holm", "a12", "significant", "better", "note"],
            "A12: probability that a run of a is better than one of b; Holm over the three pairs.",
        ),
        "Ideal against approximate": (
            results.ideal,
            ["family", "ratio", "low", "high", "verdict", "note"],
            "Mean error of brute force divided by that of Algorithm 1, with a 95 % interval.",
        ),
        "Evaluations to a target": (
            results.running_times,
            ["method", "factor", "successes", "n", "ert"],
            "Expected running time to so many times the best mean training error.",
        ),
        "Speed-up": (
            results.speed_ups,
            ["method", "factor", "speed_up", "low", "high", "note"],
            "Expected running time of the plain method divided by that of the method.",
        ),
    }
    for title, (frame, columns, text) in wanted.items():
        part = frame[frame["problem"] == name][columns]
        if len(part):
            rows = [[_text(value) for value in row] for row in part.itertuples(index=False)]
            yield {"title": title, "text": text, "columns": columns, "rows": rows}


def _text(value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        if np.isnan(value):
            return "-"
        return f"{value:,.0f}" if abs(float(value)) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int | np.integer) else str(value)


def _table_rows(results: Results, problems: list[dict[str, Any]]) -> list[dict[str, Any]]:
    here = {(row["problem"], row["method"]): row for row in _records(results.summary)}
    paper = {(row["problem"], row["method"]): row for row in _records(results.agreement.cells)}
    rows = []
    for problem in problems:
        cells: list[dict[str, Any] | None] = []
        for method in _tables.table_methods(results):
            row, printed = (
                here.get((problem["name"], method)),
                paper.get((problem["name"], method), {}),
            )
            published = printed.get("mean_paper", np.nan)
            cells.append(
                row
                and {
                    "text": _tables.cell_text(row["normalised_mean"], row["normalised_std"]),
                    "best": row["best"],
                    "paper": ""
                    if np.isnan(published)
                    else _tables.cell_text(published, printed["std_paper"]),
                }
            )
        rows.append({"problem": problem["name"], "anchor": problem["anchor"], "cells": cells})
    return rows


def _agreement_rows(results: Results) -> list[dict[str, Any]]:
    families = results.agreement.families
    return _records(families[families["problem"].isin(results.problems)])


def _settings(results: Results) -> list[dict[str, str]]:
    rows = []
    for method in _tables.table_methods(results):
        runs = results.runs[results.runs["method"] == method]
        sizes = ", ".join(f"{n:,}" for n in sorted(set(runs["population_size"])))
        changes = [text for text in dict.fromkeys(runs["settings"]) if text != "{}"]
        rows.append(
            {"method": method, "sizes": sizes, "settings": "; ".join(changes) or "the paper's"}
        )
    return rows


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.to_dict("records")  # type: ignore[assignment]
    return rows


def _javascript() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, from the package that renders figures."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")


def _escaped_json(text: str) -> str:
    """JSON that cannot end the script element that it stands in."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
