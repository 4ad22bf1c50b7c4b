"""Run a study on all cores: worker processes that write their own runs into the store.

A worker keeps nothing that is not in the store: a run is either finished there, or has a
checkpoint there, or starts again. So any process may be killed at any time.
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

from symbreak._blas import one_blas_thread
from symbreak._checks import check_count, check_real
from symbreak._interrupts import deferred_interrupts
from symbreak._processes import detached_start
from symbreak.experiments._schema import StoreError
from symbreak.experiments._spec import RunSpec, StudySpec
from symbreak.experiments._store import Store
from symbreak.training import Training

CHECKPOINT_EVERY = 60.0  # seconds
REPORT_EVERY = 0.25  # seconds between a worker's words on its progress
MAX_DEATHS = 5  # a run that takes so many workers with it has failed


class Update(NamedTuple):
    """What the driver tells about a run; ``status`` is running, finished or failed."""

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
    spec: StudySpec,
    store: Store | str | Path,
    *,
    workers: int = 0,
    shard: tuple[int, int] = (1, 1),
    retry_failed: bool = False,
    known: Collection[str] = (),
    checkpoint_every: float = CHECKPOINT_EVERY,
    on_run: Callable[[Update], object] | None = None,
) -> StudyResult:
    """Do every run of a study that is not in the store.

    Args:
        spec: From ``StudySpec.load``.
        store: Where results go; a path is opened or made.
        workers: Processes; 0 means one per core. Results do not depend on it.
        shard: ``(i, n)`` takes every n-th run, the i-th first: for job arrays.
        retry_failed: Also try again what failed before.
        known: Keys of runs to leave out, such as ``Archive.keys``.
        checkpoint_every: Seconds between checkpoints of a long run.
        on_run: Called with an ``Update`` as runs go on, finish or fail.

    Ctrl-C once stops in seconds, with checkpoints; twice, at once. Nothing is lost.

    Raises:
        StoreError: if the store cannot be written, or another study is running on it.
    """
    if not isinstance(store, Store):
        with Store(store) as opened:
            return run_study(
                spec,
                opened,
                workers=workers,
                shard=shard,
                retry_failed=retry_failed,
                known=known,
                checkpoint_every=checkpoint_every,
                on_run=on_run,
            )
    n_workers = check_count("workers", workers, 0) or os.cpu_count() or 1
    seconds = check_real("checkpoint_every", checkpoint_every, 0, 1e9)
    with _only_driver(store.path):
        store.remember(spec)
        todo = missing_runs(spec, store, shard=shard, retry_failed=retry_failed, known=known)
        return _Crew(store, n_workers, seconds, on_run or (lambda update: None)).do(todo)


def missing_runs(
    spec: StudySpec,
    store: Store,
    *,
    shard: tuple[int, int] = (1, 1),
    retry_failed: bool = False,
    known: Collection[str] = (),
) -> Iterator[RunSpec]:
    """The runs that ``run_study`` would do, in its order."""
    i, n = shard
    if not 1 <= i <= n:
        raise ValueError(f"shard must be i/n with 1 <= i <= n, got {i}/{n}.")
    return (
        run
        for number, run in enumerate(spec.runs())
        if number % n == i - 1
        and run.key not in known
        and not store.has(run.key)
        and (retry_failed or not store.has_failed(run.key))
    )


@contextmanager
def _only_driver(path: Path) -> Iterator[None]:
    """Hold the right to work on a store; the system takes it back when the process dies."""
    file = path.with_name(path.name + ".lock")
    while True:
        with file.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StoreError(
                    f"another study is running on {path}. Wait for it; or give each its own "
                    "--store and --shard, and join them with 'symbreak store merge'."
                ) from None
            if not file.exists() or not os.path.samestat(os.fstat(lock.fileno()), file.stat()):
                continue  # its last holder has just removed it
            try:
                yield
            finally:
                file.unlink(missing_ok=True)
            return


@dataclass
class _Member:
    """A worker process, the driver's end of its pipe, and what it is doing."""

    process: BaseProcess
    pipe: Connection
    run: RunSpec

    def send(self, run: RunSpec | None) -> None:
        """Give it a run; if it has just died, the next message read is its death."""
        with suppress(OSError):
            self.pipe.send(run)


