"""Helper processes that hear no Ctrl-C, do not run the user's script, and end with their parent.

And calls in them: an executor in which one death costs one call.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from multiprocessing import parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from queue import Empty, SimpleQueue
from types import ModuleType, TracebackType
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypeVar

import numpy as np

#: Imports all that runs and trainings need; loaded once, for all workers.
_PRELOAD = "symbreak.experiments._preload"

P = ParamSpec("P")
R = TypeVar("R")

#: For starts and ends of processes, of which ``multiprocessing`` keeps one book for all threads.
_book = threading.Lock()
#: A process that was forked from the one that loaded this cannot use its fork server.
_loaded_by = os.getpid()


@contextmanager
def detached_start() -> Iterator[None]:
    """Start processes that neither hear Ctrl-C nor import the user's script; one thread at a time.

    Ctrl-C is for the process that starts them: they inherit a signal mask that keeps it from them
    (on Windows, which has none, they must ignore it themselves). And they do not need the script,
    which may have no guard against being run again, or come from standard input.
    """
    with _book:
        if sys.platform != "win32":
            resource_tracker.ensure_running()  # now, since it takes the mask off when it starts
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        script, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = script
            if sys.platform != "win32":
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)


class WorkerDiedError(RuntimeError):
    """The process of a call died; other calls go on, and this one may be submitted again."""


class _Call(NamedTuple):
    future: Future[Any]
    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class _Worker(NamedTuple):
    pipe: Connection
    process: BaseProcess


class WorkerProcesses(Executor):
    """A ``concurrent.futures.Executor`` of processes that live and die independently.

    Unlike those of ``ProcessPoolExecutor``, its processes do not import the user's script, hear no
    Ctrl-C and end with their parent, however that ends; and when one of them dies, its own future
    alone raises ``WorkerDiedError``, and another process takes its place.

    What is submitted must be picklable, functions those of modules that can be imported. So the
    starts of a training are ``list(executor.map(run_start, jobs))``, in order; to do a start again
    whose process died, keep its future and submit its job once more. Left by an exception, such as
    that of Ctrl-C, a ``with`` block kills what is under way; else it waits for it. Processes are
    started as they are needed; ``max_workers=0`` means one per core.
    """

    def __init__(self, max_workers: int = 0) -> None:
        self._max_workers = max_workers or os.cpu_count() or 1
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []  # one for each process, which it talks to
        self._workers: set[_Worker] = set()
        self._lock = threading.Lock()
        self._ended = self._killed = False

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Let a process call a function; its result or exception is that of the future."""
        future: Future[R] = Future()
        with self._lock:
            if self._ended:
                raise RuntimeError("the executor was shut down.")
            self._calls.put(_Call(future, (fn, args, kwargs)))
            if len(self._threads) < self._max_workers:
                thread = threading.Thread(target=self._serve, name="symbreak-worker", daemon=True)
                self._threads.append(thread)
                thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, and end processes when those that were taken are done."""
        with self._lock:
            self._ended = True
        with suppress(Empty):
            while cancel_futures:
                if call := self._calls.get_nowait():
                    call.future.cancel()
        for _ in self._threads:
            self._calls.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def kill_workers(self) -> None:
        """End all processes at once; what was under way raises, what was waiting is cancelled."""
        self.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._killed = True
            for pid in [worker.process.pid for worker in self._workers]:
                assert pid  # it has started; process.kill() needs a fork server that lives
                with suppress(ProcessLookupError):
                    os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        self.shutdown()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.shutdown() if kind is None else self.kill_workers()

    def _serve(self) -> None:
        """Keep one process busy, and replace it when it dies."""
        worker: _Worker | None = None
        while (call := self._calls.get()) is not None:
            if call.future.set_running_or_notify_cancel():
                worker = self._do(call, worker)
            del call  # its result may be large
        if worker is not None:
            self._end(worker)

    def _do(self, call: _Call, worker: _Worker | None) -> _Worker | None:
        """Let a process do a call, and return it if it lives."""
        try:
            data = pickle.dumps(call.call)
            worker = worker or self._start()
        except (EOFError, ConnectionError):
            call.future.set_exception(WorkerDiedError("what starts processes was killed"))
            return None
        except Exception as error:  # such as a function that cannot be pickled
            call.future.set_exception(error)
            return worker
        try:
            worker.pipe.send_bytes(data)
            answer = worker.pipe.recv_bytes()
        except (EOFError, OSError):
            code = self._end(worker)
            call.future.set_exception(WorkerDiedError(f"its process died with exit code {code}"))
            return None
        try:
            result, raised = pickle.loads(answer)
        except Exception as error:
            result, raised = None, error
        if raised is None:
            call.future.set_result(result)
        else:
            call.future.set_exception(raised)
        return worker

    def _start(self) -> _Worker:
        forks = sys.platform == "linux" and os.getpid() == _loaded_by
        context: Any = multiprocessing.get_context("forkserver" if forks else "spawn")
        if forks:  # from a process that has loaded what workers need, in milliseconds
            context.set_forkserver_preload([_PRELOAD])
        pipe, theirs = multiprocessing.Pipe()
        process = context.Process(target=_work, args=(theirs, dict(os.environ)), daemon=True)
        with self._lock, theirs, detached_start():
            if self._killed:
                raise RuntimeError("the executor was shut down.")
            try:
                process.start()
            except (EOFError, ConnectionError):  # the fork server was killed just now
                time.sleep(0.1)
                process.start()  # by another one
            worker = _Worker(pipe, process)
            self._workers.add(worker)
        return worker

    def _end(self, worker: _Worker) -> int | None:
        """Let a worker end, or know that it has; its exit code, 255 if nobody knows."""
        worker.pipe.close()
        with self._lock:
            self._workers.discard(worker)  # first, since its number may be another's afterwards
        with _book:
            worker.process.join()
            return worker.process.exitcode


def _end_with_parent() -> NoReturn:
    """Whatever has killed it, even if that was before this began."""
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _work(pipe: Connection, environment: dict[str, str]) -> NoReturn:
    """A worker's life: do calls until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is its parent's
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.clear()  # it may be that of an earlier moment
    os.environ.update(environment)
    np.random.seed()  # noqa: NPY002  (functions of users may draw from it)
    with suppress(EOFError, OSError):  # no more calls, or the parent is gone
        while True:
            pipe.send_bytes(_answer(pipe.recv_bytes()))
    os._exit(0)  # a regular exit would take a third of a second (2026-11), for nothing


def _answer(data: bytes) -> bytes:
    """Do a call; its result and None, or None and its exception."""
    try:
        function, args, kwargs = pickle.loads(data)
        return pickle.dumps((function(*args, **kwargs), None))
    except (Exception, SystemExit) as error:
        words = traceback.format_exc()
        with suppress(Exception):
            error.add_note(words)
            answer = pickle.dumps((None, error))
            pickle.loads(answer)  # some exceptions can be pickled, but not be read
            if isinstance(error, Exception):
                return answer
        return pickle.dumps((None, RuntimeError(words)))
