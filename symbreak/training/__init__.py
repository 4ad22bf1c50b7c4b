"""Training: starts of search and polish, until they agree or the budget is spent."""

from symbreak.training._committee import check_networks, join
from symbreak.training._evolve import EvolutionRecord, evolve
from symbreak.training._last_step import log_loss, n_effective_parameters
from symbreak.training._recipe import make_plan, usual_evaluations
from symbreak.training._record import Progress, RunRecord, Tried, versions
from symbreak.training._run import UNLIMITED, Run
from symbreak.training._train import polish, train

__all__ = [
    "UNLIMITED",
    "EvolutionRecord",
    "Progress",
    "Run",
    "RunRecord",
    "Tried",
    "check_networks",
    "evolve",
    "join",
    "log_loss",
    "make_plan",
    "n_effective_parameters",
    "polish",
    "train",
    "usual_evaluations",
    "versions",
]
