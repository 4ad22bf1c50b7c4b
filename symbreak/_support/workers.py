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
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing import parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import recv_handle, send_handle
from queue import Empty, SimpleQueue
from types import ModuleType, TracebackType
from typing import Any, ClassVar, NamedTuple, NoReturn, ParamSpec, TypeVar

import numpy as np

from symbreak._support.compile import load_compiler

#: What a fork server loads: all that runs and trainings need.
LOADED = "symbreak.experiments._run"

P = ParamSpec("P")
R = TypeVar("R")


def end_with_parent() -> None:
    """In a process that ``multiprocessing`` started: end it when its parent is gone.

    Call it first of all, or give it to a pool as initializer. It works whatever killed the parent,
    and even if that happened before the call.
    """
    parent = parent_process()
    if parent is None:
        return  # multiprocessing did not start this one

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="end-with-parent", daemon=True).start()


@contextmanager
def detached_start() -> Iterator[None]:
    """Start processes that neither hear Ctrl-C nor import the user's script.

    Ctrl-C is for the process that starts them: they inherit a signal mask that keeps it from them
    (on Windows, which has none, they must ignore it themselves). And they do not need the script,
    which may have no guard against being run again, or come from standard input.
    """
    with _masked_interrupts(), _interrupts_afterwards(), _without_script():
        yield


class _Hidden:
    """The user's script while processes are started, perhaps by several threads."""

    lock = threading.Lock()
    depth = 0
    script: ModuleType


@contextmanager
def _without_script() -> Iterator[None]:
    """Start processes that do not import the user's script."""
    with _Hidden.lock:
        if not _Hidden.depth:
            _Hidden.script = sys.modules["__main__"]
            sys.modules["__main__"] = ModuleType("__main__")
        _Hidden.depth += 1
    try:
        yield
    finally:
        with _Hidden.lock:
            _Hidden.depth -= 1
            if not _Hidden.depth:
                sys.modules["__main__"] = _Hidden.script


@contextmanager
def _masked_interrupts() -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # now, since it takes the mask off when it starts
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _interrupts_afterwards() -> Iterator[None]:
    """Hold Ctrl-C back until processes have started; other threads hear it in spite of the mask."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = threading.Event()
    before = signal.signal(signal.SIGINT, lambda number, frame: came.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came.is_set():
            signal.raise_signal(signal.SIGINT)


class WorkerDiedError(RuntimeError):
    """The process of a call died; other calls go on, and this one may be submitted again."""


class _Call(NamedTuple):
    future: Future[Any]
    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class _Worker(NamedTuple):
    pipe: Connection
    kill: Callable[[], object]
    wait: Callable[[], int | None]  # for its end; its exit code, if that is known


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
            for worker in self._workers:
                worker.kill()
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
        with self._lock:
            if self._killed:
                raise RuntimeError("the executor was shut down.")
            worker = _ForkServer.new_worker() if sys.platform == "linux" else _spawn(_work)
            self._workers.add(worker)
            return worker

    def _end(self, worker: _Worker) -> int | None:
        """Let a worker end, or know that it has; its exit code."""
        worker.pipe.close()
        with self._lock:
            self._workers.discard(worker)  # first, since its number may be another's afterwards
        return worker.wait()


def _spawn(life: Callable[[Connection], object]) -> _Worker:
    """A fresh process."""
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    process = context.Process(target=life, args=(theirs,), daemon=True)
    with detached_start(), theirs:
        process.start()

    def wait_for_end() -> int | None:
        process.join()
        return process.exitcode

    return _Worker(pipe, process.kill, wait_for_end)


class _ForkServer:
    """A process that has loaded what workers need, once, and forks them in milliseconds.

    It computes nothing and has no threads but those of BLAS, which ends its own before a fork. It
    stays as long as the process that has started it, for all its executors.
    """

    lock = threading.Lock()
    last: ClassVar[_ForkServer | None] = None

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._process = _spawn(_serve_forks)  # once it is let go, its workers take us for dead

    @classmethod
    def new_worker(cls) -> _Worker:
        """A worker of the last server; of another one if that was killed, or is a parent's."""
        with cls.lock:
            if cls.last is not None and cls.last._owner == os.getpid():
                with suppress(EOFError, ConnectionError):
                    return cls.last._fork()
            server = cls.last = cls()
            return server._fork()

    def _fork(self) -> _Worker:
        pipe, theirs = multiprocessing.Pipe()
        with theirs:
            pid = self._ask((sys.path, dict(os.environ)), theirs)

        def kill() -> None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

        def wait_for_end() -> int | None:
            with suppress(EOFError, OSError):  # the server was killed as well
                return self._ask(pid)
            return None

        return _Worker(pipe, kill, wait_for_end)

    def _ask(self, request: object, handed: Connection | None = None) -> int:
        with self._lock:
            self._process.pipe.send(request)
            if handed is not None:
                send_handle(self._process.pipe, handed.fileno(), None)
            answer = self._process.pipe.recv()
        if isinstance(answer, OSError):
            raise answer
        return int(answer)


def _serve_forks(requests: Connection) -> None:
    """A fork server's life: begin a worker whenever it is asked, or say how one has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import_module(LOADED)
    load_compiler()
    with suppress(EOFError, OSError):  # nobody is left to ask
        while True:
            request = requests.recv()
            if isinstance(request, int):
                requests.send(os.waitstatus_to_exitcode(os.waitpid(request, 0)[1]))
            else:
                requests.send(_forked(requests, *request))
    os._exit(0)


def _forked(requests: Connection, path: list[str], environment: dict[str, str]) -> int | OSError:
    """The number of a new worker, which is like a fresh process but for what it has loaded."""
    with Connection(recv_handle(requests)) as pipe:
        try:
            pid = os.fork()
        except OSError as error:  # such as one process too many
            return error
        if pid:
            return pid
        requests.close()
        sys.path[:] = path
        os.environ.clear()
        os.environ.update(environment)
        np.random.seed()  # noqa: NPY002  (functions of users may draw from it)
        _work(pipe)


def _work(pipe: Connection) -> NoReturn:
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