class _Crew:
    """The driver's side: keeps the workers busy and replaces those that die."""

    def __init__(
        self, store: Store, size: int, checkpoint_every: float, on_run: Callable[[Update], object]
    ) -> None:
        self._store, self._size, self._on_run = store, size, on_run
        self._checkpoint_every = checkpoint_every
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._context.RawValue("b", 0)  # no lock: a signal handler sets it
        self._members: list[_Member] = []
        self._deaths: Counter[str] = Counter()
        self._again: list[RunSpec] = []  # whose worker died
        self._finished = self._failed = 0

    def do(self, todo: Iterator[RunSpec]) -> StudyResult:
        """Do all runs, or as many as there is time for."""
        with deferred_interrupts(self._ask_to_stop, (signal.SIGINT, signal.SIGTERM)):
            try:
                self._hire(todo)
                while self._members:
                    wait([member.pipe for member in self._members])
                    for member in list(self._members):
                        while member in self._members and member.pipe.poll():
                            self._listen(member, todo)
                    self._hire(todo)
            finally:
                for member in self._members:
                    member.process.kill()
        return StudyResult(self._finished, self._failed, bool(self._stop.value))

    def _ask_to_stop(self) -> None:
        self._stop.value = 1

    def _next(self, todo: Iterator[RunSpec]) -> RunSpec | None:
        if self._stop.value:
            return None
        return self._again.pop() if self._again else next(todo, None)

    def _hire(self, todo: Iterator[RunSpec]) -> None:
        """Start workers while there are places and runs."""
        while len(self._members) < self._size and (run := self._next(todo)) is not None:
            pipe, theirs = self._context.Pipe()
            process = self._context.Process(
                target=_work,
                args=(theirs, self._store.path, self._stop, self._checkpoint_every),
                daemon=True,
            )
            with detached_start():
                process.start()
            theirs.close()
            member = _Member(process, pipe, run)
            self._members.append(member)
            member.send(run)

    def _listen(self, member: _Member, todo: Iterator[RunSpec]) -> None:
        """Take in one message of a worker, or its death."""
        try:
            status, n_evaluations, error = member.pipe.recv()
        except (EOFError, OSError):
            self._bury(member)
            return
        if status == "broken":
            raise StoreError(error)
        if status != "stopped":
            self._on_run(Update(member.run, status, n_evaluations, error))
        if status == "running":
            return
        self._finished += status == "finished"
        self._failed += status == "failed"
        following = self._next(todo)
        member.send(following)  # None sends it home
        if following is None:
            self._members.remove(member)
            member.process.join(10)
        else:
            member.run = following

    def _bury(self, member: _Member) -> None:
        """A worker died: its run goes on from its checkpoint elsewhere, or has failed."""
        self._members.remove(member)
        member.process.join()
        run, code = member.run, member.process.exitcode
        self._deaths[run.key] += 1
        if self._deaths[run.key] < MAX_DEATHS:
            self._again.append(run)
            return
        reason = f"its worker died {MAX_DEATHS} times, at last with exit code {code}"
        self._store.add_failure(run, reason)
        self._failed += 1
        self._on_run(Update(run, "failed", 0, float("inf")))


def _work(pipe: Connection, path: Path, stop: Any, checkpoint_every: float) -> None:
    """A worker's life: do runs until there are no more."""
    driver = os.getppid()

    def asked_to_stop() -> bool:
        return bool(stop.value) or os.getppid() != driver

    def report(status: str, n_evaluations: int = 0, error: float | str = float("inf")) -> None:
        with suppress(OSError):  # the driver is gone; the store has all that matters
            pipe.send((status, n_evaluations, error))

    with one_blas_thread(), suppress(EOFError):
        try:
            with Store(path, create=False) as store:
                while (run := pipe.recv()) is not None:
                    try:
                        report(*_do(run, store, checkpoint_every, asked_to_stop, report))
                    except StoreError:
                        raise
                    except Exception:  # whatever a run does, it must not stop the others
                        store.add_failure(run, traceback.format_exc())
                        report("failed")
        except StoreError as error:
            report("broken", 0, str(error))


def _do(
    run: RunSpec,
    store: Store,
    checkpoint_every: float,
    asked_to_stop: Callable[[], bool],
    report: Callable[..., None],
) -> tuple[str, int, float]:
    """Do one run, from its checkpoint if there is one, and write it down."""
    training = _resumed(run, store) or run.start()
    written = reported = time.monotonic()
    while not training.finished:
        training.step()
        now = time.monotonic()
        stopping = asked_to_stop()
        if stopping or now - written >= checkpoint_every:
            store.save_checkpoint(run.key, training.state())
            written = now
        if stopping:
            return "stopped", 0, training.progress.error
        if now - reported >= REPORT_EVERY:
            report("running", training.progress.n_evaluations, training.progress.error)
            reported = now
    store.add(run, training.record())
    return "finished", training.progress.n_evaluations, training.progress.error


def _resumed(run: RunSpec, store: Store) -> Training | None:
    state = store.load_checkpoint(run.key)
    return None if state is None else Training.from_state(run.load_problem(), state)
