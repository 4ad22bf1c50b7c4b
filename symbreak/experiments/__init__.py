"""Studies: many runs, done once each, whatever happens in between."""

from symbreak.experiments._archive import Archive, open_results
from symbreak.experiments._database import StoreError
from symbreak.experiments._execution import run_study
from symbreak.experiments._run import ExecutorError, execute
from symbreak.experiments._store import Store
from symbreak.experiments._study import StudySpec

__all__ = [
    "Archive",
    "ExecutorError",
    "Store",
    "StoreError",
    "StudySpec",
    "execute",
    "open_results",
    "run_study",
]
