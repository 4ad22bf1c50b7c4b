"""What a training minimises: errors of networks on data, or any other errors of networks."""

from symbreak.objectives._base import Found, Objective
from symbreak.objectives._cross_entropy import CrossEntropy
from symbreak.objectives._fitness import Fitness, Network
from symbreak.objectives._least_squares import (
    LeastSquares,
    check_threads,
    prepare_kernels,
    prepare_polish,
)

__all__ = [
    "CrossEntropy",
    "Fitness",
    "Found",
    "LeastSquares",
    "Network",
    "Objective",
    "check_threads",
    "prepare_kernels",
    "prepare_polish",
]
