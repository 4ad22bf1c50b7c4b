"""The driver of a study: it hands out slices of runs to an executor, and alone writes the store.

Workers know no store and keep nothing: a run is either finished in the store, or has a checkpoint
there, or starts again. So any process may be killed at any time. What is in flight is bounded, so
that neither the driver nor an executor ever holds the whole study.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

from filelock import FileLock, Timeout

from symbreak._support.checks import (
    check_callable,
    check_count,
    check_executor,
    check_flag,
    check_real,
    shown,
)
from symbreak._support.signals import deferred_interrupts
from symbreak._support.state import State
from symbreak._support.words import how_to_install
from symbreak._support.workers import WorkerDiedError, WorkerProcesses
from symbreak.experiments._errors import (
    CheckpointError,
    ExecutorError,
    LostConnectionError,
    StoreError,
)
from symbreak.experiments._run import (
    Files,
    Outcome,
    describe_here,
    import_modules,
    own_names,
    run_slice,
)
from symbreak.experiments._spec import RunSpec
from symbreak.experiments._store import Store
from symbreak.experiments._study import StudySpec, check_shard

MAX_WORKERS = 4_096  # each is a process
MAX_DEATHS = 5  # a run that takes so many workers with it has failed
MAX_BREAKS = 5  # losses of the connection with nothing brought in between
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
    n_evaluations: int
    error: float


class StudyResult(NamedTuple):
    """How a study ended."""

    finished: int
    failed: int
    interrupted: bool


def run_study(
    spec: StudySpec | str | Path,
    store: Store | str | Path,
    *,
    workers: int = 0,
    shard: tuple[int, int] = (1, 1),
    retry_failed: bool = False,
    known: Collection[str] = (),
    imports: Sequence[str] = (),
    checkpoint_every: float = CHECKPOINT_EVERY,
    on_run: Callable[[Update], object] | None = None,
    executor: Executor | str | Path | None = None,
    on_news: Callable[[str], object] | None = None,
) -> StudyResult:
    """Do every run of a study that is not in the store.

    Args:
        spec: From ``StudySpec.load``, or what that takes.
        store: Where results go; a path is opened or made.
        workers: Processes, 0 means one per core; or how many calls an executor does at once, 0
            means what it says itself. Results do not depend on it.
        shard: ``(i, n)`` takes the i-th of n parts of the runs: for job arrays.
        retry_failed: Also try again what failed before.
        known: Keys of runs to leave out, such as ``Archive.keys``.
        imports: Names of modules that add methods or problems of your own; they are imported here
            before the study is read, and in every worker before its first run.
        checkpoint_every: Seconds between checkpoints of a long run, and what is lost of it at most
            if a process is killed.
        on_run: Called with an ``Update`` as runs go on, finish or fail.
        executor: Who does the runs instead of processes of this machine: a
            ``concurrent.futures.Executor``, such as Dask's ``client.get_executor()``; or the
            address of a Dask scheduler, or its scheduler file. Results are the same
            (docs/cluster.md).
        on_news: Called with what happens to a cluster, in words, by default warnings are issued;
            and when Ctrl-C was heard.

    Ctrl-C once stops when the slices under way have ended, after ``checkpoint_every`` seconds at
    most; twice, at once. Nothing is lost.

    Raises:
        ValueError: if the study is not valid, a module cannot be imported, or a method or problem
            is not symbreak's own and there are no imports; nothing has started then.
        StoreError: if the store cannot be written, or another study is running on it.
        ExecutorError: if workers have other versions, or the executor fails.
    """
    imports = import_modules(imports)
    if not isinstance(spec, StudySpec):
        spec = StudySpec.load(spec)
    if not imports:
        _check_workers_know(spec)
    if check_count("workers", workers, 0) > MAX_WORKERS:
        raise ValueError(f"workers must be at most {MAX_WORKERS:,}, got {shown(workers)}.")
    if not isinstance(executor, str | Path):
        check_executor(executor)
    check_callable("on_run", on_run)
    check_callable("on_news", on_news)
    check_flag("retry_failed", retry_failed)
    if not isinstance(known, list | tuple | Set) or not all(isinstance(key, str) for key in known):
        raise ValueError(f"known must be keys of runs, such as Archive.keys, got {shown(known)}.")
    seconds = check_real("checkpoint_every", checkpoint_every, 0, 1e9)
    shard = check_shard(shard)
    with (
        nullcontext(store) if isinstance(store, Store) else Store(store) as opened,
        only_driver(opened.path),
    ):
        todo = partial(
            missing_runs, spec, opened, shard=shard, retry_failed=retry_failed, known=known
        )
        driver = _Driver(opened, todo, seconds, imports, on_run, on_news)
        opened.add_study(spec)
        return _drive(driver, executor, workers)


def _drive(driver: _Driver, executor: Executor | str | Path | None, workers: int) -> StudyResult:
    """Let a driver use the executor that was asked for."""
    if executor is None:
        n = workers or os.cpu_count() or 1
        processes = WorkerProcesses(n)
        try:
            return driver.do(processes, lambda: n)
        finally:
            processes.kill_workers()
    if isinstance(executor, Executor) and not type(executor).__module__.startswith("distributed"):
        n = workers or getattr(executor, "_max_workers", 0) or os.cpu_count() or 1
        return driver.do(executor, lambda: n)
    try:  # only now: it needs Dask
        from symbreak.experiments._dask import DaskExecutor, connect
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"clusters need {error.name}: {how_to_install('cluster')}", name=error.name
        ) from None
    if workers:
        raise ValueError("workers are those of this machine; a cluster has those that it has.")
    if isinstance(executor, Executor):
        dask = DaskExecutor(executor, driver.tell, driver.warn)
        return driver.do(dask, dask.n_threads)
    again = False
    while True:
        with connect(executor, again=again) as client:
            dask = DaskExecutor(client.get_executor(), driver.tell, driver.warn)
            try:
                return driver.do(dask, dask.n_threads)
            except LostConnectionError as lost:
                if not driver.takes_up_again():
                    raise
                driver.tell(f"cluster: {lost} Connecting again.")
                again = True


def _check_workers_know(spec: StudySpec) -> None:
    """Refuse methods and problems that are only in this process; workers are fresh ones."""
    problems = [
        spec.problem_settings.get(name, {}).get("of", name)
        for name in spec.problems
        if name not in spec.data_files
    ]
    for kind, name in own_names(spec.methods, problems)[:1]:
        raise ValueError(
            f"the {kind} {shown(name)} is not symbreak's own, and workers do not run your script, "
            "so they would not know it; put it into a module and name that: "
            'imports=["my_module"], or --import my_module in the shell.'
        )


def missing_runs(
    spec: StudySpec,
    store: Store,
    *,
    shard: tuple[int, int] = (1, 1),
    retry_failed: bool = False,
    known: Collection[str] = (),
) -> Iterator[RunSpec]:
    """The runs that ``run_study`` would do, in its order."""
    return (
        run
        for run in spec.runs(check_shard(shard))
        if (key := run.key) not in known
        and not store.has(key)
        and (retry_failed or not store.has_failed(key))
    )


@contextmanager
def only_driver(path: Path) -> Iterator[None]:
    """Hold the right to work on a store; the system takes it back when the process dies.

    Raises:
        StoreError: if another process has it.
    """
    file = path.resolve()  # the same lock, whichever link leads to the store
    file = file.with_name(file.name + ".lock")
    try:
        lock = FileLock(file).acquire(timeout=0.2)
    except Timeout:
        raise StoreError(
            f"another study is running on {path}. Wait for it; or give each its own --store and "
            "--shard, and join them with 'symbreak store merge'."
        ) from None
    with lock:
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes it when it is released
                file.unlink()  # filelock notices that, where another process has it open already


class _Slice(NamedTuple):
    """Runs that were handed out together; ``alone`` if there was nothing else in flight."""

    runs: Sequence[RunSpec]
    alone: bool = False


class _Driver:
    """Keeps an executor busy and takes in what comes back."""

    def __init__(
        self,
        store: Store,
        missing: Callable[[], Iterator[RunSpec]],
        seconds: float,
        imports: Sequence[str],
        on_run: Callable[[Update], object] | None,
        on_news: Callable[[str], object] | None,
    ) -> None:
        self._store, self._missing, self._seconds = store, missing, seconds
        self._imports = imports
        self._on_run = on_run or (lambda update: None)
        self.tell = on_news or (lambda text: None)
        self.warn = on_news or (lambda text: warnings.warn(text, stacklevel=2))
        self._executor: Executor
        self._todo: Iterator[RunSpec]
        self._in_flight: dict[Future[list[Outcome]], _Slice] = {}
        self._done: SimpleQueue[Future[list[Outcome]] | None] = SimpleQueue()
        self._waiting: list[RunSpec] = []  # that were handed out, and not begun
        self._singly: list[RunSpec] = []  # whose worker died, by one of them
        self._suspects: list[RunSpec] = []  # whose workers died, by them or beside them
        self._deaths: Counter[str] = Counter()
        self._cpus = {describe_here()["cpu"]}
        self._pace = float("inf")  # seconds of a run, on average
        self._slice_seconds = seconds
        self._finished = self._failed = self._breaks = 0
        self._begun = self._stop = False

    def do(self, executor: Executor, n_slots: Callable[[], int]) -> StudyResult:
        """Do all runs that are missing, or as many as there is time for."""
        self._executor, self._todo = executor, self._missing()
        for runs in (self._waiting, self._singly, self._suspects):
            runs.clear()  # of an earlier executor; they are missing, too
        with deferred_interrupts(self._ask_to_stop, (signal.SIGINT, signal.SIGTERM)):
            try:
                while not self._stop and self._refill(n_slots()):
                    self._take_in(WAIT)
                if self._stop and self._in_flight:
                    some = f"{max(self._slice_seconds, 1):.0f} s"
                    self.tell(f"stopping, which may take {some}; Ctrl-C again stops at once")
                end = time.monotonic() + self._slice_seconds + GRACE
                while self._in_flight and (left := end - time.monotonic()) > 0:
                    self._take_in(min(left, WAIT))
            except LostConnectionError:
                if not self._stop:
                    raise
            finally:
                for future in self._in_flight:
                    future.cancel()
                self._in_flight.clear()
        return StudyResult(self._finished, self._failed, self._stop)

    def takes_up_again(self) -> bool:
        """Whether a lost connection is worth another one: something was brought in before."""
        self._breaks += 1
        return self._breaks <= MAX_BREAKS

    def _ask_to_stop(self) -> None:
        self._stop = True
        self._done.put(None)  # wakes who waits for it

    def _refill(self, n_slots: int) -> bool:
        """Hand out runs while there is room; whether anything is left to wait for."""
        self._slice_seconds = max(self._seconds, PER_SLOT * n_slots)
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
        seconds = min(BATCH_SECONDS, self._seconds)
        n = min(max(int(seconds / max(self._pace, 1e-9)), 1), MAX_BATCH)
        again, self._waiting = self._waiting[:n], self._waiting[n:]
        return [*again, *islice(self._todo, n - len(again))]

    def _checkpoint_of(self, run: RunSpec) -> State | None:
        try:
            return self._store.load_checkpoint(run.key)
        except CheckpointError:
            self._restart(run)
            return None

    def _restart(self, run: RunSpec) -> None:
        self._store.delete_checkpoint(run.key)
        self._on_run(Update(run, "restarted", 0, float("inf")))

    def _submit(
        self,
        runs: Sequence[RunSpec],
        *,
        alone: bool = False,
        state: State | None = None,
        files: Files | None = None,
    ) -> None:
        jobs = [(run, state or self._checkpoint_of(run)) for run in runs]
        arguments = (jobs, self._slice_seconds, describe_here(), self._imports, files)
        try:
            future = self._executor.submit(run_slice, *arguments)
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
            with self._store.batch():
                for run, outcome, _ in brought:
                    self._write(run, outcome)
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

    def _write(self, run: RunSpec, outcome: Outcome) -> None:
        """Put what a slice brought of a run into the store."""
        if outcome.record is not None:
            self._store.add(run, outcome.record, outcome.facts)
        elif outcome.state is not None:
            self._store.save_checkpoint(run.key, outcome.state)
        elif outcome.status == "failed":
            self._store.add_failure(run, outcome.text)

    def _go_on(self, run: RunSpec, outcome: Outcome, alone: bool) -> None:
        """Tell what a slice brought of a run; hand out the next one, if there is more to do."""
        status = outcome.status
        if status == "refused":
            raise ExecutorError(
                f"a worker was refused: {outcome.text}. Install there what is here, or leave it "
                f"out; {'start again to go on' if self._begun else 'nothing was run'}."
            )
        self._note(run, outcome)
        if status == "lacking":
            self._send_file(run, alone)
            return
        if status == "restarted":
            self._restart(run)
        else:
            self._finished += status == "finished"
            self._failed += status == "failed"
            self._on_run(Update(run, status, outcome.n_evaluations, outcome.error))
        if status in ("running", "restarted") and not self._stop:
            self._submit([run], alone=alone, state=outcome.state)

    def _note(self, run: RunSpec, outcome: Outcome) -> None:
        """Learn from an outcome: how long runs take, and on which CPU."""
        self._begun, self._breaks = True, 0
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

    def _send_file(self, run: RunSpec, alone: bool) -> None:
        """Hand out a run again with its data file, for a worker that does not see this disk."""
        assert run.data_file is not None
        path, digest = Path(run.data_file.path), run.data_file.digest
        content = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(content).hexdigest() == digest:
            self._submit([run], alone=alone, files={digest: content})
        else:
            self._fail(run, f"the data file {path.name} was changed or removed; start again.")

    def _handle_loss(self, its: _Slice, error: BaseException) -> None:
        """A slice came to nothing: a worker died, or the executor fails."""
        run, exact = its.runs[0], isinstance(error, WorkerDiedError)
        if isinstance(error, CancelledError):
            raise LostConnectionError(f"a slice was cancelled: the connection was lost. {GO_ON}")
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
        self._store.add_failure(run, reason)
        self._failed += 1
        self._on_run(Update(run, "failed", 0, float("inf")))


def _failure(error: BaseException) -> ExecutorError:
    if isinstance(error, ExecutorError):
        return error
    return ExecutorError(f"the executor failed ({type(error).__name__}: {error}). {GO_ON}")
