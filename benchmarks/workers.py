"""Runs per minute of a study with two workers, relative to one: at least 1.8 on two cores.

Local processes, and a Dask cluster that is there already if Dask is installed. Each repeat is a
fresh store of 32 runs of about a second. Loading the library and its compiled code (about a second
of each worker's CPU) is part of it.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from symbreak.experiments import StudySpec, run_study

REPEATS = 3
STUDY = """
problems = ["sinc", "sinc2d"]
methods = ["DE-SB", "CMA-ES-SB"]
repetitions = 8
[budgets]
sinc = 400_000
sinc2d = 110_000
"""


def runs_per_minute(spec: StudySpec, workers: int, cluster: bool) -> float:
    """Do the study once in a fresh store."""
    with tempfile.TemporaryDirectory() as folder, _options(workers, cluster) as options:
        started = time.perf_counter()
        result = run_study(spec, Path(folder) / "study.db", **options)
        return 60 * result.finished / (time.perf_counter() - started)


@contextmanager
def _options(workers: int, cluster: bool) -> Iterator[dict[str, Any]]:
    if not cluster:
        yield {"workers": workers}
        return
    from distributed import Client

    with Client(n_workers=workers, threads_per_worker=1, dashboard_address=None) as client:
        yield {"executor": client.get_executor()}


def main() -> None:
    spec = StudySpec.parse(STUDY)
    for cluster in (False, True) if find_spec("distributed") else (False,):
        pairs = [[runs_per_minute(spec, n, cluster) for n in (1, 2)] for _ in range(REPEATS)]
        one, two = (statistics.median(column) for column in zip(*pairs, strict=True))
        print("a Dask cluster" if cluster else "local processes")
        print(f"  one worker  {one:6.1f} runs a minute")
        print(f"  two workers {two:6.1f} runs a minute")
        print(f"  ratio       {two / one:6.2f} (at least 1.8 on two free cores)")


if __name__ == "__main__":
    main()
