"""The reference study: the runs of `paper` that studies/paper lacks, and a rerun of those it has.

    python scripts/reference.py run reference.db     # what is missing, cheap problems first
    python scripts/reference.py run reference.db --problems digits two-spirals --workers 1
    python scripts/reference.py run other.db --study paper-sigma-0.3   # the other reading
    python scripts/reference.py compare rerun.db     # a rerun against the committed results

`run` adds to studies/NAME when a problem is done or Ctrl-C stops it, and goes on where it stopped;
`python scripts/reproduction.py` then writes the page. All runs of a study have one kernel of BLAS:
set OPENBLAS_CORETYPE=SkylakeX, which the committed ones have.
"""

import argparse
import dataclasses
import sys
from pathlib import Path

import numpy as np

from symbreak.experiments import Archive, Store, StudySpec, run_study
from symbreak.experiments._archive import write_archive

STUDIES = Path(__file__).parent.parent / "studies"
#: Cheap problems first.
ORDER = (
    *("syn5", "sinc", "inc-sinc", "two-circles", "sinc2d", "sinc3d", "autoenc-circle"),
    *("two-spirals", "digits", "autoenc-spiral", "autoenc-sphere"),
)


def run(path: str, study: str, problems: list[str], workers: int) -> None:
    """Do what is missing, problem by problem, and add it to the archive."""
    archive, file = STUDIES / study, STUDIES / f"{study}.toml"
    spec = StudySpec.load(file if file.exists() else study)
    known = frozenset(Archive(archive).runs()["key"]) if archive.exists() else frozenset()
    with Store(path) as store:
        for problem in problems:
            part = dataclasses.replace(spec, problems=(problem,))
            result = run_study(part, store, workers=workers, known=known)
            write_archive(store, archive)
            print(f"{problem}: {result.finished} runs added", flush=True)
            if result.interrupted:
                sys.exit(f"stopped; go on with: python scripts/reference.py run {path}")


def compare(path: str, study: str) -> None:
    """Say how many runs of a store ended as those of the archive, and what the means are."""
    with Store(path, create=False) as store:
        here = store.runs()
    there = Archive(STUDIES / study).runs()
    both = here.merge(there, on="key", suffixes=("", "_there"))
    compared = ["error", "network_error", "table_error", "evaluations"]
    same = np.all([both[name] == both[f"{name}_there"] for name in compared], axis=0)
    print(f"{same.sum():,} of {len(both):,} runs are the same, bit by bit")
    print(f"{len(there) - len(both):,} runs of {study} are not in {path}")
    errors = both[["table_error", "table_error_there"]]
    print(errors.groupby([both["problem"], both["method"]], sort=False).mean().to_string())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "compare"):
        commands.add_parser(name).add_argument("store")
        commands.choices[name].add_argument("--study", default="paper")
    commands.choices["run"].add_argument("--problems", nargs="+", default=ORDER, choices=ORDER)
    commands.choices["run"].add_argument("--workers", type=int, default=0)
    given = parser.parse_args()
    if given.command == "run":
        run(given.store, given.study, given.problems, given.workers)
    else:
        compare(given.store, given.study)
