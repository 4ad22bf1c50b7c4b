"""Estimators that compete in the benchmark of generalisation, each as a careful user sets it up.

Ours has its defaults. All others search their settings by cross-validation on the training part,
after inputs (and targets, for networks) are standardised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from _generalisation_page import MLPS, OURS
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from symbreak.estimators import EvolvedMLPClassifier, EvolvedMLPRegressor

Net = tuple[int, ...]
Grid = Mapping[str, Sequence[Any]]

#: What networks search: 54 fits with lbfgs and 24 with adam, then one of all samples.
LBFGS: Grid = {"alpha": [0.001, 0.1, 0.5, 2, 8, 30], "random_state": [0, 1, 2]}
ADAM: Grid = {"alpha": [0.001, 0.1, 1, 10], "random_state": [0, 1]}
INNER_FOLDS = 3


def contestant(name: str, task: str, net: Net = ()) -> BaseEstimator:
    """An estimator by its name; those with a network need its hidden layers."""
    regression = task == "regression"
    if name == OURS:
        ours = EvolvedMLPRegressor if regression else EvolvedMLPClassifier
        return ours(net, random_state=0)
    if name in MLPS:
        return _mlp(name.split()[1], regression, net)
    if name == "linear" and regression:
        return searched(Ridge(), {"alpha": [0.01, 0.1, 1, 10, 100, 1000]}, regression)
    if name == "linear":
        grid = {"C": [0.001, 0.01, 0.1, 1, 10, 100]}
        return searched(LogisticRegression(max_iter=2000), grid, regression)
    if name == "neighbours":
        neighbours = KNeighborsRegressor if regression else KNeighborsClassifier
        grid = {"n_neighbors": [1, 3, 5, 9, 15, 25], "weights": ["uniform", "distance"]}
        return searched(neighbours(), grid, regression, scoring=None)
    boosting = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    grid = {"min_samples_leaf": [5, 20], "learning_rate": [0.05, 0.1]}
    return searched(boosting(random_state=0), grid, regression)


def _mlp(solver: str, regression: bool, net: Net) -> BaseEstimator:
    """The same network, trained by scikit-learn: tanh, best of some alphas and starts."""
    mlp = (MLPRegressor if regression else MLPClassifier)(
        hidden_layer_sizes=net, activation="tanh", solver=solver
    )
    if solver == "lbfgs":
        return searched(mlp.set_params(max_iter=1000), LBFGS, regression)
    # the default rate, 0.001, is far from done after 500 epochs on some hundred samples
    return searched(mlp.set_params(max_iter=300, learning_rate_init=0.01), ADAM, regression)


def searched(
    model: BaseEstimator, grid: Grid, regression: bool, scoring: str | None = "likelihood"
) -> BaseEstimator:
    """Settings by cross-validation; of classifiers by log-loss, which is finer than accuracy."""
    if scoring == "likelihood":
        scoring = "neg_mean_squared_error" if regression else "neg_log_loss"
    folds = KFold if regression else StratifiedKFold
    pipeline = make_pipeline(StandardScaler(), model)
    grid = {f"{pipeline.steps[-1][0]}__{key}": list(values) for key, values in grid.items()}
    cv = folds(INNER_FOLDS, shuffle=True, random_state=0)
    search = GridSearchCV(pipeline, grid, cv=cv, scoring=scoring)
    if isinstance(model, MLPRegressor | SVR):
        return TransformedTargetRegressor(search, transformer=StandardScaler())
    return search
