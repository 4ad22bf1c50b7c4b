"""The estimators: scikit-learn's own checks, and what they promise beyond them."""

import pytest

pytest.importorskip("sklearn")

from sklearn.utils.estimator_checks import parametrize_with_checks

from symbreak.estimators import EvolvedAutoencoder, EvolvedMLPClassifier, EvolvedMLPRegressor

ALL = (EvolvedMLPRegressor, EvolvedMLPClassifier, EvolvedAutoencoder)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([estimator(max_evaluations=2_500) for estimator in ALL])
def test_they_pass_every_check_of_scikit_learn(estimator, check):
    check(estimator)
