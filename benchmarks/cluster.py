"""How many workers one driver can feed: a cluster whose runs sleep instead of computing.

The scheduler and the workers are real processes on this machine; a process stands for many workers,
each of them a thread that sleeps and then hands back the record of a real run. Everything else is
what a study does: the driver hands out runs, gathers records and writes them into a store.

Costs are CPU time of the driver and of the scheduler per run, which do not depend on what else the
machine does; runs a second do. Beyond what was measured, workers fed are the seconds of a run
divided by the larger cost, which comes once for every slice of a run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from _timing import environment
from distributed import Client

from symbreak.experiments import Store, StudySpec, execute, run_study
from symbreak.experiments._driver import CHECKPOINT_EVERY, PER_SLOT
from symbreak.experiments._spec import RunSpec
from symbreak.training import RunRecord

STUDY = """
problems = ["sinc"]
methods = ["DE-SB"]
repetitions = {repetitions}
[budgets]
sinc = 100_000
"""
PER_PROCESS = 128  # sleeping workers of one process
SECONDS = 15.0  # that a measurement should take
STARTING = 120.0  # seconds for a scheduler, and for all workers, to be there


def sleep_instead(record: RunRecord, seconds: float) -> None:
    """On a worker: let runs sleep, then hand back a record."""
    from symbreak.experiments import _run

    def asleep(run: RunSpec, *_: object) -> _run.Outcome:
        time.sleep(seconds)
        return _run.Outcome("finished", replace(record, seed=run.seed), run.facts())

    _run._go_on = asleep


@contextmanager
def process(kind: str, file: Path, *options: str) -> Iterator[None]:
    """A scheduler or a worker process."""
    command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", str(file)]
    command += ["--host", "127.0.0.1", "--no-dashboard", *options]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=file.parent) as started:
        try:
            yield
        finally:
            started.kill()


@contextmanager
def sleeping_cluster(n_workers: int, record: RunRecord, seconds: float) -> Iterator[Client]:
    n_processes = -(-n_workers // PER_PROCESS)
    threads = str(-(-n_workers // n_processes))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        file = Path(folder) / "scheduler.json"
        scheduler = ("--port", "0", "--dashboard-address", "127.0.0.1:0", "--no-show")
        stack.enter_context(process("scheduler", file, *scheduler))
        deadline = time.monotonic() + STARTING
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        for _ in range(n_processes):
            stack.enter_context(process("worker", file, "--no-nanny", "--nthreads", threads))
        client = stack.enter_context(Client(scheduler_file=str(file), set_as_default=False))
        client.wait_for_workers(n_processes, timeout=STARTING)
        client.run(sleep_instead, record, seconds)
        yield client


def scheduler_cpu(client: Client) -> float:
    return float(client.run_on_scheduler(lambda: time.process_time()))


def measure(n_workers: int, seconds: float, record: RunRecord) -> dict[str, float]:
    """A study of sleeping runs: rate, and what a run costs the driver and the scheduler."""
    rounds = max(2, round(SECONDS / max(seconds, n_workers / 300)))
    spec = StudySpec.parse(STUDY.format(repetitions=rounds * n_workers), try_runs=False)
    with (
        sleeping_cluster(n_workers, record, seconds) as client,
        tempfile.TemporaryDirectory() as folder,
    ):
        driver, scheduler = time.process_time(), scheduler_cpu(client)
        started = time.perf_counter()
        result = run_study(spec, Path(folder) / "study.db", executor=client.get_executor())
        wall = time.perf_counter() - started
        driver = time.process_time() - driver
        scheduler = scheduler_cpu(client) - scheduler
    n = result.finished
    assert n == spec.n_runs
    return {
        "workers": n_workers,
        "seconds of a run": seconds,
        "runs a second": n / wall,
        "of what is possible": n / wall * seconds / n_workers,
        "driver ms a run": 1e3 * driver / n,
        "scheduler ms a run": 1e3 * scheduler / n,
        "load": os.getloadavg()[0],  # of the machine: above its cores, it was busy otherwise
    }


def cost_of_storing(record: RunRecord, n: int = 300) -> float:
    """CPU milliseconds to write one result, which is part of the driver's cost."""
    spec = StudySpec.parse(STUDY.format(repetitions=n), try_runs=False)
    runs = list(spec.runs())
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "study.db") as store:
        started = time.process_time()
        for run in runs:
            store.add(run, record)
        return 1e3 * (time.process_time() - started) / n


def slices_a_second(n_workers: int, seconds: float) -> float:
    """What each of so many workers hands back, in runs of some seconds."""
    return 1 / min(seconds, max(CHECKPOINT_EVERY, PER_SLOT * n_workers))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[8, 64, 256, 1000])
    parser.add_argument("--seconds", type=float, nargs="+", default=[1.0, 10.0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the results here")
    options = parser.parse_args()
    first = next(iter(StudySpec.parse(STUDY.format(repetitions=1)).runs()))
    record = execute(first)
    assert isinstance(record, RunRecord)
    storing = cost_of_storing(record)
    print(f"writing a result takes {storing:.2f} ms of CPU")
    rows = []
    for seconds in options.seconds:
        for n_workers in options.workers:
            rows.append(measure(n_workers, seconds, record))
            print("  ".join(f"{name} {value:,.3g}" for name, value in rows[-1].items()))
    cost = min(max(row["driver ms a run"], row["scheduler ms a run"]) for row in rows) / 1e3
    for seconds in (1, 10, 100):
        fed = next(n for n in range(1, 10**6) if n * cost * slices_a_second(n, seconds) > 1)
        print(f"runs of {seconds} s: one driver feeds about {fed:,.0f} workers")
    if options.json:
        results = {**environment(), "storing_ms": storing, "rows": rows}
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
