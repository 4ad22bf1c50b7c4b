"""Runs per minute of a study with two workers, relative to one: at least 1.7 on two cores.

Each repeat is a fresh store; start-up of the workers (about a second) is part of it, so the study
is long enough, about 20 s on one core, for it not to matter.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from symbreak.experiments import StudySpec, run_study

STUDY = """
problems = ["sinc", "sinc2d"]
methods = ["DE-SB", "CMA-ES-SB"]
repetitions = 4
[budgets]
sinc = 150_000
sinc2d = 100_000
"""


def runs_per_minute(spec: StudySpec, workers: int) -> float:
    """Do the study once in a fresh store."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        result = run_study(spec, Path(folder) / "study.db", workers=workers)
        return 60 * result.finished / (time.perf_counter() - started)


def main() -> None:
    spec = StudySpec.parse(STUDY)
    pairs = [(runs_per_minute(spec, 1), runs_per_minute(spec, 2)) for _ in range(3)]
    one, two = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"one worker  {one:6.1f} runs a minute")
    print(f"two workers {two:6.1f} runs a minute")
    print(f"ratio       {two / one:6.2f} (at least 1.7 on two free cores)")


if __name__ == "__main__":
    main()
