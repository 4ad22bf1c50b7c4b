"""Studies: many runs, done once each, whatever happens in between."""

from symbreak.experiments._archive import (
    Archive,
    export_csv,
    export_ioh,
    open_results,
    write_archive,
)
from symbreak.experiments._driver import StudyResult, Update, missing_runs, run_study
from symbreak.experiments._errors import CheckpointError, ExecutorError, StoreError
from symbreak.experiments._frames import Frames
from symbreak.experiments._maintenance import check_store, merge_stores
from symbreak.experiments._run import execute
from symbreak.experiments._spec import RunSpec, relative_work, seconds_per_evaluation
from symbreak.experiments._store import Store
from symbreak.experiments._study import BUILT_IN, StudySpec

__all__ = [
    "BUILT_IN",
    "Archive",
    "CheckpointError",
    "ExecutorError",
    "Frames",
    "RunSpec",
    "Store",
    "StoreError",
    "StudyResult",
    "StudySpec",
    "Update",
    "check_store",
    "execute",
    "export_csv",
    "export_ioh",
    "merge_stores",
    "missing_runs",
    "open_results",
    "relative_work",
    "run_study",
    "seconds_per_evaluation",
    "write_archive",
]
