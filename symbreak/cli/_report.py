"""``symbreak report``: a store as a page with tables and figures."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

from symbreak.cli._console import argument, console, option, say


def report_command(
    stores: Annotated[
        list[Path],
        argument("STORES", "Stores such as study.db, and archives; reported together."),
    ],
    out: Annotated[Path, option("FOLDER", "For the report; made if missing")] = Path("report"),
    figures: Annotated[str, option("FORMATS", "Of figures: svg, png, pdf; or none")] = "svg,pdf",
    open_page: Annotated[bool, option(None, "Open the page in a browser", "--open")] = False,
) -> None:
    """Turn stores, finished or still running, into a page with tables and figures."""
    from symbreak.analysis import write_report
    from symbreak.analysis._words import summary_sentences

    formats = [part for part in map(str.strip, figures.split(",")) if part not in ("", "none")]
    with console.status("making the report"):
        report = write_report(stores, out, formats=formats)
    for sentence in summary_sentences(report.results):
        say(sentence)
    say(f"Report in {report.page}")
    say(f"Open it in a browser: {report.page.resolve().as_uri()}")
    if open_page:
        webbrowser.open(report.page.resolve().as_uri())
