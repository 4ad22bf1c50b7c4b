"""How a study goes: bars in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections import Counter

from rich.progress import BarColumn, Progress, TextColumn

from symbreak.cli._console import console, say
from symbreak.experiments import StudySpec
from symbreak.experiments._driver import Update
from symbreak.experiments._spec import relative_work

LINE_EVERY = 10.0  # seconds between lines where there is no terminal
MEASURE_FOR = 3.0  # seconds before the time left is said
#: Nor before this share of the work is done, or so many seconds have passed: in a fresh
#: installation the first runs compile for most of their time.
MEASURE_SHARE, MEASURE_AT_MOST = 0.02, 60.0
WIDE = 90  # columns of a terminal with room for words


class Pace:
    """How much of a study is done, and how long the rest takes.

    Work is weighed by the cost of an evaluation. The clock starts with the first sign of work,
    since starting processes and loading compiled code says nothing about what follows; and what
    an earlier start had done is not taken for speed.
    """

    def __init__(self, spec: StudySpec, counts: Counter[tuple[str, str]], resumed: set[str]):
        self._work = {run.problem: relative_work(run) for run in spec.first_runs()}
        self.runs: Counter[str] = Counter()
        for (problem, _), n in counts.items():
            self.runs[problem] += n
        self.finished: Counter[str] = Counter()
        self._total = sum(self._work[name] * n for name, n in self.runs.items())
        self._resumed = resumed
        self._under_way: dict[str, tuple[str, float]] = {}  # key -> problem, share done
        self._begun: tuple[float, float] | None = None  # time and work of the first sign

    def update(self, update: Update, now: float) -> None:
        """Take in news of a run, heard at ``now`` seconds."""
        run = update.run
        if update.status == "restarted":
            self._resumed.discard(run.key)
            return
        if update.status == "running":
            share = update.n_evaluations / run.max_evaluations
            self._under_way[run.key] = run.problem, share
        else:
            share = 1.0
            self._under_way.pop(run.key, None)
            self.finished[run.problem] += 1
        if run.key in self._resumed or self._begun is None:
            self._resumed.discard(run.key)
            self._begun = self._begun or (now, 0.0)
            time_begun, work_begun = self._begun
            self._begun = time_begun, work_begun + share * self._work[run.problem]

    def done(self, problem: str) -> float:
        """Runs of a problem that are done, in fractions too."""
        under_way = sum(share for name, share in self._under_way.values() if name == problem)
        return self.finished[problem] + under_way

    @property
    def share(self) -> float:
        """Part of all work that is done."""
        done = sum(self._work[name] * self.done(name) for name in self.runs)
        return done / self._total if self._total else 1.0

    def seconds_left(self, now: float) -> float | None:
        """Seconds until all is done, or None if too little is known."""
        if self._begun is None:
            return None
        passed, gained = now - self._begun[0], self.share * self._total - self._begun[1]
        enough = gained >= MEASURE_SHARE * self._total or passed >= MEASURE_AT_MOST
        if passed < MEASURE_FOR or gained <= 0 or not enough:
            return None
        return passed * (1 - self.share) * self._total / gained


class StudyView(Progress):
    """Bars per problem and overall, runs per minute, time left, best errors so far."""

    def __init__(self, spec: StudySpec, counts: Counter[tuple[str, str]], resumed: set[str]):
        self._pace = Pace(spec, counts, resumed)
        self._started = self._said = time.monotonic()
        self._best: dict[str, float] = {}
        self._wide = console.width >= WIDE
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30 if self._wide else 10),
            TextColumn("{task.fields[runs]}", markup=False, justify="right"),
            TextColumn("{task.fields[words]}", style="dim", markup=False),
            console=console,
            refresh_per_second=4,
            disable=not console.is_terminal,
        )
        self._bars = {
            name: self.add_task(name, total=n, runs=f"0/{n}", words="")
            for name, n in self._pace.runs.items()
        }
        self._overall = self.add_task("all", total=1.0, runs=self._counts(), words="")

    def hear(self, update: Update) -> None:
        """Take in news of a run."""
        name, method, now = update.run.problem, update.run.method, time.monotonic()
        self._pace.update(update, now)
        if update.status == "restarted":
            say(f"the checkpoint of {name}, {method} was damaged; it starts again")
        elif update.error < self._best.get(name, float("inf")):
            self._best[name] = update.error
            best = f"best error {update.error:.3g} by {method}"
            self.update(self._bars[name], words=best if self._wide else f"{update.error:.3g}")
        runs = f"{self._pace.finished[name]}/{self._pace.runs[name]}"
        self.update(self._bars[name], completed=self._pace.done(name), runs=runs)
        runs, words = self._counts(), self._words(now)
        self.update(self._overall, completed=self._pace.share, runs=runs, words=words)
        if not console.is_terminal and now - self._said >= LINE_EVERY:
            self._said = now
            say(f"{runs}, {words}")

    def _counts(self) -> str:
        return f"{self._pace.finished.total():,}/{self._pace.runs.total():,} runs"

    def _words(self, now: float) -> str:
        words = []
        if self._wide or not console.is_terminal:
            per_minute = 60 * self._pace.finished.total() / max(now - self._started, 1e-9)
            words.append(f"{per_minute:,.0f} runs a minute")
        if (left := self._pace.seconds_left(now)) is not None and left > 0:
            words.append(f"about {duration(left)} left")
        return ", ".join(words)


def duration(seconds: float) -> str:
    """``50 s``, ``12 min``, ``3.5 h`` or ``2.1 days``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 36 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"
