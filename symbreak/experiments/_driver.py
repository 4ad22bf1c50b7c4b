"""The driver of a study: it hands out slices of runs to an executor, and alone writes the store.

Workers know no store and keep nothing: a run is either finished in the store, or has a checkpoint
there, or starts again. So any process may be killed at any time. What is in flight is bounded, so
that neither the driver nor an executor ever holds the whole study.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from queue import Empty, SimpleQueue
from typing import NamedTuple

from symbreak._support.signals import deferred_interrupts
from symbreak._support.state import State
from symbreak._support.workers import WorkerDiedError
from symbreak.experiments._run import (
    CheckpointError,
    ExecutorError,
    Outcome,
    describe_here,
    run_slice,
)
from symbreak.experiments._spec import RunSpec
from symbreak.experiments._store import Store

MAX_DEATHS = 5  # a run that takes so many workers with it has failed
CHECKPOINT_EVERY = 5.0  # seconds of a slice; the state of the largest run of the paper costs 26 ms
PER_SLOT = 0.02  # seconds by which slices are longer for each worker: a driver takes in 50 a second
BATCH_SECONDS, MAX_BATCH = 0.25, 64  # of short runs in one slice
SHORT = 1.0  # seconds of runs that a worker has two slices of, so that it need not wait for more
WAIT = 1.0  # seconds between looks at a cluster
GRACE = 10.0  # seconds that slices may take longer than they should when a study is stopped
GO_ON = "Finished runs and checkpoints are in the store; start again to go on."


class Update(NamedTuple):
    """What the driver tells about a run.

    ``status`` is running, finished, failed, or restarted: its checkpoint was damaged.
    """

    run: RunSpec
    status: str
    n_evaluations: int = 0
    error: float = float("inf")


class StudyResult(NamedTuple):
    """How a study ended."""

    finished: int
    failed: int
    interrupted: bool


class _Slice(NamedTuple):
    """Runs that were handed out together; ``alone`` if there was nothing else in flight."""

    runs: Sequence[RunSpec]
    alone: bool = False


@dataclass(eq=False)
class Driver:
    """Keeps an executor busy and takes in what comes back."""

    store: Store
    todo: Iterator[RunSpec]
    executor: Executor
    n_slots: Callable[[], int]  # how many slices it does at once
    seconds: float  # of a slice
    imports: Sequence[str]  # modules that every worker imports
    on_run: Callable[[Update], object]
    tell: Callable[[str], object]  # what happens, in words
    warn: Callable[[str], object]  # what may change results, in words

    def __post_init__(self) -> None:
        self._in_flight: dict[Future[list[Outcome]], _Slice] = {}
        self._done: SimpleQueue[Future[list[Outcome]] | None] = SimpleQueue()
        self._waiting: list[RunSpec] = []  # that were handed out, and not begun
        self._singly: list[RunSpec] = []  # whose worker died, by one of them
        self._suspects: list[RunSpec] = []  # whose workers died, by them or beside them
        self._deaths: Counter[str] = Counter()
        self._cpus = {describe_here()["cpu"]}
        self._pace = float("inf")  # seconds of a run, on average
        self._slice_seconds = self.seconds
        self._finished = self._failed = 0
        self._begun = self._stop = False

    def do(self) -> StudyResult:
        """Do all runs, or as many as there is time for."""
        with deferred_interrupts(self._ask_to_stop, (signal.SIGINT, signal.SIGTERM)):
            try:
                while not self._stop and self._refill():
                    self._take_in(WAIT)
                if self._stop and self._in_flight:
                    some = f"{max(self._slice_seconds, 1):.0f} s"
                    self.tell(f"stopping, which may take {some}; Ctrl-C again stops at once")
                end = time.monotonic() + self._slice_seconds + GRACE
                while self._in_flight and (left := end - time.monotonic()) > 0:
                    self._take_in(min(left, WAIT))
            except ExecutorError:
                if not self._stop:
                    raise
            finally:
                for future in self._in_flight:
                    future.cancel()
        return StudyResult(self._finished, self._failed, self._stop)

    def _ask_to_stop(self) -> None:
        self._stop = True
        self._done.put(None)  # wakes who waits for it

    def _refill(self) -> bool:
        """Hand out runs while there is room; whether anything is left to wait for."""
        n_slots = self.n_slots()
        self._slice_seconds = max(self.seconds, PER_SLOT * n_slots)
        room = max(n_slots, 1) * (2 if self._pace < SHORT else 1)
        while len(self._in_flight) < room and (runs := self._next()):
            self._submit(runs)
        if not self._in_flight and self._suspects:
            self._submit([self._suspects.pop()], alone=True)  # a death then tells which run kills
        return bool(self._in_flight)

    def _next(self) -> list[RunSpec]:
        """The runs of the next slice: as many as are short."""
        if self._singly:
            return [self._singly.pop()]
        seconds = min(BATCH_SECONDS, self.seconds)
        n = min(max(int(seconds / max(self._pace, 1e-9)), 1), MAX_BATCH)
        again, self._waiting = self._waiting[:n], self._waiting[n:]
        return [*again, *islice(self.todo, n - len(again))]

    def _checkpoint_of(self, run: RunSpec) -> State | None:
        with suppress(CheckpointError):
            return self.store.load_checkpoint(run.key)
        self._restart(run)
        return None

    def _restart(self, run: RunSpec) -> None:
        self.store.delete_checkpoint(run.key)
        self.on_run(Update(run, "restarted"))

    def _submit(
        self, runs: Sequence[RunSpec], *, alone: bool = False, state: State | None = None
    ) -> None:
        jobs = [(run, state or self._checkpoint_of(run)) for run in runs]
        arguments = (jobs, self._slice_seconds, describe_here(), self.imports)
        try:
            future = self.executor.submit(run_slice, *arguments)
        except Exception as error:
            raise _failure(error) from error
        self._in_flight[future] = _Slice(runs, alone)
        future.add_done_callback(self._done.put)

    def _take_in(self, timeout: float) -> None:
        """Wait for slices to end, and write what they brought in one transaction."""
        brought: list[tuple[RunSpec, Outcome, bool]] = []
        lost: list[tuple[_Slice, BaseException]] = []
        for future in self._ended(timeout):
            its = self._in_flight.pop(future)
            try:
                outcomes = future.result()
            except Exception as error:
                lost.append((its, error))
                continue
            brought += [(*pair, its.alone) for pair in zip(its.runs, outcomes, strict=False)]
            self._waiting.extend(its.runs[len(outcomes) :])
        if brought:
            with self.store.batch():
                for run, outcome, _ in brought:
                    if outcome.record is not None:
                        self.store.add(run, outcome.record, outcome.facts)
                    elif outcome.state is not None:
                        self.store.save_checkpoint(run.key, outcome.state)
                    elif outcome.status == "failed":
                        self.store.add_failure(run, outcome.text)
        for result in brought:
            self._go_on(*result)
        for loss in lost:
            self._handle_loss(*loss)

    def _ended(self, timeout: float) -> list[Future[list[Outcome]]]:
        futures = []
        with suppress(Empty):
            futures.append(self._done.get(timeout=timeout))
            while True:
                futures.append(self._done.get_nowait())
        return [future for future in futures if future in self._in_flight]

    def _go_on(self, run: RunSpec, outcome: Outcome, alone: bool) -> None:
        """Tell what a slice brought of a run; hand out the next one, if there is more to do."""
        status = outcome.status
        if status == "refused":
            raise ExecutorError(
                f"a worker was refused: {outcome.text}. Install there what is here, or leave it "
                f"out; {'start again to go on' if self._begun else 'nothing was run'}."
            )
        self._note(run, outcome)
        if status == "restarted":
            self._restart(run)
        else:
            self._finished += status == "finished"
            self._failed += status == "failed"
            self.on_run(Update(run, status, outcome.n_evaluations, outcome.error))
        if status in ("running", "restarted") and not self._stop:
            self._submit([run], alone=alone, state=outcome.state)

    def _note(self, run: RunSpec, outcome: Outcome) -> None:
        """Learn from an outcome: how long runs take, and on which CPU."""
        self._begun = True
        self._deaths.pop(run.key, None)
        if outcome.status in ("running", "finished"):
            last = self._pace if self._pace < float("inf") else outcome.seconds
            self._pace = 0.9 * last + 0.1 * outcome.seconds
        if outcome.cpu and outcome.cpu not in self._cpus:
            self._cpus.add(outcome.cpu)
            self.warn(
                f"Warning: a worker has another CPU or a BLAS for another one ({outcome.cpu}) than "
                f"this machine ({describe_here()['cpu']}): results may differ in rounding. Every "
                "record says which made it."
            )

    def _handle_loss(self, its: _Slice, error: BaseException) -> None:
        """A slice came to nothing: a worker died, or the executor fails."""
        run, exact = its.runs[0], isinstance(error, WorkerDiedError)
        if isinstance(error, CancelledError):
            raise ExecutorError(f"a slice was cancelled: the connection was lost. {GO_ON}")
        if not exact and type(error).__name__ != "KilledWorker":  # Dask's, which may be missing
            raise _failure(error) from error
        if len(its.runs) > 1 or not (exact or its.alone):  # it is not clear which run did it
            (self._singly if exact else self._suspects).extend(its.runs)
            return
        self._deaths[run.key] += 1
        if exact and self._deaths[run.key] < MAX_DEATHS:
            self._singly.append(run)
        else:
            times = f" {MAX_DEATHS} times, at last" if exact else ""
            self._fail(run, f"its worker died{times}: {error}")

    def _fail(self, run: RunSpec, reason: str) -> None:
        self.store.add_failure(run, reason)
        self._failed += 1
        self.on_run(Update(run, "failed"))


def _failure(error: BaseException) -> ExecutorError:
    if isinstance(error, ExecutorError):
        return error
    return ExecutorError(f"the executor failed ({type(error).__name__}: {error}). {GO_ON}")
