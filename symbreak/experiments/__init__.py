"""Studies: many runs, done once each, whatever happens in between."""

from symbreak.experiments._schema import StoreError
from symbreak.experiments._spec import BUILT_IN, RunSpec, StudySpec
from symbreak.experiments._store import Store
from symbreak.experiments._workers import StudyResult, Update, missing_runs, run_study

__all__ = [
    "BUILT_IN",
    "RunSpec",
    "Store",
    "StoreError",
    "StudyResult",
    "StudySpec",
    "Update",
    "missing_runs",
    "run_study",
]
