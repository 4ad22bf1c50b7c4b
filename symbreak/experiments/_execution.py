"""Studies: which executor does their runs, which runs those are, and who may write the store."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from symbreak._support.checks import (
    check_callable,
    check_count,
    check_executor,
    check_flag,
    check_real,
    shown,
)
from symbreak._support.words import how_to_install
from symbreak._support.workers import WorkerProcesses
from symbreak.experiments._database import StoreError
from symbreak.experiments._driver import CHECKPOINT_EVERY, Driver, StudyResult, Update
from symbreak.experiments._run import import_modules, own_names
from symbreak.experiments._spec import RunSpec
from symbreak.experiments._store import Store
from symbreak.experiments._study import StudySpec, check_shard

MAX_WORKERS = 4_096  # each is a process


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
        known: Keys of runs to leave out, as in the column ``key`` of ``Archive.runs``.
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
        raise ValueError(f"known must be keys of runs, as in Archive.runs, got {shown(known)}.")
    seconds = check_real("checkpoint_every", checkpoint_every, 0, 1e9)
    shard = check_shard(shard)
    hear, tell = on_run or (lambda update: None), on_news or (lambda text: None)
    warn = on_news or partial(warnings.warn, stacklevel=2)
    with (
        nullcontext(store) if isinstance(store, Store) else Store(store) as opened,
        _only_driver(opened.path),
    ):
        todo = missing_runs(spec, opened, shard, retry_failed, known)
        opened.add_study(spec)
        with _opened(executor, workers, tell, warn) as its:
            return Driver(opened, todo, *its, seconds, imports, hear, tell, warn).do()


@contextmanager
def _opened(
    executor: Executor | str | Path | None,
    workers: int,
    tell: Callable[[str], object],
    warn: Callable[[str], object],
) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """The executor that was asked for, and a function that says how many calls it does at once."""
    n = workers or getattr(executor, "_max_workers", 0) or os.cpu_count() or 1
    if executor is None:
        processes = WorkerProcesses(n)
        try:
            yield processes, lambda: n
        finally:
            processes.kill_workers()
        return
    if isinstance(executor, Executor) and not type(executor).__module__.startswith("distributed"):
        yield executor, lambda: n
        return
    try:  # only now: it needs Dask
        from symbreak.experiments._dask import DaskExecutor, connect
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"clusters need {error.name}: {how_to_install('cluster')}", name=error.name
        ) from None
    if workers:
        raise ValueError("workers are those of this machine; a cluster has those that it has.")
    with nullcontext(executor) if isinstance(executor, Executor) else connect(executor) as its:
        dask = DaskExecutor(its, tell, warn)
        yield dask, dask.n_threads


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
    shard: tuple[int, int],
    retry_failed: bool,
    known: Collection[str],
) -> Iterator[RunSpec]:
    """The runs that ``run_study`` would do, in its order."""
    return (
        run
        for run in spec.runs(shard)
        if (key := run.key) not in known
        and not store.has(key)
        and (retry_failed or not store.has_failed(key))
    )


@contextmanager
def _only_driver(path: Path) -> Iterator[None]:
    """Hold the right to work on a store; the system takes it back when the process dies."""
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
