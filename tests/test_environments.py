"""Environments of Gymnasium as a fitness."""

import pickle

import numpy as np
import pytest

from symbreak import Topology, evolve
from symbreak.environments import Environment, environment_fitness
from symbreak.models import Model
from symbreak.objectives._network import Network

gymnasium = pytest.importorskip("gymnasium")
KNOWN = {
    "CartPole-v1": (4, 2),
    "Acrobot-v1": (6, 3),
    "Pendulum-v1": (3, 1),
    "MountainCarContinuous-v0": (2, 1),
    "FrozenLake-v1": (16, 4),
}


@pytest.mark.parametrize("name", KNOWN)
def test_networks_of_any_weights_act_within_bounds(name):
    fitness = environment_fitness(name, episodes=1)
    environment = Environment(name)
    assert (environment.n_inputs, environment.n_outputs) == KNOWN[name]
    theta = np.random.default_rng(0).normal(0, 10, size=fitness.topology.dim)
    network = Network(theta, fitness.topology)
    seen, _ = environment.env.reset(seed=1)
    for _ in range(20):
        action = environment.action(network(environment.observation(seen)))
        assert environment.env.action_space.contains(action)
        seen, *_, over, _, _ = environment.env.step(action)
        if over:
            break
    assert np.isfinite(fitness(theta[None])).all()


def test_an_environment_is_solved_and_its_scaling_kept_in_the_model(tmp_path):
    record = evolve("CartPole-v1", hidden=(4,), max_evaluations=400, seed=1)
    assert record.stopped == "target"
    assert record.fitness > 300
    record.model.save(tmp_path / "policy.json")
    model = Model.load(tmp_path / "policy.json")
    scaling = Environment("CartPole-v1").scaling()
    assert np.allclose(model.inputs.mean, scaling.mean)
    assert np.allclose(model.inputs.scale, scaling.scale)
    assert (scaling.scale < 1).all()
    assert Environment("CartPole-v1")(lambda seen: model.predict(seen[None])[0], 5) >= 100


def make():
    return gymnasium.make("Pendulum-v1", max_episode_steps=30)


def test_a_function_that_makes_an_environment_will_do_in_any_process():
    environment = Environment(make)
    net = Topology((3, 2, 1), outputs="searched")
    network = Network(np.full(net.dim, 0.3), net)
    again = pickle.loads(pickle.dumps(environment))
    assert again(network, 4) == environment(network, 4) != environment(network, 5)


def test_what_is_no_environment_or_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="no environment 'CartPoles-v1'"):
        evolve("CartPoles-v1")
    with pytest.raises(ValueError, match="4 inputs and 2 outputs"):
        evolve("CartPole-v1", Topology((3, 2, 1)))
    with pytest.raises(ValueError, match="Box or Discrete"):
        Environment(lambda: gymnasium.make("Blackjack-v1"))
