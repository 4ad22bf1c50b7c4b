"""Training: starts of search and polish, until they agree or the budget is spent."""

from symbreak.training._committee import join
from symbreak.training._evolve import evolve
from symbreak.training._record import RunRecord
from symbreak.training._run import Run
from symbreak.training._train import polish, train

__all__ = [
    "Run",
    "RunRecord",
    "evolve",
    "join",
    "polish",
    "train",
]
