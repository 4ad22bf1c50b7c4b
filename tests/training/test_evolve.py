"""Networks evolved against any fitness."""

import contextlib
import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from symbreak import Model, Run, Topology, evolve
from symbreak._activations import ACTIVATIONS
from symbreak._support.state import load_state, save_state
from symbreak._support.workers import WorkerProcesses
from symbreak.objectives import Fitness
from symbreak.objectives._network import Network
from symbreak.optimizers import CMAES
from symbreak.problems import Scaling
from symbreak.symmetry import AssignmentBreaking
from symbreak.training import _evolve

NET = Topology((2, 3, 1), outputs="searched")
X = np.random.default_rng(0).normal(size=(10, 2))


def loss(network):
    return float(np.mean((network(X)[:, 0] - X[:, 0]) ** 2))


def reward(network):
    return -loss(network)


def population_loss(networks):
    outputs = np.array([networks(np.tile(x, (len(networks.theta), 1)))[:, 0] for x in X])
    return np.mean((outputs - X[:, :1]) ** 2, axis=0)


def noisy_sphere(network, seed):
    return float(np.sum(network.theta**2) + np.random.default_rng(seed).normal())


@pytest.mark.parametrize("net", [NET, Topology((2, 3, 1), outputs="searched", biases=False)])
def test_the_model_of_a_run_computes_what_was_judged(net, tmp_path):
    record = evolve(loss, net, max_evaluations=300)
    record.model.save(tmp_path / "policy.json")
    model = Model.load(tmp_path / "policy.json")
    assert np.mean((model.predict(X) - X[:, 0]) ** 2) == pytest.approx(record.fitness, rel=1e-9)
    assert record.model.origin["fitness"] == record.fitness


@pytest.mark.parametrize("method", ["auto", "CMA-ES-IPOP-SB-LA", "DE", "DE-SB-LA", "CMA-ES-SB"])
def test_a_reward_is_maximised_as_its_negative_is_minimised(method):
    options = {"max_evaluations": 600, "population_size": 20}
    down = evolve(loss, NET, method, **options)
    up = evolve(reward, NET, method, maximize=True, **options)
    assert up.fitness == -down.fitness
    assert np.array_equal(up.theta, down.theta)
    assert "higher is better" in repr(up)


def test_a_vectorised_fitness_is_that_of_each_network():
    thetas = np.random.default_rng(1).normal(size=(5, NET.dim))
    each = Fitness(loss, NET)(thetas)
    assert np.allclose(Fitness(population_loss, NET, vectorized=True)(thetas), each)


@pytest.mark.parametrize("workers", [1, 3])
def test_an_executor_changes_nothing(workers):
    alone = evolve(loss, NET, max_evaluations=200)
    with ThreadPoolExecutor(workers) as executor:
        shared = evolve(loss, NET, max_evaluations=200, executor=executor)
    assert np.array_equal(alone.theta, shared.theta)
    assert np.array_equal(alone.errors, shared.errors)


def test_a_run_stops_at_its_target():
    record = evolve(reward, NET, maximize=True, target=-0.9)
    assert record.stopped == "target"
    assert record.fitness >= -0.9
    assert record.n_evaluations < 100_000


def test_callbacks_see_the_fitness_in_its_own_sign():
    seen = []
    evolve(reward, NET, maximize=True, max_evaluations=60, callback=seen.append)
    assert all(progress.error <= 0 for progress in seen)
    assert seen[-1].in_words.startswith("fitness -")


def test_all_networks_of_a_generation_get_the_same_seed_and_the_next_one_another():
    seeds = []
    judged = Fitness(lambda network, seed: seeds.append(seed) or 0.0, NET, noisy=True)
    for value in (0.1, 0.2):
        judged(np.full((4, NET.dim), value))
    assert len(set(seeds[:4])) == len(set(seeds[4:])) == 1
    assert seeds[0] != seeds[4]


def test_the_champion_of_a_noisy_fitness_is_judged_on_fresh_seeds():
    record = evolve(noisy_sphere, NET, noisy=True, max_evaluations=1000)
    true = float(np.sum(record.theta**2))
    assert abs(record.fitness - true) < 6 * record.standard_error
    assert record.error < record.fitness  # the luckiest generation


