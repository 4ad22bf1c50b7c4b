"""Calls in worker processes: an executor in which one death costs one call."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, NamedTuple, ParamSpec, TypeVar

from symbreak._support.processes import detached_start, end_with_parent

P = ParamSpec("P")
R = TypeVar("R")


class WorkerDiedError(RuntimeError):
    """The process of a call died; other calls go on, and this one may be submitted again."""


class _Call(NamedTuple):
    future: Future[Any]
    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class _Worker(NamedTuple):
    process: BaseProcess
    pipe: Connection


class WorkerProcesses(Executor):
    """A ``concurrent.futures.Executor`` of processes that live and die independently.

    Unlike those of ``ProcessPoolExecutor``, its processes do not import the user's script, hear no
    Ctrl-C and end with their parent, however that ends; and when one of them dies, its own future
    alone raises ``WorkerDiedError``, and another process takes its place.

    What is submitted must be picklable, functions those of modules that can be imported. So the
    starts of a training are ``list(executor.map(run_start, jobs))``, in order; to do a start again
    whose process died, keep its future and submit its job once more. Left by an exception, such as
    that of Ctrl-C, a ``with`` block kills what is under way; else it waits for it.

    Args:
        max_workers: Processes, started as they are needed; 0 means one per core.
    """

    def __init__(self, max_workers: int = 0) -> None:
        self._max_workers = max_workers or os.cpu_count() or 1
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []  # one for each process, which it talks to
        self._processes: set[BaseProcess] = set()
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
        if cancel_futures:
            with suppress(Empty):
                while True:
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
            for process in self._processes:
                process.kill()
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
            worker.pipe.close()  # which ends it
            worker.process.join()

    def _do(self, call: _Call, worker: _Worker | None) -> _Worker | None:
        """Let a process do a call, and return it if it lives."""
        try:
            data = pickle.dumps(call.call)
            worker = worker or self._start()
        except Exception as error:  # such as a function that cannot be pickled
            call.future.set_exception(error)
            return worker
        try:
            worker.pipe.send_bytes(data)
            answer = worker.pipe.recv_bytes()
        except (EOFError, OSError):
            worker.pipe.close()
            worker.process.join()
            with self._lock:
                self._processes.discard(worker.process)
            code = worker.process.exitcode
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
        context = multiprocessing.get_context("spawn")
        pipe, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs,), daemon=True)
        with self._lock, detached_start(), theirs:
            if self._killed:
                raise RuntimeError("the executor was shut down.")
            process.start()
            self._processes.add(process)
        return _Worker(process, pipe)


def _work(pipe: Connection) -> None:
    """A worker's life: do calls until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is its parent's
    end_with_parent()
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
