"""Environments of Gymnasium as a fitness: the mean return of episodes, higher is better.

It needs the extra ``symbreak[control]``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symbreak._support.checks import Array, check_text, shown
from symbreak._support.words import how_to_install
from symbreak.objectives import Fitness
from symbreak.objectives._fitness import networks_for
from symbreak.objectives._network import Network
from symbreak.problems import Scaling
from symbreak.topology import Topology

__all__ = ["environment_fitness"]

#: Observations that the scaling is taken from, seen by actions drawn at random.
SEEN = 2_000
#: Episodes that a network is judged by in a generation.
EPISODES = 3


class Environment:
    """An environment: call it with a ``Network`` and a seed for the return of an episode.

    Observations are a box, flattened, or a number, as one input for each of its values. Of discrete
    actions the one with the largest output is taken; those of a bounded box are ``tanh`` of the
    outputs, brought to its bounds.

    Args:
        make: Its name, such as ``"Acrobot-v1"``, or a function that makes it.

    Attributes:
        name: What to call it.
        n_inputs: Numbers that a network sees.
        n_outputs: Numbers that it says.
        threshold: Return at which it counts as solved, or None.
    """

    def __init__(self, make: str | Callable[[], Any]) -> None:
        try:
            import gymnasium
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"environments need gymnasium: {how_to_install('control')}", name="gymnasium"
            ) from error
        if not callable(make):
            check_text("environment", make)
        self._make = make
        self._env: Any = None
        try:
            env = self.env
        except gymnasium.error.Error as error:
            raise ValueError(f"there is no environment {shown(make)}: {error}") from None
        spaces, spec = gymnasium.spaces, env.spec
        self.name = make if isinstance(make, str) else str(getattr(spec, "id", type(env).__name__))
        self.threshold = getattr(spec, "reward_threshold", None)
        seen, done = env.observation_space, env.action_space
        for space, what in ((seen, "observations"), (done, "actions")):
            if not isinstance(space, spaces.Box | spaces.Discrete):
                raise ValueError(f"{what} of {self.name} must be Box or Discrete, got {space}.")
        # In attributes, since wrappers look for their spaces in what they wrap, every time.
        self._levels = int(seen.n) if isinstance(seen, spaces.Discrete) else 0
        self._first_level = int(seen.start) if self._levels else 0
        self.n_inputs = self._levels or int(np.prod(seen.shape))
        self._first_action = int(done.start) if isinstance(done, spaces.Discrete) else None
        if self._first_action is not None:
            self.n_outputs = int(done.n)
            return
        self.n_outputs, self._shape, self._kind = int(np.prod(done.shape)), done.shape, done.dtype
        low, high = done.low.astype(np.float64), done.high.astype(np.float64)
        self._bounded = np.isfinite(low) & np.isfinite(high)
        self._low, self._high = low, high
        self._half = np.where(self._bounded, high - low, 0) / 2

    @property
    def env(self) -> Any:
        """The environment, made when it is first needed: other processes make their own."""
        if self._env is None:
            import gymnasium

            make = self._make
            self._env = gymnasium.make(make) if isinstance(make, str) else make()
        return self._env

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_env": None}

    def __call__(self, network: Network, seed: int) -> float:
        """The return of an episode."""
        env = self.env
        seen, _ = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            action = self.action(network(self.observation(seen)))
            seen, reward, ended, cut, _ = env.step(action)
            total, over = total + float(reward), ended or cut
        return total

    def observation(self, seen: Any) -> Array:
        """What a network sees of an observation."""
        if self._levels:
            return np.eye(self._levels)[int(seen) - self._first_level]
        return np.asarray(seen, dtype=np.float64).ravel()

    def action(self, said: Array) -> Any:
        """The action for what a network says (q,)."""
        if self._first_action is not None:
            return int(said.argmax()) + self._first_action
        said = said.reshape(self._shape)
        inside = self._low + self._half * (np.tanh(said) + 1)
        if not self._bounded.all():
            inside = np.where(self._bounded, inside, np.clip(said, self._low, self._high))
        return inside.astype(self._kind)

    def scaling(self) -> Scaling:
        """Mean and deviation of observations, seen by random actions; 0 and 1 where there are few.

        It is the same whenever it is asked for.
        """
        if self._levels:
            return Scaling(np.zeros(self.n_inputs), np.ones(self.n_inputs))
        env, episode = self.env, 0
        rows: list[Array] = []
        env.action_space.seed(0)
        while len(rows) < SEEN:
            seen, _ = env.reset(seed=episode)
            over, episode = False, episode + 1
            while not over and len(rows) < SEEN:
                rows.append(self.observation(seen))
                seen, _, ended, cut, _ = env.step(env.action_space.sample())
                over = ended or cut
        table = np.array(rows)
        deviation = table.std(axis=0)
        return Scaling(table.mean(axis=0), np.where(deviation > 1e-6, deviation, 1.0))


def environment_fitness(
    make: str | Callable[[], Any] | Environment,
    /,
    hidden: Sequence[int] | None = None,
    *,
    topology: Topology | None = None,
    activation: str = "tanh",
    biases: bool = True,
    **options: Any,
) -> Fitness:
    """The fitness of an environment, averaged over ``EPISODES`` episodes.

    Args:
        make: Its name, such as ``"Acrobot-v1"``, or a function that makes it.
        hidden: Sizes of hidden layers; one of 8 by default.
        topology: Of the networks, instead of ``hidden``, ``activation`` and ``biases``.
        activation: Of hidden neurons.
        biases: Whether there are any.
        **options: Of ``Fitness``, such as ``episodes``, or a ``target`` other than the
            environment's own.
    """
    environment = make if isinstance(make, Environment) else Environment(make)
    name, usual = environment.name, (environment.n_inputs, 8, environment.n_outputs)
    net = networks_for(name, usual, hidden, topology, activation=activation, biases=biases)
    own = {"target": environment.threshold, "inputs": environment.scaling()}
    own |= {"noisy": True, "maximize": True, "episodes": EPISODES, "name": name}
    return Fitness(environment, net, **{**own, **options})
