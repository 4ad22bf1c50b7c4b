"""Population searches with ask and tell."""

from symbreak.optimizers._base import Optimizer
from symbreak.optimizers._cmaes import CMAES
from symbreak.optimizers._de import DE
from symbreak.optimizers._lshade import LSHADE
from symbreak.optimizers._restarts import Restarts

__all__ = ["CMAES", "DE", "LSHADE", "Optimizer", "Restarts"]
