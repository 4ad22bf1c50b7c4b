"""What the optimizer tests share: a cheap test function and the slow twins' breakings."""

from __future__ import annotations

import numpy as np

from symbreak import METHODS, Topology
from symbreak.symmetry import (
    ExhaustiveBreaking,
    InvariantBreaking,
    NoBreaking,
    ProximityBreaking,
)
from tests import reference_symmetry

NET = Topology.parse("2-2-1-2-1")


def landscape(population):
    """A cheap function with the symmetries of the network."""
    population = np.atleast_2d(population)
    total = np.zeros(len(population))
    for weight, layer in enumerate(NET.layers(population), start=1):
        total += weight * np.sum((np.abs(layer) - 0.3) ** 2, axis=(1, 2))
    return total + np.abs(np.prod(NET.layers(population)[0], axis=2)).sum(axis=1)


def family(name):
    return [method for method, row in METHODS.items() if row.family == name]


def twin_breaking(method, rng):
    """``break_all(population, anchor)`` by slow twins, which draw from ``rng`` as the fast one."""
    kind = METHODS[method].breaking
    sizes = NET.sizes

    def break_all(population, anchor):
        moved, modified = population.copy(), np.zeros(len(population), dtype=bool)
        uniforms = None
        if kind is ProximityBreaking:
            uniforms = [rng.random((len(population), 2)) if n > 1 else None for n in NET.hidden]
        for i, theta in enumerate(population):
            if kind is InvariantBreaking:
                moved[i] = reference_symmetry.rule_2(reference_symmetry.rule_1(theta, sizes), sizes)
            elif kind is ExhaustiveBreaking:
                moved[i] = reference_symmetry.nearest_replica(theta, anchor, sizes)
            elif uniforms is not None:
                pairs = [
                    None if u is None else reference_symmetry.distinct_pair(n, *u[i])
                    for n, u in zip(NET.hidden, uniforms, strict=True)
                ]
                moved[i], _ = reference_symmetry.algorithm_1(theta, anchor, sizes, pairs)
            elif METHODS[method].breaking(NET).name == "sweeps":
                moved[i] = reference_symmetry.assignment_sweeps(theta, anchor, sizes)
            else:
                assert kind is NoBreaking
            modified[i] = np.any(moved[i] != theta)
        return moved, modified

    return break_all
