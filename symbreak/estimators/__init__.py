"""Small networks in the interface of scikit-learn; needs the extra ``symbreak[sklearn]``."""

from symbreak.estimators._estimators import (
    EvolvedAutoencoder,
    EvolvedMLPClassifier,
    EvolvedMLPRegressor,
)

__all__ = [
    "EvolvedAutoencoder",
    "EvolvedMLPClassifier",
    "EvolvedMLPRegressor",
]
