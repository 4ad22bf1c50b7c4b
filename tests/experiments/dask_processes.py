"""A Dask cluster on the loopback interface whose processes tests may kill."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from threading import Thread, Timer

from tests.experiments.processes import DEADLINE, wait_for


def dask_settings(config):
    """Dask's configuration as environment variables."""
    return {f"DASK_DISTRIBUTED__{name}": value for name, value in config.items()}


class DaskProcesses:
    """A scheduler and its workers, each a process of its own, with its log in a file."""

    def __init__(self, folder, *, tls=(), preload="", **config):
        self.folder, self._tls, self.workers = folder, list(tls), []
        self._environment = os.environ | dask_settings(config)
        self.file = folder / "scheduler.json"
        self.scheduler = self._start(
            *("scheduler", "--port", "0", "--no-show", "--no-dashboard"),
            *("--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(self.file)),
            *self._preload(preload),
        )
        wait_for(lambda: self.file.exists() and self.file.read_text().endswith("}"))  # whole

    @property
    def address(self):
        return json.loads(self.file.read_text())["address"]

    def _start(self, kind, *options):
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options]
        command += ["--host", "tls://127.0.0.1" if self._tls else "127.0.0.1", *self._tls]
        with (self.folder / f"{kind}.log").open("a") as log:
            return subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                env=self._environment,
                cwd=self.folder,
                start_new_session=True,  # so that it can be ended with what it started
            )

    def add_worker(self, *, preload="", nanny=False):
        """Start a worker with one thread; ``preload`` is a script that it runs first."""
        options = ["--nthreads", "1", "--no-dashboard", "--nanny" if nanny else "--no-nanny"]
        options += ["--scheduler-file", str(self.file), "--local-directory", str(self.folder)]
        self.workers.append(self._start("worker", *options, *self._preload(preload)))
        return self

    def _preload(self, text):
        if not text:
            return []
        script = self.folder / f"preload_{len(self.workers)}.py"
        script.write_text(text)
        return ["--preload", str(script)]

    def kill_worker(self):
        """End a worker as the system does it when there is no memory."""
        worker = self.workers.pop(0)
        worker.kill()
        worker.wait(DEADLINE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (*self.workers, self.scheduler):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(DEADLINE)


class Proxy:
    """Stands between a driver and a scheduler, and loses connections."""

    def __init__(self, address):
        host, port = address.removeprefix("tcp://").split(":")
        self._there = host, int(port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._pairs, self._sockets, self._down_until = [], [self._listener], 0.0
        Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError), self._listener:
            while True:
                here, _ = self._listener.accept()
                if time.monotonic() < self._down_until:
                    here.close()
                    continue
                there = socket.create_connection(self._there)
                self._pairs.append((here, there))
                self._sockets += here, there
                Thread(target=_pump, args=(here, there), daemon=True).start()
                Thread(target=_pump, args=(there, here), daemon=True).start()

    def cut(self, seconds):
        """Lose all connections; the scheduler hears of it when the driver has been back a while."""
        self._down_until = time.monotonic() + seconds
        cut, self._pairs = self._pairs, []
        _end(here for here, _ in cut)
        Timer(seconds + 1, _end, [[there for _, there in cut]]).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _end(self._sockets)


def _pump(source, target):
    with suppress(OSError), source:
        while data := source.recv(1 << 16):
            with suppress(OSError):  # lost on the way
                target.sendall(data)


def _end(sockets):
    for each in sockets:
        with suppress(OSError):  # it has ended
            each.shutdown(socket.SHUT_RDWR)
