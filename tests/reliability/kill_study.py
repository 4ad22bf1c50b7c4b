"""A study under random SIGKILLs against one that is left alone.

    python -m tests.reliability.kill_study --runs 10000

Group, driver and workers are killed at random moments until all runs are done. Nothing may be lost,
doubled or different, bit by bit; the driver's memory must stay flat, the store open fast.
``docs/reliability.md`` has the figures of a long run; ``test_driver.py`` does a short one.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

from symbreak.experiments import Store, StoreError
from tests.experiments.processes import finish, results, start_study

#: Runs of a few milliseconds, so that kills hit writing more often than computing.
TEXT = """
problems = ["syn5", "sinc"]
methods = ["DE-SB", "CMA-ES-SB"]
repetitions = {repetitions}
[budgets]
syn5 = 400
sinc = 800
"""
VICTIMS = ("group", "driver", "worker", "workers")


def start(study: Path, store: Path, workers: int) -> subprocess.Popen[str]:
    """A study in its own process group."""
    return start_study(study, store, "--workers", str(workers), "--checkpoint-every", "0.01")


def children_of(pid: int) -> list[int]:
    """Processes that the threads of another one have started, but for Python's own helper."""
    found = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for child in map(int, thread.read_text().split()):
                if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.append(child)
    return found


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """Workers of a driver, and behind them what forks them; none once it has ended."""
    servers = children_of(process.pid)
    return [worker for server in servers for worker in children_of(server)] + servers


def kill(victim: str, process: subprocess.Popen[str], rng: random.Random) -> int:
    """Kill some processes of a study; how many were there."""
    if victim == "group":
        targets = [-process.pid]
    elif victim == "driver":
        targets = [process.pid]
    else:
        targets = workers_of(process)
        rng.shuffle(targets)
        targets = targets[: 1 if victim == "worker" else None]
    n = 0
    for pid in targets:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(-pid, signal.SIGKILL) if pid < 0 else os.kill(pid, signal.SIGKILL)
            n += 1
    return n


def driver_memory(process: subprocess.Popen[str]) -> float:
    """MiB that a driver holds; 0 if it has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
    return 0.0


def n_done(path: Path) -> int:
    """Finished runs so far."""
    with contextlib.suppress(StoreError), Store(path, create=False, read_only=True) as store:
        return store.count("run")
    return 0


def left_alone(study: Path, store: Path, workers: int) -> list[float]:
    """Run a study to its end; what the driver held, five times a second."""
    held, process = [], start(study, store, workers)
    while process.poll() is None:
        held.append(driver_memory(process))
        time.sleep(0.2)
    finish(process)
    return [size for size in held if size]


def is_unborn(said: str) -> bool:
    """Whether a traceback is Python's, of a worker whose driver was killed while starting it.

    It is printed before any code of ours is there: the driver could not hand over what to load.
    """
    places = [line for line in said.splitlines() if line.lstrip().startswith("File ")]
    in_python = all("multiprocessing" in line or '"<string>"' in line for line in places)
    return in_python and said.rstrip().endswith("EOFError: Ran out of input")


def killed(
    study: Path,
    store: Path,
    workers: int,
    n_runs: int,
    *,
    pauses: tuple[float, float],
    max_kills: int,
    seed: int,
) -> Counter[str]:
    """Run a study to its end under kills; how many of each there were."""
    rng, kills = random.Random(seed), Counter[str]()
    while True:
        process = start(study, store, workers)
        while process.poll() is None:
            time.sleep(rng.uniform(*pauses))
            victim, enough = rng.choice(VICTIMS), kills.total() >= max_kills
            if not enough and process.poll() is None and kill(victim, process, rng):
                kills[victim] += 1
        _, err = process.communicate()
        if any(not is_unborn(said) for said in err.split("Traceback")[1:]):
            raise SystemExit(err)
        if process.returncode == 0 and n_done(store) == n_runs:
            return kills


def main() -> None:
    """Do both studies and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=1_000, help="at most")
    parser.add_argument("--pauses", type=float, nargs=2, default=(0.5, 8.0), metavar="SECONDS")
    options = parser.parse_args()
    n_runs = options.runs // 4 * 4
    with tempfile.TemporaryDirectory() as folder:
        study, whole, broken = (Path(folder) / name for name in ("s.toml", "whole.db", "killed.db"))
        study.write_text(TEXT.format(repetitions=n_runs // 4))
        began = time.monotonic()
        held = left_alone(study, whole, options.workers)
        print(f"{n_runs:,} runs left alone: {time.monotonic() - began:.0f} s", flush=True)
        middle = held[len(held) // 4 : -1] or held
        print(f"driver: {middle[0]:.0f} MiB after a quarter, {middle[-1]:.0f} MiB at the end")
        began = time.monotonic()
        kills = killed(
            *(study, broken, options.workers, n_runs),
            pauses=tuple(options.pauses),
            max_kills=options.kills,
            seed=options.seed,
        )
        print(f"under {kills.total()} kills ({dict(kills)}): {time.monotonic() - began:.0f} s")
        began = time.monotonic()
        with Store(broken, create=False):
            print(f"the store opens in {time.monotonic() - began:.2f} s", end=", ")
            print(f"{broken.stat().st_size / 2**20:.0f} MiB")
        ours, theirs = results(broken), results(whole)
        if ours != theirs or len(ours) != n_runs:
            raise SystemExit(f"the results differ: {len(ours)} and {len(theirs)} runs")
        print(f"all {len(ours):,} runs are equal, bit by bit")


if __name__ == "__main__":
    main()