class SpeechlessError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def raises(error):
    raise error


BAD = {
    "an error": (lambda: raises(ZeroDivisionError("no pole")), "ZeroDivisionError: no pole"),
    "without words": (lambda: raises(SpeechlessError), r".*SpeechlessError: <.* failed>"),
    "an exit": (lambda: sys.exit(3), "SystemExit: 3"),
    "no number": (lambda: math.nan, "not finite: nan"),
    "beyond all floats": (lambda: 10**400, "not finite: inf"),
}


@pytest.mark.parametrize("name", BAD)
def test_networks_without_a_fitness_are_counted_and_said_whatever_is_the_matter(name):
    bad, why = BAD[name]
    words = f"have no fitness and count as worst; the first one: {why}"
    with pytest.warns(UserWarning, match=words):
        record = evolve(lambda n: bad() if n.theta[0] > 0.3 else loss(n), NET, max_evaluations=200)
    assert 0 < record.n_nonfinite < record.n_evaluations
    assert np.isfinite(record.fitness)
    with pytest.warns(UserWarning, match=words):
        record = evolve(lambda network: bad(), NET, max_evaluations=30)
    assert record.n_nonfinite == record.n_evaluations
    with pytest.raises((ZeroDivisionError, SpeechlessError, SystemExit, ValueError)):
        evolve(lambda network: bad(), NET, on_error="raise")


def never_ends(network):
    while network.theta[0] > 0:
        with contextlib.suppress(Exception):
            time.sleep(60)
    return 1.0


def test_a_fitness_that_never_ends_is_timed_out_whatever_errors_it_catches():
    fitness = Fitness(never_ends, NET, timeout=1.0)
    with pytest.warns(UserWarning, match="longer than"):
        errors = fitness(np.array([[1.0], [-1.0]]) * np.ones(NET.dim))
    assert errors.tolist() == [np.inf, 1.0]


def kills(network):
    if abs(network.theta[0]) > 0:
        os._exit(3)


def test_a_fitness_that_kills_its_process_is_said():
    with WorkerProcesses(1) as executor, pytest.raises(ValueError, match="must not end them"):
        evolve(kills, NET, executor=executor, max_evaluations=60)


def changing(network):
    value = loss(network)
    network.theta[:] = 7.0
    print("judged")
    return value


def test_what_a_fitness_changes_or_prints_changes_no_run(capsys):
    changed, clean = (evolve(f, NET, max_evaluations=120) for f in (changing, loss))
    assert np.array_equal(changed.theta, clean.theta)
    assert capsys.readouterr().out.count("judged") == clean.n_evaluations


@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_network_says_of_one_observation_what_it_says_of_many(activation, biases):
    net = Topology((2, 4, 3, 2), activation, outputs="searched", biases=biases)
    inputs = Scaling(np.array([0.5, -1.0]), np.array([2.0, 3.0]))
    network = Network(np.random.default_rng(2).normal(size=net.dim), net, inputs)
    assert np.allclose([network(x) for x in X], network(X), rtol=1e-13, atol=0)


@pytest.mark.parametrize(("outputs", "size"), [("searched", 12), ("solved", 9)])
def test_a_network_that_lacks_parameters_is_refused(outputs, size):
    with pytest.raises(ValueError, match="parameters, got Topology"):
        Network(np.zeros(size), Topology((2, 3, 1), outputs=outputs))([1.0, 2.0])


@pytest.mark.parametrize("method", ["DE", "DE-SB-LA", "L-SHADE"])
def test_parents_of_a_noisy_fitness_are_judged_again_beside_their_trials(method):
    calls = {}

    def fitness(network, seed):
        calls.setdefault(seed, []).append(network.theta.tobytes())
        return noisy_sphere(network, seed)

    objective = Fitness(fitness, NET, noisy=True)
    run = Run(objective, method, max_evaluations=120, population_size=10)
    while not run.finished:
        before = run.search.parents
        before = [] if before is None else [theta.tobytes() for theta in before]
        calls.clear()
        run.step()
        assert len(calls) == 1  # one seed for all of a generation
        (judged,) = calls.values()
        assert len(judged) > len(before)
        assert not before or judged[-len(before) :] == before
    assert run.n_evaluations <= 120
    assert run.n_evaluations > 100  # parents count, too


