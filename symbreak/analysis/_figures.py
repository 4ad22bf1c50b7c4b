"""Charts as figures of a report: JSON for its page, and files that other processes draw."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from pathlib import Path

import altair as alt
import vl_convert

from symbreak._support.checks import shown
from symbreak._support.words import CHART_FORMATS
from symbreak._support.workers import WorkerProcesses
from symbreak._support.writing import write_bytes

FORMATS = tuple(name[1:] for name in CHART_FORMATS if name != ".html")
#: Enough for print and for screens; PNG takes a third of the time and space.
USUAL_FORMATS = ("svg", "pdf")


@dataclass(frozen=True)
class Figure:
    """A chart with its place in a page: what it shows, and how to read it."""

    id: str  # name of its files, and of its place in the page
    spec: str  # as JSON
    title: str
    caption: str


@dataclass(frozen=True)
class Figures:
    """All figures of a report; each becomes files, in a process of ``pool`` if there is one."""

    folder: Path
    formats: Sequence[str] = ()
    pool: Executor | None = None
    made: list[Figure] = field(default_factory=list)
    saving: list[Future[None]] = field(default_factory=list)

    def add(
        self, name: str, chart: alt.TopLevelMixin, caption: str = "", *, title: str = ""
    ) -> Figure:
        """A figure, by default with the title that its chart has."""
        spec = chart.to_dict(validate=False)
        text = json.dumps(spec, separators=(",", ":"), allow_nan=False)
        figure = Figure(name, text, title or spec["title"]["text"], caption)
        self.made.append(figure)
        if self.pool and self.formats:
            self.saving.append(self.pool.submit(_save, text, self.folder / name, self.formats))
        elif self.formats:
            _save(text, self.folder / name, self.formats)
        return figure

    def wait(self) -> None:
        """Wait for the files; raises what went wrong."""
        for one in self.saving:
            one.result()


def _save(text: str, path: Path, formats: Sequence[str]) -> None:
    """Files of a chart, whole or not at all; what somebody has linked there is left alone."""
    spec = json.loads(text)
    spec["config"] = {**spec.get("config", {}), "aria": False}  # half the size
    svg = vl_convert.vegalite_to_svg(spec)
    path.parent.mkdir(exist_ok=True)
    for ending in formats:
        drawn = svg.encode()
        if ending == "png":  # for screens, the others for print
            drawn = vl_convert.svg_to_png(svg, scale=2)
        elif ending == "pdf":
            drawn = vl_convert.svg_to_pdf(svg)
        write_bytes(path.with_name(f"{path.name}.{ending}"), drawn, follow_links=False)


def check_formats(formats: Sequence[str]) -> tuple[str, ...]:
    """Formats of files; others are refused by name."""
    if not isinstance(formats, list | tuple):
        raise TypeError(f"formats must be a sequence, such as ('svg',), got {shown(formats)}.")
    for name in formats:
        if not isinstance(name, str) or name not in FORMATS:
            raise ValueError(f"figures are saved as {', '.join(FORMATS)}, got {shown(name)}.")
    return tuple(formats)


def drawing_processes() -> WorkerProcesses:
    """Processes to draw with; they load what they need while this one reads the store."""
    pool = WorkerProcesses(loaded=__name__)
    for _ in range(os.cpu_count() or 1):
        pool.submit(os.getpid)
    return pool
