"""The paper's problems, and yours from arrays."""

from symbreak.problems import _regression  # noqa: F401  (registers its problems)
from symbreak.problems._problem import Dataset, Problem, Scaling, load_problem, problem_names

__all__ = ["Dataset", "Problem", "Scaling", "load_problem", "problem_names"]
