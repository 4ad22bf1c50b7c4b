"""The driver's side of a study on a Dask cluster: it hands out slices of runs and writes the store.

Workers know no store and keep nothing. What is in flight is bounded, so that neither the driver
nor the scheduler ever holds the whole study.
"""

from __future__ import annotations

import signal
import time
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

import dask
from distributed import Client, Future, KilledWorker
from distributed.comm import CommClosedError

from symbreak._support.interrupts import deferred_interrupts
from symbreak.experiments._connection import connect
from symbreak.experiments._crew import Crew
from symbreak.experiments._errors import ClusterError
from symbreak.experiments._line import Line
from symbreak.experiments._run import CheckpointError
from symbreak.experiments._slices import (
    Outcome,
    describe_here,
    run_slice,
    stop_slices,
)
from symbreak.experiments._spec import RunSpec
from symbreak.experiments._store import Store
from symbreak.experiments._workers import GRACE, MAX_DEATHS, ClusterNews, StudyResult, Update
from symbreak.optimizers import State

PER_THREAD = 2  # runs in flight: one at work, one that follows it without a pause
BATCH = 100  # slices that are handed out or taken in at once, before the other is looked after
WAIT = 0.2  # seconds that Ctrl-C may go unnoticed
MAX_BREAKS = 5  # losses of the connection with nothing brought in between
GO_ON = "Finished runs and checkpoints are in the store; start again to go on."


def run_on_cluster(
    cluster: str | Path | Client,
    store: Store,
    todo: Iterator[RunSpec],
    *,
    workers: int,
    imports: Sequence[str],
    slice_seconds: float,
    on_run: Callable[[Update], object],
    on_cluster: Callable[[ClusterNews], object] | None,
) -> StudyResult:
    """Do runs on a cluster; arguments are those of ``run_study``."""
    with connect(cluster, workers=workers) as client:
        tell = on_cluster or _warn
        pool = _ClusterPool(client, store, slice_seconds, on_run, tell, imports)
        return pool.do(todo)


def _warn(news: ClusterNews) -> None:
    if news.warning:
        warnings.warn(news.text, stacklevel=2)


@dataclass
class _Task:
    """A slice in flight."""

    run: RunSpec
    alone: bool
    future: Future | None = None  # None if it could not be handed out


