"""A store as a page that people want to open, with its tables and figures beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from symbreak._support.checks import check_callable, check_count, check_path
from symbreak._support.writing import write_text
from symbreak.analysis import _tables
from symbreak.analysis._figures import (
    USUAL_FORMATS,
    FigureFiles,
    check_formats,
    drawing_processes,
)
from symbreak.analysis._page import render_page
from symbreak.analysis._results import Results
from symbreak.experiments import open_results


class Report(NamedTuple):
    """A report that was written."""

    page: Path
    results: Results


def write_report(
    store: str | Path,
    folder: str | Path,
    *,
    formats: Sequence[str] = USUAL_FORMATS,
    refresh: int = 0,
    on_step: Callable[[str], object] | None = None,
) -> Report:
    """Turn a store, finished or still running, into a folder with a page, tables and figures.

    Args:
        store: The store of a study.
        folder: Where to; made if it is missing. ``index.html`` there is one self-contained page.
        formats: Of the figures in ``figures/``: svg, png, pdf; none for the page alone.
        refresh: Seconds after which an open page looks again; 0 for never.
        on_step: Called with a word on what is done next.

    Returns:
        The page, and what it shows.
    """
    folder, store = check_path("folder", folder), check_path("store", store)
    say = check_callable("on_step", on_step) or (lambda step: None)
    formats, refresh = check_formats(formats), check_count("refresh", refresh, 0)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"a report needs a folder, and {folder} is a file.")
    say("reading the store")
    with open_results(store) as opened:
        drawn = bool(formats and opened.count("run"))
        with drawing_processes("symbreak.analysis._page") if drawn else nullcontext() as pool:
            results = Results.of(opened)
            folder.mkdir(parents=True, exist_ok=True)
            say("computing statistics")
            write_tables(results, folder)
            say("drawing charts")
            files = FigureFiles(folder / "figures", formats)
            page = render_page(results, store.stem, refresh, files, pool)
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
