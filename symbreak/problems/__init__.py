"""The paper's problems, and yours from arrays or files."""

from symbreak.problems._files import read_problem
from symbreak.problems._problem import PAPER, Dataset, Problem, Scaling
from symbreak.problems._readers import read_table
from symbreak.problems._registry import load_problem, problem_names, register_problem

__all__ = [
    "PAPER",
    "Dataset",
    "Problem",
    "Scaling",
    "load_problem",
    "problem_names",
    "read_problem",
    "read_table",
    "register_problem",
]
