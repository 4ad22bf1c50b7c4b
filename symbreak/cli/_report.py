"""``symbreak report``: a store as a page with tables and figures."""

from __future__ import annotations

import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from symbreak.cli._console import argument, console, option, say

if TYPE_CHECKING:
    from symbreak.analysis._report import Report

LOOK = 2  # seconds between looks at a store that is watched
REFRESH = 10  # seconds between looks of an open page


def report_command(
    stores: Annotated[
        list[Path],
        argument("STORES", "Stores such as study.db, and archives; reported together."),
    ],
    out: Annotated[Path, option("FOLDER", "For the report; made if missing")] = Path("report"),
    figures: Annotated[str, option("FORMATS", "Of figures: svg, png, pdf; or none")] = "svg,pdf",
    open_page: Annotated[bool, option(None, "Open the page in a browser", "--open")] = False,
    watch: Annotated[
        bool, option(None, "Write it anew until the study is complete, or Ctrl-C", "--watch")
    ] = False,
) -> None:
    """Turn stores, finished or still running, into a page with tables and figures."""
    from symbreak.analysis._figures import check_formats
    from symbreak.analysis._words import summary_sentences

    given = (part.strip() for part in figures.split(","))
    formats = check_formats([part for part in given if part not in ("", "none")])
    if watch:
        _watch(stores, out, open_page)
        console.print(f"Writing the last report{', with its figures' if formats else ''}.")
    report = _write(stores, out, formats, 0)
    for sentence in summary_sentences(report.results, brief=True):
        say(sentence)
    say(f"Report in {report.page}")
    say(f"Open it in a browser: {report.page.resolve().as_uri()}")
    if open_page and not watch:
        webbrowser.open(report.page.resolve().as_uri())


def _watch(stores: list[Path], out: Path, open_page: bool) -> None:
    """Write the page whenever a store has changed, until all studies are complete."""
    seen: tuple[float, ...] | None = None
    try:
        while True:
            if (now := _changed(stores)) != seen:
                report = _write(stores, out, (), REFRESH)
                if seen is None:
                    say(f"Watching; the page is {report.page}")
                    say("It ends when the study is complete. Ctrl-C: write a last report and end.")
                    if open_page:
                        webbrowser.open(report.page.resolve().as_uri())
                seen = now
                if report.results.complete:
                    console.print("The study is complete.")
                    return
            time.sleep(LOOK)
    except KeyboardInterrupt:
        console.print("\nStopped watching; a study that runs goes on.")


def _write(stores: list[Path], out: Path, formats: tuple[str, ...], refresh: int) -> Report:
    from symbreak.analysis import write_report

    with console.status("opening") as status:
        return write_report(
            stores, out, formats=formats, refresh=refresh, on_step=lambda step: status.update(step)
        )


def _changed(stores: list[Path]) -> tuple[float, ...]:
    """When the stores, or their logs, were last written."""
    files = [file for store in stores for file in (store, store.with_name(store.name + "-wal"))]
    return tuple(file.stat().st_mtime for file in files if file.exists())
