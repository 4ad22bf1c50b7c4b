"""Problems with the settings of the paper's, for tests that need samples as they were given."""

from symbreak import Problem
from symbreak.problems import PAPER


def paper_problem(X, y, **settings):
    """A problem in the paper's ball, with neither an output shift nor a ridge."""
    return Problem.from_arrays(X, y, **{**PAPER, **settings})
