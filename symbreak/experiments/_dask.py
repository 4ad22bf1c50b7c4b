"""Dask clusters as executors: how to get to one, and how many threads it has."""

from __future__ import annotations

import ipaddress
import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import Client
from distributed.comm.addressing import get_address_host

from symbreak._support.checks import check_path
from symbreak._support.words import counted
from symbreak.experiments._driver import GO_ON
from symbreak.experiments._run import ExecutorError

LOOK_EVERY = 1.0  # seconds between looks at who is there
MESSAGES = 10  # that Dask may remember of each connection, instead of a thousand


@contextmanager
def connect(cluster: str | Path) -> Iterator[Executor]:
    """The executor of a cluster, by the address of its scheduler or by its scheduler file."""
    try:
        client = Client(_address(cluster), set_as_default=False)
    except (OSError, TypeError) as error:  # the latter if certificates are missing
        raise ExecutorError(
            f"the scheduler at {cluster} does not answer ({error}). Is it running, and "
            "does it want certificates?"
        ) from error
    with client:
        yield client.get_executor()


def _address(cluster: str | Path) -> str:
    """Where a scheduler is: what was given, or what its file says."""
    if isinstance(cluster, str) and "://" in cluster:
        return cluster
    path = check_path("executor", cluster)
    try:
        found = json.loads(path.read_bytes())["address"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        found = None
    if not isinstance(found, str):
        raise ValueError(
            "a cluster is the address of its scheduler, such as tcp://host:8786, or the file that "
            f"dask scheduler --scheduler-file makes, got {str(cluster)!r}."
        )
    return found


def is_exposed(address: str) -> bool:
    """Whether anyone on the way to an address could listen, or pretend to be there."""
    scheme, _, _ = address.partition("://")
    if scheme in ("tls", "wss", "inproc"):
        return False
    host = get_address_host(address)
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"


class DaskExecutor(Executor):
    """Dask's executor, for calls that are never the same; it tells who comes and goes, in words."""

    def __init__(
        self, executor: Any, tell: Callable[[str], object], warn: Callable[[str], object]
    ) -> None:
        self._client: Client = executor._client
        if self._client.status != "running":
            raise ExecutorError(f"the client is {self._client.status}; make one that is connected.")
        self._inner = self._client.get_executor(**{**executor._kwargs, "pure": False})
        self._tell, self._threads, self._looked = tell, {"": 0}, -float("inf")
        self._address: str = self._client.scheduler.address
        if is_exposed(self._address):
            warn(
                f"Warning: {self._address} is not on this machine and the connection is not "
                "encrypted: whoever can reach it can run code on the workers and here. Use TLS, "
                "or a tunnel."
            )

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Let a worker call a function."""
        self._check()
        future: Future[Any] = self._inner.submit(fn, *args, **kwargs)
        return future

    def n_threads(self) -> int:
        """How many calls can go on at once; who came or went since the last look is told."""
        if time.monotonic() - self._looked >= LOOK_EVERY:
            self._check()
            try:
                threads: dict[str, int] = self._client.nthreads()
                if threads.keys() != self._threads.keys():
                    self._client.run_on_scheduler(_forget_messages)
                    who = f"{counted(len(threads), 'worker')} with {sum(threads.values())} threads"
                    self._tell(f"cluster: {who if threads else 'no workers; waiting for some'}")
            except OSError as error:
                raise ExecutorError(f"the cluster does not answer ({error}). {GO_ON}") from error
            except Exception as error:  # whatever unpickling raises there
                self._check()
                raise ExecutorError(
                    f"the scheduler cannot load this symbreak ({error!r}). Install there what is "
                    "here; nothing was run."
                ) from error
            _forget(self._client.scheduler_comm)
            self._threads, self._looked = threads, time.monotonic()
        return sum(self._threads.values())

    def _check(self) -> None:
        if self._client.status != "running":
            raise ExecutorError(f"the connection to {self._address} was lost. {GO_ON}")


def _forget(stream: Any) -> None:
    """Keep Dask from remembering what it sent: there are checkpoints in it, up to 1 MB each."""
    if stream.recent_message_log.maxlen != MESSAGES:
        stream.recent_message_log = deque(maxlen=MESSAGES)


def _forget_messages(dask_scheduler: Any) -> None:
    for stream in dask_scheduler.stream_comms.values():
        _forget(stream)
