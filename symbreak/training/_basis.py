"""Inputs as networks are trained on them: a linear map of those that their models have.

It is good for two things. Of a table with more columns than rows only the space of the rows
matters: with an orthonormal basis of it, the same ridge on few weights leads to the same network.
And a ridge for each input is one ridge on scaled inputs: where an input is divided by s, its
weights cost 1 / s^2 as much (relevance, as D. J. C. MacKay and R. M. Neal call it). Models, their
files and their error bars see ordinary inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import Array, check_memory, check_vectors
from symbreak.models import Model
from symbreak.problems import Dataset, Problem, Scaling
from symbreak.topology import Topology
from symbreak.training._record import RunRecord

#: No input is made smaller than this, compared with the largest.
LEAST = 0.05
#: What the origin of a model calls the scales that it was trained with.
SCALES = "input_scales"


@dataclass(frozen=True, eq=False)
class Basis:
    """Inputs x (K, d) that are ``x @ to`` to the networks that are trained.

    Attributes:
        to: (d, r), so that weights W (n, r) stand for ``W @ to.T`` on ordinary inputs.
        inverse: (d, r), with ``to.T @ inverse = 1``.
        scales: (d,) of the inputs, if that is all.
    """

    to: Array
    inverse: Array
    scales: Array | None = None

    @classmethod
    def scaled(cls, s: Array) -> Basis:
        """Each input times a number of its own, which gives it a ridge of its own."""
        return cls(np.diag(s), np.diag(1 / s), s)

    @classmethod
    @one_blas_thread()
    def of_rows(cls, X: Array) -> Basis:
        """An orthonormal basis of the space of the rows of X (K, d)."""
        n, d = X.shape
        check_memory(f"a basis of {n:,} rows of {d:,} inputs", 24 * n * d, "use fewer samples")
        Q = np.ascontiguousarray(np.linalg.qr(X.T).Q)
        return cls(Q, Q)

    @classmethod
    def of_model(cls, model: Model, problem: Problem) -> Basis | None:
        """The scales that a model was trained with, if there were any and its inputs are alike."""
        if SCALES not in model.origin or model.feature_names != problem.feature_names:
            return None
        with suppress(ValueError):
            s = check_vectors(model.origin[SCALES], "(d,)", SCALES)  # a file may hold anything
            is_whole = s.shape == (problem.topology.n_inputs,) and np.isfinite(s).all()
            return cls.scaled(s) if is_whole and (s > 0).all() else None
        return None

    @property
    def costs(self) -> Array | None:
        """What a weight of each ordinary input (d,) costs of the ridge, if that is not 1."""
        return None if self.scales is None else 1 / self.scales**2

    @one_blas_thread()
    def data(self, data: Dataset) -> Dataset:
        """The same samples."""
        return replace(data, X=data.X @ self.to)

    def problem(self, problem: Problem) -> Problem:
        """The same problem, whose networks have no units to tell of."""
        net, r = problem.topology, self.to.shape[1]
        parts: dict[str, Any] = {"train": self.data(problem.train)}
        for name in ("validation", "test"):
            given = getattr(problem, name)
            parts[name] = None if given is None else self.data(given)
        return replace(
            problem,
            topology=Topology((r, *net.sizes[1:]), net.activation),
            inputs=Scaling.identity(r),
            feature_names=(),
            encoding=None,
            **parts,
        )

    def folded(self, theta: Array, hidden: Sequence[int]) -> Array:
        """Parameters (..., D) of a network for ordinary inputs."""
        return _changed(theta, hidden[0], self.to.T)

    def unfolded(self, theta: Array, hidden: Sequence[int]) -> Array:
        """The reverse."""
        return _changed(theta, hidden[0], self.inverse)

    def record(self, record: RunRecord, problem: Problem) -> RunRecord:
        """The record of a training in this basis as one of the problem with ordinary inputs."""
        hidden, own = problem.topology.hidden, problem.topology

        def model(found: Model) -> Model:
            sizes = (own.n_inputs, *found.topology.sizes[1:])
            known = {} if self.scales is None else {SCALES: self.scales.tolist()}
            return replace(
                found,
                topology=Topology(sizes, own.activation),
                theta=self.folded(found.theta, found.topology.hidden),
                inputs=problem.inputs,
                feature_names=problem.feature_names,
                encoding=problem.encoding,
                origin={**found.origin, **known},
            )

        return replace(
            record,
            theta=self.folded(record.theta, hidden),
            model=None if record.model is None else model(record.model),
            members=tuple(map(model, record.members)),
            founds=tuple(
                replace(found, theta=self.folded(found.theta, hidden)) for found in record.founds
            ),
        )


@one_blas_thread()
def _changed(theta: Array, n: int, change: Array) -> Array:
    """The weights of n neurons of the first layer times a matrix, whose biases stay."""
    rows, columns = change.shape
    first = theta[..., : n * (rows + 1)].reshape(*theta.shape[:-1], n, rows + 1)
    changed = np.concatenate([first[..., :-1] @ change, first[..., -1:]], axis=-1)
    flat = changed.reshape(*theta.shape[:-1], n * (columns + 1))
    return np.concatenate([flat, theta[..., n * (rows + 1) :]], axis=-1)


def scales_of(thetas: Array, n_inputs: int, hidden: Sequence[int]) -> Array:
    """Scales (d,) of inputs, as large as the weights that networks (n, D) give them."""
    first = thetas[:, : hidden[0] * (n_inputs + 1)].reshape(-1, n_inputs + 1)[:, :-1]
    sizes = np.sqrt(np.mean(first**2, axis=0))
    s = np.maximum(sizes / max(sizes.max(), np.finfo(float).tiny), LEAST)
    return s / np.sqrt(np.mean(s**2))
