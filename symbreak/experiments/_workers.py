"""Run a study on all cores: worker processes that write their own runs into the store.

A worker keeps nothing that is not in the store: a run is either finished there, or has a
checkpoint there, or starts again. So any process may be killed at any time.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from symbreak._support.checks import (
    check_callable,
    check_count,
    check_flag,
    check_kind,
    check_real,
    shown,
)
from symbreak._support.extras import how_to_install
from symbreak._support.interrupts import deferred_interrupts
from symbreak._support.processes import detached_start, end_with_parent
from symbreak.experiments._errors import StoreError
from symbreak.experiments._imports import check_workers_know, import_modules
from symbreak.experiments._lock import only_driver
from symbreak.experiments._run import CHECKPOINT_EVERY, CheckpointError, execute
from symbreak.experiments._spec import RunSpec
from symbreak.experiments._store import Store
from symbreak.experiments._study import StudySpec, check_shard
from symbreak.training import Progress

if TYPE_CHECKING:
    from distributed import Client

MAX_WORKERS = 4_096  # each is a process
MAX_DEATHS = 5  # a run that takes so many workers with it has failed
GRACE = 10.0  # seconds that a worker has for a last checkpoint when the driver is gone


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


class ClusterNews(NamedTuple):
    """What the driver tells about a cluster; ``warning`` if a user should know it."""

    text: str
    n_workers: int
    warning: bool = False


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
    cluster: str | Path | Client | None = None,
    on_cluster: Callable[[ClusterNews], object] | None = None,
) -> StudyResult:
    """Do every run of a study that is not in the store.

    Args:
        spec: From ``StudySpec.load``, or what that takes.
        store: Where results go; a path is opened or made.
        workers: Processes; 0 means one per core. Results do not depend on it.
        shard: ``(i, n)`` takes the i-th of n parts of the runs: for job arrays.
        retry_failed: Also try again what failed before.
        known: Keys of runs to leave out, such as ``Archive.keys``.
        imports: Names of modules that add methods or problems of your own; they are imported here
            before the study is read, and in every worker before its first run.
        checkpoint_every: Seconds between checkpoints of a long run.
        on_run: Called with an ``Update`` as runs go on, finish or fail.
        cluster: Do it on a Dask cluster: ``"local"``, the address of a scheduler, a scheduler
            file or a ``distributed.Client``; results are the same (docs/cluster.md).
        on_cluster: Called with ``ClusterNews``; by default warnings are issued as such.

    Ctrl-C once stops in seconds, with checkpoints; twice, at once. Nothing is lost.

    Raises:
        ValueError: if the study is not valid, a module cannot be imported, or a method or problem
            is not symbreak's own and there are no imports; nothing has started then.
        StoreError: if the store cannot be written, or another study is running on it.
        ClusterError: if workers have other versions, or the scheduler is lost.
    """
    imports = import_modules(imports)
    if not isinstance(spec, StudySpec):
        spec = StudySpec.load(spec)
    if not imports:
        check_workers_know(spec)
    if check_count("workers", workers, 0) > MAX_WORKERS:
        raise ValueError(f"workers must be at most {MAX_WORKERS:,}, got {shown(workers)}.")
    check_callable("on_run", on_run)
    check_callable("on_cluster", on_cluster)
    check_flag("retry_failed", retry_failed)
    known = _check_keys(known)
    seconds = check_real("checkpoint_every", checkpoint_every, 0, 1e9)
    shard = check_shard(shard)
    if not isinstance(store, Store):
        with Store(store) as opened:
            return run_study(
                spec,
                opened,
                workers=workers,
                shard=shard,
                retry_failed=retry_failed,
                known=known,
                imports=imports,
                checkpoint_every=seconds,
                on_run=on_run,
                cluster=cluster,
                on_cluster=on_cluster,
            )
    with only_driver(store.path):
        store.add_study(spec)
        todo = missing_runs(spec, store, shard=shard, retry_failed=retry_failed, known=known)
        tell = on_run or (lambda update: None)
        if cluster is None:
            size = workers or os.cpu_count() or 1
            return _WorkerPool(store, size, seconds, tell, imports).do(todo)
        try:  # only now: it needs Dask
            from symbreak.experiments._cluster import run_on_cluster
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"clusters need {error.name}: {how_to_install('cluster')}", name=error.name
            ) from None
        return run_on_cluster(
            cluster,
            store,
            todo,
            workers=workers,
            imports=imports,
            slice_seconds=seconds,
            on_run=tell,
            on_cluster=on_cluster,
        )


def _check_keys(known: Collection[str]) -> Collection[str]:
    """Return ``known`` if it is a collection of keys; a single text is none."""
    if not isinstance(known, list | tuple | Set) or not all(isinstance(key, str) for key in known):
        raise ValueError(f"known must be keys of runs, such as Archive.keys, got {shown(known)}.")
    return known


def missing_runs(
    spec: StudySpec,
    store: Store,
    *,
    shard: tuple[int, int] = (1, 1),
    retry_failed: bool = False,
    known: Collection[str] = (),
) -> Iterator[RunSpec]:
    """The runs that ``run_study`` would do, in its order."""
    check_kind("spec", spec, StudySpec, "as StudySpec.load gives")
    check_kind("store", store, Store, "Store(path)")
    return (
        run
        for run in spec.runs(check_shard(shard))
        if run.key not in known
        and not store.has(run.key)
        and (retry_failed or not store.has_failed(run.key))
    )


@dataclass
class _Worker:
    """A worker process, the driver's end of its pipe, and what it is doing."""

    process: BaseProcess
    pipe: Connection
    run: RunSpec

    def send(self, run: RunSpec | None) -> None:
        """Give it a run; if it has just died, the next message read is its death."""
        with suppress(OSError):
            self.pipe.send(run)


