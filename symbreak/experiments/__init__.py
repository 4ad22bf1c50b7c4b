"""Studies: many runs, done once each, whatever happens in between."""

from symbreak.experiments._archive import (
    Archive,
    export_csv,
    export_ioh,
    open_results,
    write_archive,
)
from symbreak.experiments._driver import run_study
from symbreak.experiments._errors import ExecutorError, StoreError
from symbreak.experiments._maintenance import check_store, merge_stores
from symbreak.experiments._run import execute
from symbreak.experiments._store import Store
from symbreak.experiments._study import StudySpec

__all__ = [
    "Archive",
    "ExecutorError",
    "Store",
    "StoreError",
    "StudySpec",
    "check_store",
    "execute",
    "export_csv",
    "export_ioh",
    "merge_stores",
    "open_results",
    "run_study",
    "write_archive",
]
