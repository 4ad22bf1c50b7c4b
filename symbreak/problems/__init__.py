"""The paper's problems, and yours from arrays or files."""

from symbreak.problems._array_tables import read_arrays
from symbreak.problems._encoding import Encoding
from symbreak.problems._files import default_targets, read_problem, read_table
from symbreak.problems._problem import (
    FIRST_GUESS,
    PAPER,
    Dataset,
    Problem,
    Ridge,
    Scaling,
    Task,
)
from symbreak.problems._registry import load_problem, problem_names, register_problem
from symbreak.problems._tables import Table

__all__ = [
    "FIRST_GUESS",
    "PAPER",
    "Dataset",
    "Encoding",
    "Problem",
    "Ridge",
    "Scaling",
    "Table",
    "Task",
    "default_targets",
    "load_problem",
    "problem_names",
    "read_arrays",
    "read_problem",
    "read_table",
    "register_problem",
]