class _WorkerPool:
    """The driver's side: keeps the workers busy and replaces those that die."""

    def __init__(
        self,
        store: Store,
        size: int,
        checkpoint_every: float,
        on_run: Callable[[Update], object],
        imports: Sequence[str],
    ) -> None:
        self._store, self._size, self._on_run = store, size, on_run
        self._checkpoint_every, self._imports = checkpoint_every, imports
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._context.RawValue("b", 0)  # no lock: a signal handler sets it
        self._workers: list[_Worker] = []
        self._deaths: Counter[str] = Counter()
        self._again: list[RunSpec] = []  # whose worker died
        self._finished = self._failed = 0

    def do(self, todo: Iterator[RunSpec]) -> StudyResult:
        """Do all runs, or as many as there is time for."""
        with deferred_interrupts(self._ask_to_stop, (signal.SIGINT, signal.SIGTERM)):
            try:
                self._start_workers(todo)
                while self._workers:
                    wait([worker.pipe for worker in self._workers])
                    for worker in list(self._workers):
                        while worker in self._workers and worker.pipe.poll():
                            self._handle_message(worker, todo)
                    self._start_workers(todo)
            finally:
                for worker in self._workers:
                    worker.process.kill()
        return StudyResult(self._finished, self._failed, bool(self._stop.value))

    def _ask_to_stop(self) -> None:
        self._stop.value = 1

    def _next(self, todo: Iterator[RunSpec]) -> RunSpec | None:
        if self._stop.value:
            return None
        return self._again.pop() if self._again else next(todo, None)

    def _start_workers(self, todo: Iterator[RunSpec]) -> None:
        """Start workers while there are places and runs."""
        while len(self._workers) < self._size and (run := self._next(todo)) is not None:
            pipe, theirs = self._context.Pipe()
            process = self._context.Process(
                target=_work,
                args=(theirs, self._store.path, self._stop, self._checkpoint_every, self._imports),
                daemon=True,
            )
            with detached_start():
                process.start()
            theirs.close()
            worker = _Worker(process, pipe, run)
            self._workers.append(worker)
            worker.send(run)

    def _handle_message(self, worker: _Worker, todo: Iterator[RunSpec]) -> None:
        """Take in one message of a worker, or its death."""
        try:
            status, n_evaluations, error = worker.pipe.recv()
        except (EOFError, OSError):
            self._handle_death(worker)
            return
        if status == "broken":
            raise StoreError(error)
        if status != "stopped":
            self._on_run(Update(worker.run, status, n_evaluations, error))
        if status in ("running", "restarted"):
            return
        self._finished += status == "finished"
        self._failed += status == "failed"
        following = self._next(todo)
        worker.send(following)  # None ends it
        if following is None:
            self._workers.remove(worker)
            worker.process.join(10)
        else:
            worker.run = following

    def _handle_death(self, worker: _Worker) -> None:
        """A worker died: its run goes on from its checkpoint elsewhere, or has failed."""
        self._workers.remove(worker)
        worker.process.join()
        run, code = worker.run, worker.process.exitcode
        self._deaths[run.key] += 1
        if self._deaths[run.key] < MAX_DEATHS:
            self._again.append(run)
            return
        reason = f"its worker died {MAX_DEATHS} times, at last with exit code {code}"
        self._store.add_failure(run, reason)
        self._failed += 1
        self._on_run(Update(run, "failed", 0, float("inf")))


def _work(
    pipe: Connection, path: Path, stop: Any, checkpoint_every: float, imports: Sequence[str]
) -> None:
    """A worker's life: do runs until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's
    driver_gone = end_with_parent(GRACE)

    def should_stop() -> bool:
        return bool(stop.value) or driver_gone.is_set()

    def report(status: str, n_evaluations: int = 0, error: float | str = float("inf")) -> None:
        with suppress(OSError):  # the driver is gone; the store has all that matters
            pipe.send((status, n_evaluations, error))

    with suppress(EOFError, ConnectionError):  # the driver is gone
        try:
            with Store(path, create=False) as store:
                while (run := pipe.recv()) is not None:
                    try:
                        import_modules(imports)  # here, where it fails as a run does
                        _do(run, store, checkpoint_every, should_stop, report)
                    except StoreError:
                        raise
                    except Exception:  # whatever a run does, it must not stop the others
                        store.add_failure(run, traceback.format_exc())
                        report("failed")
        except StoreError as error:
            report("broken", 0, str(error))
    os._exit(0)  # a regular exit would take a third of a second (2026-11), for nothing


def _do(
    run: RunSpec,
    store: Store,
    checkpoint_every: float,
    should_stop: Callable[[], bool],
    report: Callable[..., None],
) -> None:
    """Do one run, from its checkpoint if there is one, write it down and report."""

    def on_progress(progress: Progress) -> None:
        report("running", progress.n_evaluations, progress.error)

    options: dict[str, Any] = {
        "checkpoint_every": checkpoint_every,
        "on_checkpoint": lambda state: store.save_checkpoint(run.key, state),
        "on_progress": on_progress,
        "should_stop": should_stop,
    }
    try:
        record = execute(run, checkpoint=store.load_checkpoint(run.key), **options)
    except CheckpointError:
        store.delete_checkpoint(run.key)
        report("restarted")
        record = execute(run, **options)
    if record is None:
        report("stopped")
        return
    store.add(run, record)
    report("finished", record.n_evaluations, record.error)
