"""Problems of control, beside their slow twins."""

import pickle

import numpy as np
import pytest

from symbreak import Topology, evolve
from symbreak.control import CONTROL, control_fitness
from symbreak.objectives._network import Network
from tests.reference_control import acrobot_episode, pole_episode, swing_up_episode

TWINS = {
    "double-pole": lambda policy: pole_episode(policy, (0.5, 0.05), 100_000),
    "double-pole-long": lambda policy: pole_episode(policy, (0.5, 0.25), 100_000),
    "swing-up": swing_up_episode,
    "acrobot": acrobot_episode,
}
UNBIASED = Topology((6, 6, 1), outputs="searched", biases=False)


@pytest.mark.parametrize(("hidden", "activation"), [((3,), "tanh"), ((4, 3), "relu")])
@pytest.mark.parametrize("name", CONTROL)
def test_a_compiled_problem_is_its_slow_twin(name, activation, hidden):
    sizes = (len(CONTROL[name].inputs), *hidden, 1)
    net = Topology(sizes, activation, outputs="searched")
    fitness = control_fitness(name, topology=net)
    thetas = np.random.default_rng(1).normal(size=(4, net.dim))
    costs = fitness(thetas)
    for theta, cost in zip(thetas, costs, strict=True):
        network = Network(theta, net, fitness._inputs)
        states, twin = TWINS[name](lambda seen, network=network: network(seen)[0])
        assert cost == pytest.approx(twin, rel=1e-6)
        assert np.allclose(CONTROL[name].episode(theta, net)[:100], states[:100], atol=1e-6)


def test_the_model_of_a_controller_sees_states_as_they_are():
    record = evolve("double-pole", UNBIASED, max_evaluations=2000, seed=1)
    assert (record.stopped, record.fitness) == ("target", 1.0)
    _, cost = pole_episode(
        lambda state: float(record.model.predict(state[None])[0]), (0.5, 0.05), 500
    )
    assert cost == 1.0  # it balances as long as it was let


def test_every_problem_can_be_brought_near_its_goal():
    for name, most in {"double-pole-long": 2000, "swing-up": 0.5, "acrobot": 90}.items():
        assert evolve(name, max_evaluations=1500).fitness <= most


def test_a_problem_of_control_goes_to_other_processes_whole():
    for control in CONTROL.values():
        theta = np.zeros((1, 9 if len(control.inputs) == 5 else 10))
        net = Topology((len(control.inputs), 1, 1), outputs="searched")
        network = Network(theta[:, : net.dim], net)
        assert pickle.loads(pickle.dumps(control))(network) == control(network)


def test_unknown_names_and_networks_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="double-pole"):
        evolve("double-poles")
    with pytest.raises(ValueError, match="6 inputs and 1 output"):
        evolve("double-pole", Topology((5, 3, 1)))
    acrobot, small = CONTROL["acrobot"], Topology((1, 2, 1), outputs="searched")
    for call in (
        lambda: acrobot(Network(np.zeros((1, small.dim)), small)),
        lambda: acrobot.episode(np.zeros(small.dim), small),
        lambda: acrobot.episode(np.zeros(14), Topology((6, 2, 1))),
    ):  # compiled code would read, and write, beyond its arrays
        with pytest.raises(ValueError, match="acrobot have 6 inputs and 1 output"):
            call()
