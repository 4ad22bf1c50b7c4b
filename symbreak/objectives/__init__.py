"""What a training minimises: errors of networks on data, or any other errors of networks."""

from symbreak.objectives._base import Objective
from symbreak.objectives._fitness import Fitness
from symbreak.objectives._least_squares import LeastSquares

__all__ = [
    "Fitness",
    "LeastSquares",
    "Objective",
]
