"""Helper processes end with the one that started them."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

DEADLINE = 300
POOL = """
import os, sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from symbreak._support.workers import end_with_parent
with ProcessPoolExecutor(2, get_context(sys.argv[1]), initializer=end_with_parent) as pool:
    pool.submit(os.getpid).result()
    print(*pool._processes, flush=True)
    pool.submit(time.sleep, 600).result()
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds processes through /proc")
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_the_helpers_of_a_killed_process_end(method, tmp_path):
    script = tmp_path / "pool.py"
    script.write_text(f"if __name__ == '__main__':\n    exec({POOL!r})\n")
    command = [sys.executable, str(script), method]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        helpers = process.stdout.readline().split()
        assert helpers
        assert all(Path(f"/proc/{pid}").exists() for pid in helpers)
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + DEADLINE
    while any(Path(f"/proc/{pid}").exists() for pid in helpers):
        assert time.monotonic() < deadline
        time.sleep(0.02)
