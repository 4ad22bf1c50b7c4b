"""The paper's problems, and yours from arrays or files."""

# Importing these registers their problems, in the paper's order.
from symbreak.problems import _regression, _autoencoding, _classification  # noqa: F401, I001
from symbreak.problems._files import read_problem
from symbreak.problems._problem import (
    AUTO_RIDGE,
    Dataset,
    Problem,
    Scaling,
    Task,
    load_problem,
    problem_names,
)

__all__ = [
    "AUTO_RIDGE",
    "Dataset",
    "Problem",
    "Scaling",
    "Task",
    "load_problem",
    "problem_names",
    "read_problem",
]
