"""``symbreak report``: a store as a page with tables and figures."""

from __future__ import annotations

import time
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from symbreak.cli._console import console

REFRESH = 10  # seconds between looks at a store that is watched


def report_command(
    store: Annotated[Path, typer.Argument(help="A store, such as study.db.")],
    out: Annotated[Path, typer.Option(help="Folder for the report; made if missing.")] = Path(
        "report"
    ),
    figures: Annotated[
        str, typer.Option(help="Formats of the figures: svg, png, pdf; or none.")
    ] = "svg,pdf",
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Write it anew as the study goes on; Ctrl-C ends it.")
    ] = False,
) -> None:
    """Turn a store, finished or still running, into a page with tables and figures."""
    formats = _parse_formats(figures)
    page = _write(store, out, () if watch else formats, REFRESH if watch else 0)
    console.print(f"Report in {page}", soft_wrap=True)
    if open_page:
        webbrowser.open(page.resolve().as_uri())
    if not watch:
        return
    seen = _changed(store)
    try:
        while True:
            time.sleep(REFRESH / 2)
            if _changed(store) != seen:
                seen = _changed(store)
                _write(store, out, (), REFRESH)
    except KeyboardInterrupt:
        _write(store, out, formats, 0)
        console.print(f"\nLast report in {page}", soft_wrap=True)


def _write(store: Path, out: Path, formats: tuple[str, ...], refresh: int) -> Path:
    from symbreak.analysis import write_report

    with console.status("opening") as status:
        return write_report(
            store, out, formats=formats, refresh=refresh, on_step=lambda step: status.update(step)
        )


def _changed(store: Path) -> tuple[float, ...]:
    """When the store, or its log, was last written."""
    files = (store, store.with_name(store.name + "-wal"))
    return tuple(file.stat().st_mtime for file in files if file.exists())


def _parse_formats(text: str) -> tuple[str, ...]:
    known = ("svg", "png", "pdf")
    formats = tuple(part.strip() for part in text.split(",") if part.strip() not in ("", "none"))
    for name in formats:
        if name not in known:
            raise ValueError(f"--figures takes {', '.join(known)} or none, got {name!r}.")
    return formats
