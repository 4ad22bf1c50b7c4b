"""Problems of control, simulated in compiled code: a network sees a state and acts on it.

Costs are positive, lower is better, and a run stops at a problem's goal. Actions are
``tanh`` of what the network says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from symbreak._kernels import _tanh
from symbreak._support.checks import Array, IntArray, check_count, check_theta, unknown
from symbreak._support.compile import compiled, inlined, notice_of_compilation
from symbreak.objectives import Fitness
from symbreak.objectives._fitness import networks_for
from symbreak.objectives._network import Network, outputs
from symbreak.problems import Scaling
from symbreak.topology import Topology

__all__ = ["control_fitness"]

_BALANCE, _SWING_UP, _ACROBOT = range(3)

#: Of the cart and its poles (Gomez, Schmidhuber & Miikkulainen, 2008), in SI units.
GRAVITY, CART, FORCE = 9.8, 1.0, 10.0
CART_FRICTION, POLE_FRICTION = 0.0005, 0.000002
TRACK, LARGEST_ANGLE = 2.4, math.radians(36)
#: Of the acrobot (Sutton, 1996): bounds of its velocities; masses and lengths are 1.
MAX_SPEEDS = (4 * math.pi, 9 * math.pi)
#: What an acrobot that never gets there pays for each unit of height that it lacks, in steps.
PER_HEIGHT = 100.0

_compiled = compiled(error_model="numpy")


class _Net(NamedTuple):
    """A topology for compiled code."""

    sizes: IntArray
    activation: int
    biases: bool


class _Task(NamedTuple):
    """A problem for compiled code; a pole is given by half its length and by its mass."""

    kind: int
    start: Array
    scale: Array
    steps: int
    seconds: float
    substeps: int
    lengths: Array
    masses: Array


@dataclass(frozen=True, eq=False)
class Control:
    """A problem of control: call it with ``Network``s for their costs.

    Attributes:
        name: What to call it.
        description: A line for tables and reports.
        states: Names of the numbers of a state.
        inputs: Names of the numbers that a network sees.
        goal: Cost at which it is solved.
        hidden: Sizes of hidden layers that will do.
        task: The same for compiled code.
    """

    name: str
    description: str
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    goal: float
    hidden: tuple[int, ...]
    task: _Task

    @property
    def step(self) -> float:
        """Seconds between two actions."""
        return self.task.seconds * self.task.substeps

    def __call__(self, networks: Network) -> Array:
        """Costs (n,)."""
        net = self._net(networks.topology)
        with notice_of_compilation(_costs):
            return _costs(np.atleast_2d(networks.theta), net, self.task)

    def episode(self, theta: Array, topology: Topology, steps: int = 1000) -> Array:
        """States (T, n) of a network (D,), one before each action; fewer if it ends early."""
        steps = min(check_count("steps", steps, 1), self.task.steps)
        states = np.full((steps, len(self.states)), np.nan)
        net, theta = self._net(topology), check_theta(theta, topology.dim)
        with notice_of_compilation(_episode):
            _episode(theta, net, self.task, states)
        return states[: np.count_nonzero(~np.isnan(states[:, 0]))]

    def _net(self, topology: Topology) -> _Net:
        """A topology that fits, since compiled code would read beyond one that does not."""
        n, sizes = len(self.inputs), topology.sizes
        if (sizes[0], sizes[-1], topology.outputs) != (n, 1, "searched"):
            raise ValueError(
                f"networks for {self.name} have {n} inputs and 1 output, such as "
                f"Topology(({n}, 6, 1), outputs='searched'), got {topology!r}."
            )
        return _Net(np.array(sizes), topology.activation.code, topology.biases)


def _cart(kind: int, angle: float, poles: dict[float, float], steps: int, scale: Any) -> _Task:
    """A cart at rest, its first pole at an angle; poles by their half lengths, with masses."""
    start = np.zeros(2 + 2 * len(poles))
    start[2] = angle
    lengths, masses = np.array(list(poles)), np.array(list(poles.values()))
    seconds, substeps = (0.01, 2) if kind == _BALANCE else (0.02, 1)
    return _Task(kind, start, np.array(scale), steps, seconds, substeps, lengths, masses)


def _double_pole(name: str, length: int, about: str) -> Control:
    """Balancing a pole of 1 m and one of so many cm, whose masses are as their lengths."""
    poles = {0.5: 0.1, length / 200: length / 1000}
    scales = (2.4, 1.5, 0.6283, 2.0, 0.6283, 2.0)
    states = ("x", "x'", "angle 1", "angle 1'", "angle 2", "angle 2'")
    text = f"two poles on a cart, of 1 m and {length} cm, {about}"
    text += ": 100,000 / steps that the poles stay up"
    task = _cart(_BALANCE, math.radians(4), poles, 100_000, scales)
    return Control(name, text, states, states, 1.0, (6,), task)


_SWINGING = np.array([1.0, 1.0, 1.0, 1.0, *MAX_SPEEDS])
#: The problems by name.
CONTROL: dict[str, Control] = {
    row.name: row
    for row in (
        _double_pole("double-pole", 10, "with velocities"),
        _double_pole("double-pole-long", 50, "hard to tell apart"),
        Control(
            "swing-up",
            "a hanging pole on a cart, to be swung up and held for 10 s: mean lack of height",
            ("x", "x'", "angle", "angle'"),
            ("x", "x'", "cos angle", "sin angle", "angle'"),
            0.12,
            (8,),
            _cart(_SWING_UP, math.pi, {0.5: 0.1}, 500, (2.4, 1.5, 1.0, 1.0, 2.0)),
        ),
        Control(
            "acrobot",
            "two links swung by a torque between them: steps until the tip is high enough",
            ("angle 1", "angle 2", "angle 1'", "angle 2'"),
            ("cos angle 1", "sin angle 1", "cos angle 2", "sin angle 2", "angle 1'", "angle 2'"),
            66.0,
            (8,),
            _Task(_ACROBOT, np.zeros(4), _SWINGING, 500, 0.2, 1, *np.empty((2, 0))),
        ),
    )
}


def control_fitness(
    name: str,
    /,
    hidden: Sequence[int] | None = None,
    *,
    topology: Topology | None = None,
    activation: str = "tanh",
    biases: bool = True,
    **options: Any,
) -> Fitness:
    """The fitness of a problem of control by name.

    Args:
        name: In ``CONTROL``.
        hidden: Sizes of hidden layers; the problem's own by default.
        topology: Of the networks, instead of ``hidden``, ``activation`` and ``biases``.
        activation: Of hidden neurons.
        biases: Whether there are any.
        **options: Of ``Fitness``, such as a ``target`` or an ``executor``.
    """
    if name not in CONTROL:
        raise unknown("problem of control", name, CONTROL)
    control = CONTROL[name]
    usual = (n := len(control.inputs), *control.hidden, 1)
    net = networks_for(name, usual, hidden, topology, activation=activation, biases=biases)
    own = {"target": control.goal, "inputs": Scaling(np.zeros(n), control.task.scale)}
    own |= {"name": name, "description": control.description, "vectorized": True}
    return Fitness(control, net, **{**own, **options})


@_compiled
def _costs(thetas: Array, net: _Net, task: _Task) -> Array:
    costs, no_states = np.empty(len(thetas)), np.empty((0, 0))
    for i in range(len(thetas)):
        costs[i] = _episode(thetas[i], net, task, no_states)
    return costs


@_compiled
def _episode(theta: Array, net: _Net, task: _Task, states: Array) -> float:
    """The cost of a network; states (T, n) are written down as far as there is room."""
    s, work = task.start.copy(), np.empty((5, len(task.start)))
    x, y = np.empty(net.sizes.max()), np.empty(net.sizes.max())
    lost, highest = 0.0, -2.0
    for t in range(task.steps):
        if t < len(states):
            for i in range(len(s)):
                states[t, i] = s[i]
        _observe(s, task, x)
        u = _tanh(outputs(theta, net.sizes, net.activation, net.biases, x, y)[0])
        for _ in range(task.substeps):
            _advance(s, u, task, work)
        if task.kind == _ACROBOT:
            height = -math.cos(s[0]) - math.cos(s[0] + s[1])
            highest = max(highest, height)
            if height > 1:
                return t + 1.0
        elif task.kind == _SWING_UP:
            if not abs(s[0]) <= TRACK:
                return (lost + task.steps - t) / task.steps
            lost += (1 - math.cos(s[2])) / 2
        elif _has_fallen(s):
            return task.steps / (t + 1.0)
    if task.kind == _ACROBOT:
        return task.steps + PER_HEIGHT * (1 - highest)
    return lost / task.steps if task.kind == _SWING_UP else 1.0


@inlined
def _has_fallen(s: Array) -> bool:
    fallen = not abs(s[0]) <= TRACK  # NaN has fallen, too
    for i in range(2, len(s), 2):
        fallen |= not abs(s[i]) <= LARGEST_ANGLE
    return fallen


@inlined
def _observe(s: Array, task: _Task, x: Array) -> None:
    """What a network sees of a state, scaled."""
    if task.kind == _BALANCE:
        for i in range(len(s)):
            x[i] = s[i]
    elif task.kind == _SWING_UP:
        x[0], x[1], x[2], x[3], x[4] = s[0], s[1], math.cos(s[2]), math.sin(s[2]), s[3]
    else:
        x[0], x[1], x[2], x[3] = math.cos(s[0]), math.sin(s[0]), math.cos(s[1]), math.sin(s[1])
        x[4], x[5] = s[2], s[3]
    for i in range(len(task.scale)):
        x[i] /= task.scale[i]


@_compiled
def _advance(s: Array, u: float, task: _Task, work: Array) -> None:
    """A step of Runge and Kutta's method of fourth order, in place.

    As a loop, and with all but this one inlined, it takes 40 % of the time.
    """
    at = work[4]
    for i in range(len(s)):
        at[i] = s[i]
    for stage in range(4):
        if task.kind == _ACROBOT:
            _links(at, u, work[stage])
        else:
            _poles(at, FORCE * u, task.lengths, task.masses, work[stage])
        step = task.seconds / (1 if stage == 2 else 2)
        for i in range(len(s)):
            at[i] = s[i] + step * work[stage, i]
    for i in range(len(s)):
        s[i] += task.seconds / 6 * (work[0, i] + 2 * work[1, i] + 2 * work[2, i] + work[3, i])
    if task.kind == _ACROBOT:
        for i in range(2):
            s[2 + i] = min(max(s[2 + i], -MAX_SPEEDS[i]), MAX_SPEEDS[i])


@inlined
def _poles(s: Array, force: float, lengths: Array, masses: Array, out: Array) -> None:
    """A cart with poles (Wieland, 1991): ``s`` is x, x', then each angle and its velocity."""
    pull, mass = force - CART_FRICTION * np.sign(s[1]), CART
    for i in range(len(lengths)):
        angle, speed = s[2 + 2 * i], s[3 + 2 * i]
        m, ml, cos, sin = masses[i], masses[i] * lengths[i], math.cos(angle), math.sin(angle)
        torque = POLE_FRICTION * speed / ml - GRAVITY * sin
        pull += ml * speed**2 * sin + 0.75 * m * cos * torque
        mass += m * (1 - 0.75 * cos**2)
        out[2 + 2 * i], out[3 + 2 * i] = cos, torque  # until the acceleration is known
    out[0], out[1] = s[1], pull / mass
    for i in range(len(lengths)):
        cos, torque = out[2 + 2 * i], out[3 + 2 * i]
        out[2 + 2 * i] = s[3 + 2 * i]
        out[3 + 2 * i] = -0.75 * (out[1] * cos + torque) / lengths[i]


@inlined
def _links(s: Array, torque: float, out: Array) -> None:
    """Two links of mass, length and inertia 1 (Sutton, 1996); angle 0 hangs down."""
    cos, sin = math.cos(s[1]), math.sin(s[1])
    d1 = 3.5 + cos
    d2 = 1.25 + 0.5 * cos
    phi2 = 0.5 * GRAVITY * math.sin(s[0] + s[1])
    phi1 = -0.5 * sin * s[3] * (s[3] + 2 * s[2]) + 1.5 * GRAVITY * math.sin(s[0]) + phi2
    bend = torque + d2 / d1 * phi1 - 0.5 * s[2] ** 2 * sin - phi2
    out[0], out[1] = s[2], s[3]
    out[3] = bend / (1.25 - d2**2 / d1)
    out[2] = -(d2 * out[3] + phi1) / d1
