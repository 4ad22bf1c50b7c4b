"""Population searches with ask and tell."""

from symbreak.optimizers._base import Best, Optimizer, State
from symbreak.optimizers._cmaes import CMAES
from symbreak.optimizers._de import DE

__all__ = ["CMAES", "DE", "Best", "Optimizer", "State"]
