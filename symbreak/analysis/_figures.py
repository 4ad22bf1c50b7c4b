"""Charts as figures of a report: JSON for its page, and files beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import altair as alt
import vl_convert

from symbreak._support.checks import shown
from symbreak._support.words import CHART_FORMATS
from symbreak._support.workers import detached_start, end_with_parent
from symbreak._support.writing import write_bytes

FORMATS = tuple(name[1:] for name in CHART_FORMATS if name != ".html")
#: Enough for print and for screens; PNG takes a third of the time and space.
USUAL_FORMATS = ("svg", "pdf")


@dataclass(frozen=True)
class Figure:
    """A chart as JSON, with the name of its file and place.

    Attributes:
        id: Name of its file, and of its place in the page.
        spec: The chart as JSON.
        title: What it shows.
        caption: How to read it.
        wide: Whether it takes the room of two.
        saved: Whether it becomes a file.
    """

    id: str
    spec: str
    title: str
    caption: str = ""
    wide: bool = False
    saved: bool = True


def figure(
    name: str,
    chart: alt.TopLevelMixin,
    caption: str = "",
    *,
    title: str = "",
    wide: bool = False,
    saved: bool = True,
) -> Figure:
    """A figure, by default with the title that its chart has."""
    spec = chart.to_dict(validate=False)
    text = json.dumps(spec, separators=(",", ":"), allow_nan=False)
    return Figure(name, text, title or spec["title"]["text"], caption, wide, saved)


def check_formats(formats: Sequence[str]) -> tuple[str, ...]:
    """Formats of files; others are refused by name."""
    if not isinstance(formats, list | tuple):
        raise TypeError(f"formats must be a sequence, such as ('svg',), got {shown(formats)}.")
    for name in formats:
        if not isinstance(name, str) or name not in FORMATS:
            raise ValueError(f"figures are saved as {', '.join(FORMATS)}, got {shown(name)}.")
    return tuple(formats)


@dataclass(frozen=True)
class FigureFiles:
    """Where figures are saved, and in which formats."""

    folder: Path
    formats: tuple[str, ...]

    def save(self, figures: Sequence[Figure]) -> None:
        """Render figures; the PNG is for screens, the others for print."""
        if self.formats:
            self.folder.mkdir(exist_ok=True)
        for one in figures if self.formats else ():
            if one.saved:
                self._save(one)

    def _save(self, one: Figure) -> None:
        spec = json.loads(one.spec)
        spec["config"] = {**spec.get("config", {}), "aria": False}  # half the size
        svg = vl_convert.vegalite_to_svg(spec)
        if "svg" in self.formats:
            self._write(one, "svg", svg.encode())
        if "png" in self.formats:
            self._write(one, "png", vl_convert.svg_to_png(svg, scale=2))
        if "pdf" in self.formats:
            self._write(one, "pdf", vl_convert.svg_to_pdf(svg))

    def _write(self, one: Figure, ending: str, content: bytes) -> None:
        """A file, whole or not at all; what somebody has linked there is left alone."""
        write_bytes(self.folder / f"{one.id}.{ending}", content, follow_links=False)


@contextmanager
def drawing_processes(preload: str) -> Iterator[ProcessPoolExecutor]:
    """Processes to draw with; they load what they need while this one reads the store."""
    context = get_context("forkserver")
    context.set_forkserver_preload([preload])
    with ProcessPoolExecutor(mp_context=context, initializer=end_with_parent) as pool:
        with detached_start():
            for _ in range(os.cpu_count() or 1):
                pool.submit(os.getpid)
        yield pool
