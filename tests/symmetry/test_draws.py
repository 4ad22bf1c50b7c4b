import numpy as np
import pytest
from hypothesis import given, settings

from symbreak import Topology
from symbreak.symmetry import align_draws, canonical, replicas, symmetries
from symbreak.symmetry._draws import diagnostics
from tests.strategies import KINDS, seeds, topologies

NET = Topology.parse("2-3-1 searched")


def posterior(topology, seed, n_modes=1, chains=6, draws=40):
    """Chains around networks that are far apart, each chain in a replica of its own."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_modes, topology.dim))
    theta = np.empty((chains, draws, topology.dim))
    for chain in range(chains):
        theta[chain] = centres[chain % n_modes] + 0.01 * rng.normal(size=(draws, topology.dim))
    return theta, scrambled(theta, topology, rng)


def scrambled(theta, topology, rng):
    """Every chain in another replica, and the last draw of each in a third one."""
    group = list(symmetries(topology))
    numbers = rng.integers(len(group), size=len(theta))
    moved = np.stack([group[i](chain) for i, chain in zip(numbers, theta, strict=True)])
    moved[:, -1] = group[rng.integers(len(group))](moved[:, -1])
    return moved


@settings(max_examples=25)
@given(topologies(max_layers=2, max_width=3, max_replicas=400, kinds=KINDS), seeds())
def test_draws_of_one_network_come_together_and_it_is_said_how(topology, seed):
    theta, drawn = posterior(topology, seed, chains=3, draws=8)
    found = align_draws(drawn, topology)
    # where neurons are alike or near zero, noise decides which replica is nearest
    assert found.theta.var(axis=(0, 1)).sum() <= 1.05 * theta.var(axis=(0, 1)).sum()
    pairs = zip(*(x.reshape(-1, topology.dim) for x in (drawn, found.draws)), strict=True)
    for before, after in pairs:
        assert np.abs(replicas(before, topology) - after).max(axis=1).min() == 0
    first = np.take_along_axis(topology.layers(drawn)[0], found.orders[0][..., None], axis=2)
    assert np.array_equal(first * found.signs[0][..., None], topology.layers(found.theta)[0])


def test_other_replicas_give_the_same_result():
    theta, drawn = posterior(NET, 0, n_modes=2)
    other = scrambled(drawn, NET, np.random.default_rng(9))
    found = [align_draws(draws, NET) for draws in (theta, drawn, other)]
    for other in found[1:]:
        assert other.theta == pytest.approx(found[0].theta, abs=1e-12)
        assert np.array_equal(other.modes, found[0].modes)
    assert found[0].centroids[0] == pytest.approx(canonical(found[0].centroids[0], NET))


def test_modes_are_networks_that_no_symmetry_joins():
    _, drawn = posterior(NET, 1, n_modes=3, chains=9)
    found = align_draws(drawn, NET)
    assert sorted(np.bincount(found.modes)) == [3, 3, 3]
    assert len(set(found.modes[::3])) == 1
    assert found.summary.index.tolist() == ["all", "0", "1", "2"]
    assert found.summary.loc["0", "R-hat"] < 1.1 < 3 < found.summary.loc["0", "R-hat before"]
    assert found.summary.loc["all", "R-hat"] > 3  # modes are not joined
    more, modes = found.align(drawn[:3, :5].reshape(-1, NET.dim))
    assert more == pytest.approx(found.theta[:3, :5].reshape(-1, NET.dim))
    assert np.array_equal(modes, np.repeat(found.modes[:3], 5))


@pytest.mark.parametrize(("apart", "n_modes"), [(1.0, 1), (4.0, 2)])
def test_clouds_that_overlap_are_one_mode(apart, n_modes):
    topology = Topology.parse("1-1-1 relu")  # without symmetries
    draws = 10 + np.random.default_rng(0).normal(size=(6, 200, 2))
    draws[::2, :, 0] += apart
    assert align_draws(draws, topology).modes.max() + 1 == n_modes


def test_a_posterior_that_is_all_noise_has_one_mode():
    drawn = np.random.default_rng(0).normal(size=(20, 100, NET.dim))
    assert np.all(align_draws(drawn, NET).modes == 0)


def test_networks_that_were_fitted_apart_are_chains_of_one():
    rng = np.random.default_rng(0)
    optima = rng.normal(size=(2, NET.dim))
    fitted = np.stack([replicas(optima[int(i % 3 == 0)], NET)[7 * i] for i in range(6)])[:, None]
    found = align_draws(fitted + 1e-6 * rng.normal(size=fitted.shape), NET)
    assert found.modes.tolist() == [1, 0, 0, 1, 0, 0]
    assert found.summary["R-hat"].isna().all()  # one draw a chain
    one_chain = align_draws(fitted[:, 0], NET)
    assert one_chain.draws.shape == (6, NET.dim)
    assert one_chain.modes.tolist() == [0]


def test_named_arrays_come_back_by_name():
    _, drawn = posterior(NET, 2)
    hidden, last = NET.layers(drawn)
    draws = {
        "w1": np.swapaxes(hidden[..., :2], -1, -2).astype(np.float32),
        "b1": hidden[..., 2],
        "noise": np.ones(drawn.shape[:2]),
        "w2": np.swapaxes(last[..., :3], -1, -2),
        "b2": last[..., 3],
    }
    found = align_draws(draws, activation="tanh")
    assert list(found.draws) == list(draws)
    assert found.draws["noise"] is draws["noise"]
    assert found.draws["w1"].dtype == np.float32
    again, _ = NET.layers(found.theta)
    assert found.draws["b1"] == pytest.approx(again[..., 2])
    assert found.draws["w1"] == pytest.approx(np.swapaxes(again[..., :2], -1, -2), abs=1e-6)
    flat = {name: array.reshape(-1, *array.shape[2:]) for name, array in draws.items()}
    one_chain = align_draws(flat, activation="tanh")
    assert one_chain.draws["w1"].shape == (240, 2, 3)
    more, modes = found.align({name: array[:, :3] for name, array in draws.items()})
    assert more["w1"] == pytest.approx(found.draws["w1"][:, :3], abs=1e-6)
    assert modes.shape == (6, 3)


def test_diagnostics_are_those_of_known_chains():
    rng = np.random.default_rng(0)
    for rho in (0.0, 0.6, -0.4):
        noise, x = rng.normal(size=(8, 16_000, 2)), np.zeros((8, 16_000, 2))
        for t in range(1, 16_000):
            x[:, t] = rho * x[:, t - 1] + noise[:, t]
        rhat, size = diagnostics(x)
        assert rhat == pytest.approx(1, abs=0.01)
        # seen within 0.06 of it over 12 seeds
        assert size == pytest.approx(128_000 * (1 - rho) / (1 + rho), rel=0.1)
    apart = noise + np.arange(8)[:, None, None]
    rhat, size = diagnostics(apart)
    assert rhat == pytest.approx(np.sqrt(1 + 6), rel=0.1)  # the means of halves have variance 5.6
    assert np.all(size < 20)
    assert np.isnan(diagnostics(noise[:, :7])[0]).all()


def named(chains, draws):
    return {"w": np.zeros((2, 3, 1, 2)), "v": np.zeros((chains, draws, 2, 1))}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: align_draws(np.zeros((2, 3, 5)), NET), r"with D = 13 for a 2-3-1 searched"),
        (lambda: align_draws(np.zeros((2, 3, 13))), "topology must be a Topology"),
        (lambda: align_draws(np.zeros((0, 3, 13)), NET), r"got \(0, 3, 13\)"),
        (lambda: align_draws(np.full((2, 3, 13), np.nan), NET), "draws must be finite"),
        (lambda: align_draws("draws", NET), "draws must be an array of numbers"),
        (lambda: align_draws({}, activation="tanh"), "draws must be arrays"),
        (lambda: align_draws({"w": np.zeros((2, 3))}, activation="tanh"), "draws must be arrays"),
        (lambda: align_draws(named(2, 4)), "as many chains and draws"),
        (lambda: align_draws(named(2, 3)), "arrays do not say their activation"),
    ],
)
def test_draws_that_cannot_be_read_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
