"""torch-levenberg-marquardt as a contestant: all weights, from PyTorch's own random starts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from _timing import Array
from _watch import Watch
from torch_levenberg_marquardt.training import LevenbergMarquardtModule

from symbreak import Problem

#: A start ends when so many steps together have lowered the loss by less than this part.
STEPS, PART = 10, 1e-6


def torch_levenberg_marquardt(problem: Problem, seed: int, watch: Watch) -> None:
    """One start with the whole training set in each step."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    X, y = torch.from_numpy(problem.train.X), torch.from_numpy(problem.train.y)
    model = network(problem)
    trainer = LevenbergMarquardtModule(model, solve_method="solve")
    losses: list[float] = []
    stop = False
    while not stop:
        _, loss, stop, _ = trainer.training_step(X, y)
        losses.append(float(loss))
        watch.see_network(theta_of(model))
        stop |= len(losses) > STEPS and not losses[-1] < (1 - PART) * losses[-1 - STEPS]


def network(problem: Problem) -> torch.nn.Sequential:
    *hidden, last = list(pairwise(problem.topology.sizes))
    layers: list[torch.nn.Module] = []
    for n_inputs, n in hidden:
        layers += [torch.nn.Linear(n_inputs, n), torch.nn.Tanh()]
    layers.append(torch.nn.Linear(*last, bias=problem.output_shift))
    return torch.nn.Sequential(*layers).double()


def theta_of(model: torch.nn.Sequential) -> Array:
    """Its hidden layers, as symbreak has them."""
    linear = [layer for layer in model if isinstance(layer, torch.nn.Linear)][:-1]
    rows = [torch.column_stack([layer.weight, layer.bias]).detach().numpy() for layer in linear]
    return np.concatenate([row.ravel() for row in rows])
