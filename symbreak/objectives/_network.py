"""A complete network as a fitness sees it: a function of observations."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from symbreak import network
from symbreak._kernels import _TANH, _tanh, activate
from symbreak._support.checks import Array, IntArray
from symbreak._support.compile import compiled, inlined
from symbreak.problems import Scaling
from symbreak.topology import Topology


class Network:
    """A complete network to be judged, or n of them; light enough to be called in a loop.

    ``network(observation)`` takes (d,) to an action (q,), or (K, d) to (K, q); n networks take
    (n, d), one observation each, to (n, q). Actions are weighted sums, with no bounds of their own.

    Attributes:
        theta: Its parameters (D,), or those of n networks (n, D).
    """

    def __init__(self, theta: Array, topology: Topology, inputs: Scaling | None = None) -> None:
        self.theta, self.topology, self._inputs = theta, topology, inputs

    @cached_property
    def _compiled(self) -> tuple[IntArray, int, bool] | None:
        """What compiled code needs besides the parameters of one network; None if there are n."""
        net = self.topology
        if self.theta.ndim != 1:
            return None
        if (net.outputs, self.theta.shape) != ("searched", (net.dim,)):  # it would read beyond
            raise ValueError(
                f"a network needs a topology with outputs='searched' and its {net.dim} "
                f"parameters, got {net!r} and shape {self.theta.shape}."
            )
        return np.array(net.sizes), net.activation.code, net.biases

    def __call__(self, observation: ArrayLike) -> Array:
        """The action for an observation."""
        a = np.asarray(observation, dtype=np.float64)
        if a.shape[-1:] != (self.topology.sizes[0],):
            raise ValueError(
                f"an observation must have shape (d,) = ({self.topology.n_inputs},) for a "
                f"{self.topology} network, got {a.shape}."
            )
        if self._inputs is not None:
            a = (a - self._inputs.mean) / self._inputs.scale
        if a.ndim == 1 and self._compiled is not None:  # a third of the time
            return _said(self.theta, *self._compiled, a)
        if self.theta.ndim == 1:
            return network.outputs(self.theta, self.topology, a)
        return network.outputs(self.theta, self.topology, a[:, None])[:, 0]


@compiled(error_model="numpy")
def _said(theta: Array, sizes: IntArray, activation: int, biases: bool, seen: Array) -> Array:
    x, y = np.empty(sizes.max()), np.empty(sizes.max())
    for i in range(len(seen)):
        x[i] = seen[i]
    return outputs(theta, sizes, activation, biases, x, y)[: sizes[-1]]


@inlined
def outputs(
    theta: Array, sizes: IntArray, activation: int, biases: bool, x: Array, y: Array
) -> Array:
    """The array that outputs end up in, for the input in ``x``: ``x`` or ``y``, both scratch."""
    p, last = 0, len(sizes) - 1
    for h in range(1, last + 1):
        fan_in, n_neurons = sizes[h - 1], sizes[h]
        for n in range(n_neurons):
            z = 0.0
            for i in range(fan_in):
                z += theta[p + i] * x[i]
            p += fan_in
            if biases:
                z += theta[p]
                p += 1
            y[n] = z
        if h < last and activation == _TANH:
            for n in range(n_neurons):
                y[n] = _tanh(y[n])
        elif h < last:
            activate(y[:n_neurons], activation)
        x, y = y, x
    return x