@pytest.mark.parametrize("method", ["DE", "DE-SB-LA", "L-SHADE", "auto", "CMA-ES-IPOP-SB-LA"])
def test_the_network_that_is_kept_of_a_noisy_fitness_is_near_the_true_optimum(method):
    record = evolve(noisy_sphere, NET, method, noisy=True, max_evaluations=2500, population_size=20)
    assert np.sum(record.theta**2) < 1  # that of a network drawn at random is 4.3
    assert np.array_equal(record.model.predict(X), record.members[0].predict(X))


def test_episodes_are_averaged():
    theta = np.full((3, NET.dim), 0.1)
    one, many = (Fitness(noisy_sphere, NET, noisy=True, episodes=n) for n in (1, 400))
    assert abs(many(theta)[0] - 0.13) < 0.2
    assert one(theta)[0] != many(theta)[0]


def test_breakings_of_cma_es_go_by_the_mean_where_there_is_noise():
    anchors = []

    class Watched(AssignmentBreaking):
        def __call__(self, population, anchor, rng):
            anchors.append(anchor.copy())
            return super().__call__(population, anchor, rng)

    search = CMAES(NET.dim, population_size=10, breaking=Watched(NET))
    search.noisy = True
    mean = search.mean.copy()
    search.tell(search.ask(), np.arange(10.0))
    assert np.array_equal(anchors[0], mean)


KILLED = """
import os, signal, sys
from symbreak import evolve
from symbreak.training import _evolve
from tests.training.test_evolve import NET, noisy_sphere

_evolve.CHECKPOINT_EVERY = 0
seen = 0

def kill(progress):
    global seen
    seen += 1
    if seen == 9:
        os.kill(os.getpid(), signal.SIGKILL)

evolve(noisy_sphere, NET, sys.argv[1], noisy=True, max_evaluations=700, seed=3,
       population_size=10, checkpoint=sys.argv[2], callback=kill)
"""


@pytest.mark.parametrize("method", ["CMA-ES-IPOP", "L-SHADE-SB-LA"])
def test_a_run_that_was_killed_goes_on_to_the_same_bytes(method, tmp_path):
    file = tmp_path / "run.state"
    options = {"noisy": True, "max_evaluations": 700, "seed": 3, "population_size": 10}
    done = subprocess.run([sys.executable, "-c", KILLED, method, file], timeout=300)
    assert done.returncode == -signal.SIGKILL
    assert file.exists()
    with pytest.raises(ValueError, match="another run"):
        evolve(noisy_sphere, NET, method, checkpoint=file, **(options | {"seed": 4}))
    resumed = evolve(noisy_sphere, NET, method, checkpoint=file, **options)
    whole = evolve(noisy_sphere, NET, method, **options)
    assert not file.exists()
    assert np.array_equal(resumed.theta, whole.theta)
    assert np.array_equal(resumed.errors, whole.errors)
    assert resumed.fitness == whole.fitness


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path):
    file = tmp_path / "run.state"
    file.write_bytes(b"PK nothing")
    with pytest.raises(ValueError, match="holds no state: it is damaged, or another"):
        evolve(loss, NET, checkpoint=file)


def test_seeds_are_integers_that_any_generator_takes():
    seeds = set()

    def luck(network, seed):
        seeds.add(seed)
        return float(np.random.RandomState(seed).normal())

    record = evolve(luck, NET, noisy=True, max_evaluations=400)
    assert 0 <= min(seeds) < max(seeds) < 2**31
    assert np.isfinite([record.fitness, record.standard_error]).all()


def test_a_time_limit_that_cannot_be_kept_is_said_at_once():
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(ValueError, match="a timeout needs the main thread"),
    ):
        evolve(loss, NET, timeout=1.0, executor=executor, max_evaluations=100)


def test_a_function_that_other_processes_cannot_find_is_named_in_a_sentence():
    with (
        WorkerProcesses(1) as executor,
        pytest.raises(ValueError, match=r"cannot judge .*must be a function of a module"),
    ):
        evolve(lambda network: 1.0, NET, executor=executor, max_evaluations=100)


