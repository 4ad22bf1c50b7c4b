"""Nothing on the way to the library or the command line is there on POSIX systems alone.

A process is made to look like Windows: modules and names that Windows lacks are taken away after
other packages are loaded, which know what to do there, and before ours are.
"""

import os
import pkgutil
import subprocess
import sys
from importlib.util import find_spec

import symbreak

WINDOWS = """
import importlib, os, signal, sys
import multiprocessing.connection, multiprocessing.pool, multiprocessing.resource_tracker
import multiprocessing.spawn, concurrent.futures.process, filelock, numba, pandas, rich.live
import rich.progress, scipy.linalg, scipy.stats, sqlite3, subprocess, threadpoolctl, webbrowser
import importlib.resources, numba.core.caching, typer.core
for name in sys.argv[1:]:
    importlib.import_module(name)
for module in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "posix"):
    sys.modules[module] = None
for name in (
    *("fork", "forkpty", "getuid", "geteuid", "getgid", "getpgid", "getpgrp", "getsid", "killpg"),
    *("mkfifo", "mknod", "nice", "setsid", "setpgid", "statvfs", "sysconf", "uname", "wait3"),
    *("wait4", "waitid", "chown", "lchown", "fchown", "sched_getaffinity", "sync", "O_NONBLOCK"),
    *("O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC", "pread", "pwrite", "posix_fallocate"),
):
    if hasattr(os, name):
        delattr(os, name)
for name in (
    *("SIGKILL", "SIGHUP", "SIGQUIT", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGCHLD", "SIGPIPE"),
    *("SIGUSR1", "SIGUSR2", "SIGALRM", "SIGWINCH", "pthread_sigmask", "pthread_kill", "alarm"),
    *("setitimer", "sigwait", "siginterrupt", "SIG_BLOCK", "SIG_UNBLOCK", "SIG_SETMASK"),
):
    if hasattr(signal, name):
        delattr(signal, name)
sys.platform = "win32"
"""


SCRIPT = """
import symbreak.__main__
for name in {names}:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:  # of an extra that is not installed
        assert error.name.split(".")[0] in {extras}, error

from pathlib import Path

from symbreak._support.checks import total_memory
from symbreak._support.workers import detached_start
from symbreak.experiments import Store, StudySpec
from symbreak.experiments._store import check_store
total_memory()
with detached_start():
    pass
with Store("a.db") as store:
    store.add_study(StudySpec.load("smoke"))
assert check_store(Path("a.db")) == []

sys.argv = ["symbreak", "--version"]
symbreak.__main__.main()
"""
EXTRAS = ("altair", "jinja2", "sklearn", "vl_convert", "dask", "distributed", "pyarrow", "onnx")


def test_everything_loads_and_a_store_is_made_without_what_windows_lacks(tmp_path):
    names = [
        module.name
        for module in pkgutil.walk_packages(symbreak.__path__, "symbreak.")
        if not module.name.endswith("__main__")
    ]
    assert len(names) > 60
    loaded_before = [name for name in EXTRAS if find_spec(name)]
    command = [sys.executable, "-c", WINDOWS + SCRIPT.format(names=names, extras=EXTRAS)]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    options = {"capture_output": True, "text": True, "timeout": 300}
    done = subprocess.run([*command, *loaded_before], env=environment, cwd=tmp_path, **options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("symbreak ")
