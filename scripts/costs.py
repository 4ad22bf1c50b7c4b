"""Time the first run of every method on every problem of the study `paper`, on an idle core.

    OPENBLAS_CORETYPE=SkylakeX python scripts/costs.py    # some minutes

Writes studies/paper/costs.csv, from which `python scripts/reproduction.py` makes a table of its
page. The runs of the study itself were done on several machines, some beside other work, so that
their seconds cannot be compared. Their results can: each should end as the committed one did, bit
by bit, with the kernel of BLAS that those were made with.
"""

from pathlib import Path

import pandas as pd
from rich.progress import track

from symbreak.experiments import Archive, StudySpec, execute
from symbreak.experiments._spec import seconds_per_evaluation
from symbreak.training import RunRecord

ARCHIVE = Path(__file__).parent.parent / "studies" / "paper"
COSTS = ARCHIVE / "costs.csv"


def measured() -> pd.DataFrame:
    """Seconds of each run, what a dry run estimates, and whether it ended as the committed one."""
    rows = []
    known = Archive(ARCHIVE).runs().set_index("key")["error"]
    for run in track(list(StudySpec.load("paper").first_runs()), "Runs"):
        seconds_per_evaluation(run, at_least=0)  # loads compiled code
        estimate = seconds_per_evaluation(run) * run.max_evaluations
        record = execute(run)
        assert isinstance(record, RunRecord)  # nothing stops it
        row = {"problem": run.problem, "method": run.method, "seconds": f"{record.seconds:.3g}"}
        row |= {"estimate": f"{estimate:.3g}", "same": record.error == known.get(run.key)}
        rows.append(row | {"blas": record.versions["blas"]})
    return pd.DataFrame(rows)


if __name__ == "__main__":
    costs = measured()
    costs.to_csv(COSTS, index=False)
    print(f"{costs['same'].sum()} of {len(costs)} runs ended as the committed ones, bit by bit")