@pytest.mark.parametrize(
    ("fitness", "options", "match"),
    [
        (Fitness(loss, NET), {"target": 0.1}, "target cannot be given here: a Fitness brings"),
        (Fitness(loss, NET), {"topology": NET}, "topology cannot be given here: a Fitness"),
        ("acrobot", {"maximize": True}, "maximize cannot be given here: a problem by name"),
        ("acrobot", {"hidden": 5}, r"hidden must be sizes of layers, such as \(6, 4\), got 5"),
        ("acrobot", {"topology": "6-3-1"}, "topology must be a Topology"),
        ("acrobot", {"topology": NET, "hidden": (3,)}, "either a topology or hidden layers"),
        (loss, {"topology": NET, "hidden": (3,)}, "hidden cannot be given here: a function needs"),
        (loss, {"topology": NET, "target": math.nan}, "target must be a finite number"),
        (loss, {"topology": NET, "sigma": "wide"}, "sigma must be a finite number"),
        (
            loss,
            {"topology": NET, "executor": 3},
            "executor must be a concurrent",
        ),
        (loss, {}, "topology must be a Topology"),
        (3, {"topology": NET}, "fitness must be a function of a network"),
        (lambda network: [1, 2], {"topology": NET}, "one number"),
        (lambda network: "good", {"topology": NET}, "one number"),
        (lambda network: None, {"topology": NET}, "one number"),
        (lambda network: 1j, {"topology": NET}, "one number"),
        (lambda networks: 1.0, {"topology": NET, "vectorized": True}, r"shape \(n,\)"),
        (lambda net: net.theta, {"topology": NET, "vectorized": True}, r"shape \(n,\).*\], \["),
        (lambda network: network(np.zeros(3)), {"topology": NET, "on_error": "raise"}, r"= \(2,\)"),
    ],
)
def test_what_cannot_be_evolved_is_refused_and_no_option_left_out(fitness, options, match):
    with pytest.raises(ValueError, match=match):
        evolve(fitness, max_evaluations=50, **options)


@pytest.mark.parametrize(("bad", "is_known"), [(0.3, True), (1.0, False)])
def test_a_champion_without_a_fitness_on_some_seeds_is_said_and_kept(bad, is_known, tmp_path):
    def fitness(network, seed):
        if seed >= 2**30 and np.random.default_rng(seed).random() < bad:
            raise RuntimeError("stuck")
        return loss(network)

    with (
        pytest.warns(UserWarning, match="count as worst; the first one: RuntimeError: stuck"),
        pytest.warns(UserWarning, match=r"The champion has no fitness on \d+ of 30 fresh seeds"),
    ):
        record = evolve(fitness, NET, noisy=True, max_evaluations=100)
    assert np.isfinite(record.fitness) == np.isfinite(record.standard_error) == is_known
    record.model.save(tmp_path / "policy.json")
    assert ("fitness" in Model.load(tmp_path / "policy.json").origin) == is_known


def test_a_checkpoint_of_a_finished_run_gives_its_record(tmp_path):
    fitness, file = Fitness(loss, NET), tmp_path / "run.state"
    run = Run(fitness, "CMA-ES-IPOP", max_evaluations=100)
    while not run.finished:
        state = run.state()
        run.step()
    save_state(file, state)
    kept = []
    record = evolve(fitness, max_evaluations=100, checkpoint=file, callback=kept.append)
    assert len(kept) == 1
    assert np.array_equal(record.theta, run.record().theta)
    assert not file.exists()
    with pytest.raises(OSError, match="No such file or directory"):
        evolve(fitness, checkpoint=tmp_path / "nowhere" / "run.state")


def test_a_noisy_run_is_known_by_its_checkpoint_until_its_champion_is_judged(tmp_path, monkeypatch):
    monkeypatch.setattr(_evolve, "CHECKPOINT_EVERY", 0.0)
    file, seen = tmp_path / "run.state", []

    def fitness(network, seed):
        if seed >= 2**30:
            seen.append(Run.from_state(judged, load_state(file)).finished)
        return loss(network)

    judged = Fitness(fitness, NET, noisy=True, episodes=2)
    evolve(judged, max_evaluations=100, checkpoint=file)
    assert set(seen) == {False}  # there is a step left, so that it goes on
    assert Fitness(fitness, NET, noisy=True).digest != judged.digest
