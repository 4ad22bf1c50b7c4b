"""A bar that shows how far a training has come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars


@contextmanager
def progress_bar(name: str, max_time: float | None) -> Iterator[Callable[[Any], None]]:
    """A bar on standard error, and a callback that moves it ten times a second."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[error]}"),
        TimeElapsedColumn(),
    )
    started = shown = time.monotonic()
    last: Any = None
    with Bars(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(name, total=1.0, error="")

        def show(progress: Any) -> None:
            nonlocal shown, last
            last = progress
            if (now := time.monotonic()) - shown < 0.1 and not progress.doing:
                return
            shown = now
            spent = progress.n_evaluations / progress.max_evaluations
            if max_time is not None:
                spent = max(spent, (now - started) / max_time)
            bars.update(task, completed=spent, error=_in_words(progress))

        yield show
        if last is not None:  # much may have happened since the bar moved
            bars.update(task, completed=1.0, error=_in_words(last))


def _in_words(progress: Any) -> str:
    if progress.doing:
        return str(progress.doing)
    n = progress.n_starts  # none where a method has no restarts
    starts = f", {n} start{'' if n == 1 else 's'}" if n else ""
    return f"{progress.in_words}{starts}"