class _ClusterPool:
    """Keeps a cluster busy and takes in what comes back."""

    def __init__(
        self,
        client: Client,
        store: Store,
        slice_seconds: float,
        on_run: Callable[[Update], object],
        on_cluster: Callable[[ClusterNews], object],
        imports: Sequence[str],
    ) -> None:
        self._line, self._store, self._seconds = Line(client), store, slice_seconds
        self._on_run, self._crew = on_run, Crew(self._line, on_cluster, imports)
        self._imports = imports
        self._study = uuid.uuid4().hex
        self._in_flight: dict[str, _Task] = {}  # by key of the run
        self._done: SimpleQueue[_Task] = SimpleQueue()  # that ended
        self._files: dict[str, Future] = {}  # contents of data files, by digest
        self._deaths: Counter[str] = Counter()
        self._again: list[RunSpec] = []  # that got lost
        self._suspects: list[RunSpec] = []  # whose workers died, by them or beside them
        self._finished = self._failed = self._breaks = 0
        self._begun = self._stop = False

    def do(self, todo: Iterator[RunSpec]) -> StudyResult:
        """Do all runs, or as many as there is time for."""
        with (
            deferred_interrupts(self._ask_to_stop, (signal.SIGINT, signal.SIGTERM)),
            dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}),
        ):
            try:
                self._crew.warn_if_exposed()
                while not self._all_done(todo) and self._take_up_again():
                    pass
            except OSError as error:  # Dask's own are of this kind
                raise ClusterError(f"the cluster failed ({error}). {GO_ON}") from error
            finally:
                self._line.close()
        return StudyResult(self._finished, self._failed, self._stop)

    def _all_done(self, todo: Iterator[RunSpec]) -> bool:
        """Do runs until there are no more, or it is time to stop; not if the line breaks."""
        try:
            self._crew.check_scheduler()
            self._crew.look(begun=self._begun)
            while self._refill(todo):
                self._take_in()
                self._crew.look(begun=self._begun)
            if self._stop:
                self._collect_checkpoints()
        except OSError as error:
            if not (self._line.is_broken or isinstance(error, CommClosedError)):
                raise
            return self._stop
        return True

    def _take_up_again(self) -> bool:
        """Connect again, unless it is time to stop.

        What was in flight is done again from its checkpoint: twice is as good as once.
        """
        where = f"the connection to the scheduler at {self._line.address} was lost"
        self._crew.tell(f"cluster: {where}; trying again for {self._line.patience:.0f} s")
        self._breaks += 1
        if self._breaks > MAX_BREAKS:
            raise ClusterError(f"{where} {self._breaks} times, with nothing done. {GO_ON}")
        if not self._line.restore(lambda: self._stop):
            if self._stop:
                return False
            raise ClusterError(f"{where}: it has ended, or is too busy to answer. {GO_ON}")
        for task in self._in_flight.values():
            self._put_back(task)
        self._in_flight.clear()
        self._files.clear()
        self._crew.look_again()
        self._crew.tell("cluster: connected again")
        return True

    def _put_back(self, task: _Task) -> None:
        (self._suspects if task.alone else self._again).append(task.run)

    def _ask_to_stop(self) -> None:
        self._stop = True

    def _refill(self, todo: Iterator[RunSpec]) -> bool:
        """Hand out runs while there is room; whether anything is left to wait for."""
        if self._stop:
            return False
        # a few at a time: a scheduler that gets thousands at once may not answer for too long
        room = min(PER_THREAD * self._crew.n_threads, len(self._in_flight) + BATCH)
        more = True
        while more and len(self._in_flight) < room:
            run = self._again.pop() if self._again else next(todo, None)
            if run is None:
                more = False
            else:
                self._begin(run)
        if not more and not self._in_flight and self._suspects:
            self._begin(self._suspects.pop(), alone=True)  # so that it is clear who kills
        return more or bool(self._in_flight)

    def _begin(self, run: RunSpec, *, alone: bool = False) -> None:
        """Hand out a run, from its checkpoint if there is one."""
        state = None
        try:
            state = self._store.load_checkpoint(run.key)
        except CheckpointError:
            self._store.delete_checkpoint(run.key)
            self._on_run(Update(run, "restarted", 0, float("inf")))
        self._submit(run, state, alone=alone)

    def _submit(
        self, run: RunSpec, state: State | None, *, alone: bool = False, cpu: str = ""
    ) -> None:
        # A run stays on CPUs of one kind, if it can: no machine alone would give a mixture.
        preferred = self._crew.like(cpu)
        task = self._in_flight[run.key] = _Task(run, alone)
        if self._line.is_broken:
            return  # it is put back with all that was in flight
        task.future = self._line.client.submit(
            run_slice,
            run,
            state,
            self._file_of(run),
            self._seconds,
            self._study,
            describe_here(),
            self._imports,
            pure=False,
            priority=0 if state is None else 1,  # what is begun goes first
            workers=preferred,
            allow_other_workers=preferred is not None,
        )
        self._begun = True
        task.future.add_done_callback(lambda _: self._done.put(task))

    def _file_of(self, run: RunSpec) -> Future | None:
        """The run's data file on the cluster; Dask makes it again if its worker is lost."""
        if run.data_file is None:
            return None
        if (digest := run.data_file.digest) not in self._files:
            path = Path(run.data_file.path)
            content = path.read_bytes() if path.is_file() else b""  # the run will say it
            self._files[digest] = self._line.client.submit(bytes, content, pure=False)
        return self._files[digest]

    def _take_in(self) -> None:
        """Wait a little for slices that ended, and take them in together."""
        ended = self._ended()
        if not ended:
            return
        good = [task.future for task in ended if task.future and task.future.status == "finished"]
        outcomes: list[Outcome] = []
        if good:
            outcomes = self._line.client.gather(good, errors="skip")
        by_key = {outcome.key: outcome for outcome in outcomes}
        with self._store.batch():
            for task in ended:
                if task.run.key in by_key:
                    self._write(task.run, by_key[task.run.key])
        for task in ended:
            del self._in_flight[task.run.key]
            if task.run.key in by_key:
                self._go_on(task, by_key[task.run.key])
            else:
                self._handle_loss(task)

    def _ended(self) -> list[_Task]:
        tasks = []
        with suppress(Empty):
            tasks.append(self._done.get(timeout=WAIT))
            while len(tasks) < BATCH:
                tasks.append(self._done.get_nowait())
        # a broken line ends what it carried, which may be in flight again by now
        return [task for task in tasks if self._in_flight.get(task.run.key) is task]

    def _write(self, run: RunSpec, outcome: Outcome) -> None:
        """Put what a slice brought into the store."""
        if outcome.record is not None:
            self._store.add(run, outcome.record, outcome.facts)
        elif outcome.state is not None:
            self._store.save_checkpoint(run.key, outcome.state)
        elif outcome.status == "failed":
            self._store.add_failure(run, outcome.text)
        elif outcome.status == "restarted":
            self._store.delete_checkpoint(run.key)

    def _go_on(self, task: _Task, outcome: Outcome) -> None:
        """Tell what a slice brought; hand out the next one, if there is more to do."""
        run, status = task.run, outcome.status
        self._breaks = 0
        self._finished += status == "finished"
        self._failed += status == "failed"
        if status == "refused":
            self._crew.look_again()  # there is a worker that was not looked at yet
            self._again.append(run)
        elif status != "stopped":
            self._on_run(Update(run, status, *outcome.progress))
        if status in ("running", "restarted") and not self._stop:
            self._submit(run, outcome.state, alone=task.alone, cpu=outcome.cpu)

    def _handle_loss(self, task: _Task) -> None:
        """A slice came to nothing: its workers died, or Dask failed to hand it over."""
        if self._line.is_broken:
            self._put_back(task)
            return
        run, future = task.run, task.future
        error = future.exception() if future and future.status == "error" else None
        killed = isinstance(error, KilledWorker)
        self._deaths[run.key] += getattr(error, "allowed_failures", 0) + 1
        self._crew.look_again()
        if killed and (not task.alone or self._deaths[run.key] < MAX_DEATHS):
            self._suspects.append(run)
        elif self._deaths[run.key] < MAX_DEATHS:
            self._again.append(run)
        else:
            n = self._deaths[run.key]
            why = f"its worker died, or could not be reached, {n} times: {error}"
            self._store.add_failure(run, why)
            self._failed += 1
            self._on_run(Update(run, "failed", 0, float("inf")))

    def _collect_checkpoints(self) -> None:
        """Let slices end now, and wait for what they hand back."""
        self._line.client.run(stop_slices, self._study, on_error="ignore")
        end = time.monotonic() + GRACE
        while self._in_flight and time.monotonic() < end:
            self._take_in()
            self._line.check()
