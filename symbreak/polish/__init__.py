"""Polish: from a point near an optimum down to its floor."""

from symbreak.polish._linearisation import Linearisation, check_polish_memory, jacobian_cost
from symbreak.polish._polisher import (
    ITERATIONS,
    Objective,
    Polisher,
    PolishResult,
    check_state_of,
    polish,
)

__all__ = [
    "ITERATIONS",
    "Linearisation",
    "Objective",
    "PolishResult",
    "Polisher",
    "check_polish_memory",
    "check_state_of",
    "jacobian_cost",
    "polish",
]
