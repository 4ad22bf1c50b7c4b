"""A Dask cluster on the loopback interface whose processes tests may kill.

Run as a program, it forks them: what they load takes a second of processor time, once.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

from tests.experiments.processes import start_study, wait_for

#: Seconds of a slice in these tests: runs take about half a second.
SLICE = 0.1
#: Nobody looks at how busy a cluster is, which takes some hundredths of a core for each process.
QUIET = {"WORKER__PROFILE__ENABLED": "False", "ADMIN__SYSTEM_MONITOR__INTERVAL": "10s"}


def dask_settings(config):
    """Dask's configuration as environment variables."""
    return {f"DASK_DISTRIBUTED__{name}": value for name, value in config.items()}


def start_on_cluster(study, store, cluster, *options, **config):
    """A driver of a study on a cluster, with some of Dask's configuration."""
    usual = ["--cluster", str(cluster), "--checkpoint-every", str(SLICE)]
    environment = os.environ | dask_settings(config)
    return start_study(study, store, *usual, *options, environment=environment)


@cache
def forks():
    """The process that forks, as long as this one lives."""
    command = [sys.executable, "-m", "tests.experiments.dask_processes"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, cwd=Path(__file__).parents[2]
    )
    atexit.register(process.communicate)
    return process


class Forked:
    """A process of a cluster, with what it started in a group of its own."""

    def __init__(self, *request):
        forks().stdin.write(json.dumps(request) + "\n")
        forks().stdin.flush()
        self.pid = int(forks().stdout.readline())

    def kill(self, *, group=False):
        """End it as the system does it when there is no memory; wait until it is gone."""
        with suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.pid, signal.SIGKILL)
        wait_for(self._is_gone)

    def _is_gone(self):
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        return False


def serve_forks():
    """Fork a scheduler or worker for every line that comes."""
    for name in ("distributed.cli.dask_scheduler", "symbreak.experiments._run", "symbreak.control"):
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that those who have ended are gone
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            become(*json.loads(line))
        print(pid, flush=True)


def become(kind, options, folder, environment):
    """Be a process of Dask that was started in a folder, with its log there."""
    import dask

    os.setsid()  # so that it can be ended with what it started
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(f"{folder}/{kind}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream, target in ((os.open(os.devnull, os.O_RDONLY), 0), (log, 1), (log, 2)):
        os.dup2(stream, target)
    os.chdir(folder)
    sys.path[0] = folder  # instead of that of this file's package
    os.environ.clear()
    os.environ.update(environment)
    dask.config.refresh()
    import_module(f"distributed.cli.dask_{kind}").main(options)


class DaskProcesses:
    """A scheduler and its workers, each a process of its own, with its log in a file."""

    def __init__(self, folder, *, tls=(), preload="", **config):
        self.folder, self._tls, self.workers = folder, list(tls), []
        self._environment = os.environ | dask_settings(QUIET | config)
        self.file = folder / "scheduler.json"
        self.scheduler = self._start(
            *("scheduler", "--port", "0", "--no-show", "--no-dashboard"),
            *("--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(self.file)),
            *self._preload(preload),
        )
        wait_for(self._is_listening)

    @property
    def address(self):
        return json.loads(self.file.read_text())["address"]

    def _is_listening(self):
        try:
            return bool(self.address)
        except (FileNotFoundError, json.JSONDecodeError):  # not yet, or half written
            return False

    def _start(self, kind, *options):
        options += ("--host", "tls://127.0.0.1" if self._tls else "127.0.0.1", *self._tls)
        return Forked(kind, options, str(self.folder), self._environment)

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
        self.workers.pop(0).kill()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (*self.workers, self.scheduler):
            process.kill(group=True)


if __name__ == "__main__":
    serve_forks()
