"""The best network of each problem, with the data that it was trained on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from symbreak._support.checks import Array
from symbreak.experiments import Archive, Store, StoreError
from symbreak.inspection import Score, scores
from symbreak.models import Model
from symbreak.problems import Problem, load_problem, problem_names

if TYPE_CHECKING:
    from symbreak.analysis._results import Results

#: More variables than this are not listed.
MAX_NAMES = 20


@dataclass(frozen=True)
class Fit:
    """A network and its data, in the units of the data.

    Attributes:
        problem: With its data.
        model: The best network.
        method: What trained it.
        repetition: In which repetition.
    """

    problem: Problem
    model: Model
    method: str
    repetition: int

    @property
    def variables(self) -> str:
        """The names of inputs and targets in a sentence; nothing if they have none."""
        inputs, targets = self.model.feature_names, self.model.target_names
        if not inputs or len(inputs) + len(targets) > MAX_NAMES:
            return ""
        words = f"Inputs: {', '.join(inputs)}"
        return words + (f"; targets: {', '.join(targets)}." if targets else ".")

    def parts(self) -> Iterator[tuple[str, Array, Array]]:
        """Name, inputs and targets of each part of the data."""
        for name, part in self.problem.parts.items():
            yield name, self.problem.inputs.undo(part.X), self.problem.targets.undo(part.y)

    def qualities(self) -> list[dict[str, Any]]:
        """How good the network is on each part of the data, in numbers people know.

        For regression and autoencoding, the coefficient of determination (the mean over targets),
        and with a single target the root mean squared error in its units. For classification, the
        share of samples that are classified right.
        """
        return [
            {"part": name, "samples": score.n, **self._quality(score)}
            for name, score in scores(self.model, self.problem).items()
        ]

    def _quality(self, score: Score) -> dict[str, float]:
        if self.model.classes:
            return {"right": 1 - score.error}
        known = np.isfinite(score.r2)  # not where a target is constant
        quality = {"r2": float(score.r2[known].mean())} if known.any() else {}
        if len(score.rmse) == 1:
            quality["rmse"] = float(score.rmse[0])
        return quality


def best_fits(store: Store | Archive, results: Results) -> dict[str, Fit]:
    """The best network of each problem whose data can be loaded again."""
    fits = {}
    for name, runs in results.runs.groupby("problem", sort=False):
        run = _best_run(runs)
        try:
            problem = _problem_of(run, results)
            model = None if problem is None else store.model(str(run["key"]))
        except (ValueError, OSError, StoreError):
            continue  # a data file that was moved, a store of the first format
        if problem is not None and model is not None and model.topology == problem.topology:
            fits[str(name)] = Fit(problem, model, str(run["method"]), int(run["repetition"]))
    return fits


def _best_run(runs: pd.DataFrame) -> pd.Series[Any]:
    """By the error on validation data, or else by that of training; never by that of the test."""
    by = "validation_error" if runs["validation_error"].notna().any() else "error"
    return runs.iloc[int(runs[by].astype(float).fillna(np.inf).argmin())]


def _problem_of(run: pd.Series[Any], results: Results) -> Problem | None:
    """The problem of a run: as its study says, or else the built-in one with that network."""
    if (planned := results.planned.get(str(run["key"]))) is not None:
        return planned.load_problem()
    facts = results.facts[run["problem"]]
    if facts["name"] not in problem_names():
        return None
    problem = load_problem(facts["name"], int(run["data_seed"]))
    return problem if str(problem.topology) == facts["net"] else None
