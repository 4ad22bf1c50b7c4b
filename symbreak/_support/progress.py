"""A bar that shows how far a training has come."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from symbreak._support.words import counted

LINE_EVERY = 10.0  # seconds between lines where there is no terminal


@contextmanager
def progress_bar(
    name: str,
    max_time: float | None,
    console: Console | None = None,
    stop: threading.Event | None = None,
) -> Iterator[Callable[[Any], bool]]:
    """A bar, by default on standard error, and a callback that moves it ten times a second.

    The callback says whether there was a ``stop``.

    Of a run that ends by time, it shows the time. In the end it is full, unless there was a stop,
    and says what the callback was given last, be it progress or a string. Where nothing can move,
    as in a file, there is a line now and then.
    """
    columns = (
        TextColumn("{task.description:<13}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[says]}"),
        TimeElapsedColumn(),
    )
    asked = (stop or threading.Event()).is_set
    started = shown = said = time.monotonic()
    done, last = 0.0, None
    console = console or Console(stderr=True)
    moves = console.is_terminal or console.is_jupyter
    with Bars(*columns, console=console) as bars:
        task = bars.add_task(name, total=1.0, says="")

        def show(news: Any) -> bool:
            nonlocal done, shown, said, last
            last, now = news, time.monotonic()
            if not isinstance(news, str) and (now - shown >= 0.1 or news.doing):
                shown, done = now, news.n_evaluations / news.max_evaluations
                if max_time is not None:
                    done = max(done, (now - started) / max_time)
                bars.update(task, completed=done, says=_in_words(news))
                if not moves and now - said >= LINE_EVERY:
                    said = now
                    console.print(f"{name} {done:4.0%} {_in_words(news)}", markup=False)
            return asked()

        try:
            yield show
        except BaseException:
            bars.remove_task(task)  # nothing is left of what was refused
            raise
        if last is not None:  # much may have happened since the bar moved
            bars.update(task, completed=done if asked() else 1.0, says=_in_words(last))


def _in_words(news: Any) -> str:
    if isinstance(news, str):
        return news
    n = 0 if news.doing else news.n_starts  # none where a method has no restarts
    starts = f", {counted(n, 'start')}" if n else ""
    return f"{news.in_words}{starts}"
