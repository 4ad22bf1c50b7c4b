"""Studies: many runs, done once each, whatever happens in between."""

from symbreak.experiments._archive import Archive, open_results, read_archive, write_archive
from symbreak.experiments._driver import StudyResult, Update, missing_runs, run_study
from symbreak.experiments._errors import CheckpointError, ExecutorError, StoreError
from symbreak.experiments._estimate import relative_work, seconds_per_evaluation
from symbreak.experiments._export import export_csv, export_ioh
from symbreak.experiments._maintenance import check_store, merge_stores
from symbreak.experiments._run import execute
from symbreak.experiments._spec import RunSpec
from symbreak.experiments._store import Store
from symbreak.experiments._study import BUILT_IN, StudySpec

__all__ = [
    "BUILT_IN",
    "Archive",
    "CheckpointError",
    "ExecutorError",
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
    "read_archive",
    "relative_work",
    "run_study",
    "seconds_per_evaluation",
    "write_archive",
]
