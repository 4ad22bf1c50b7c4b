"""Several optima averaged into one network."""

from dataclasses import replace

import numpy as np
import pytest

from symbreak import Model, Problem, train
from symbreak.training import join
from symbreak.training._committee import split
from tests.polishing import bare


def table(task="regression", n=80, noise=0.2):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + noise * rng.normal(size=n)
    return X, y if task == "regression" else np.digitize(y, [0, 1])


#: A table that has many optima, since there is much noise and hardly any ridge.
MANY = {"noise": 1.0, "alpha": 0.01, "max_evaluations": 15_000}


def trained(task="regression", hidden=(4,), noise=0.2, alpha="auto", **options):
    X, y = table(task, noise=noise)
    problem = Problem.from_arrays(X, y, hidden=hidden, task=task, alpha=alpha)
    return X, problem, train(problem, **{"max_evaluations": 6_000, "seed": 1, **options})


@pytest.mark.parametrize("hidden", [(6,), (4, 3)])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_committee_is_one_network_with_the_mean_of_the_weighted_sums(task, hidden):
    X, problem, record = trained(task, hidden, n_networks=3, **MANY)
    n = len(record.members)
    assert 2 <= n <= 3  # seen over 12 seeds
    assert record.model.topology.hidden == tuple(n * size for size in hidden)
    sums = [member.weighted_sums(problem.inputs(X)) for member in record.members]
    assert record.model.weighted_sums(problem.inputs(X)) == pytest.approx(np.mean(sums, axis=0))
    again = Model.from_json(record.model.to_json())
    assert again.outputs(X).tobytes() == record.model.outputs(X).tobytes()
    assert record.model.origin["networks"] == n


def test_the_first_member_is_the_network_that_would_have_been_kept_alone():
    _, _, alone = trained()
    _, _, several = trained(n_networks=4)
    assert several.members[0].to_json() == bare(alone.model).to_json()
    assert alone.members == (alone.model,)


def test_members_are_different_networks():
    X, _, record = trained(n_networks=8)
    outputs = [member.predict(X) for member in record.members]
    for i, one in enumerate(outputs):
        for other in outputs[:i]:
            assert np.sqrt(np.mean((one - other) ** 2)) > 1e-3


def test_a_committee_is_the_same_with_any_number_of_threads():
    (_, _, one), (_, _, two) = (trained(n_networks=3, threads=n) for n in (1, 2))
    assert one.model.to_json() == two.model.to_json()


def test_each_network_of_a_deep_committee_has_time_for_its_polish():
    X, y = table(n=400)
    deep, budgets = Problem.from_arrays(X, y, hidden=(16, 16)), []
    for n in (1, 8):
        stop = lambda progress: not budgets.append(progress.max_evaluations)  # noqa: E731
        train(deep, n_networks=n, callback=stop)
    assert budgets[1] > 3 * budgets[0]


def test_many_samples_make_a_committee_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_200, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + rng.normal(size=len(X)) / 10
    problem = Problem.from_arrays(X, y, hidden=(3,))
    record = train(problem, max_evaluations=4_000, n_networks=2)
    assert len(record.members) == 2
    assert record.model.origin["n_evaluations"] == record.n_evaluations  # of both stages
    errors = [member.error_on(problem.train) for member in record.members]
    assert record.model.error_on(problem.train) <= max(errors)


@pytest.mark.parametrize("hidden", [(6,), (4, 3)])
def test_a_committee_comes_apart_and_a_training_goes_on_from_it(hidden):
    X, problem, record = trained(hidden=hidden, n_networks=3, **MANY)
    members = split(record.model)
    assert len(members) == len(record.members) > 1
    whole = join(members, np.full(len(members), 1 / len(members)))
    assert whole.outputs(X) == pytest.approx(record.model.outputs(X))
    for ours, theirs in zip(members, record.members, strict=True):
        assert ours.theta.tobytes() == theirs.theta.tobytes()
    again = train(problem, hidden="auto", initial=record.model, seed=2, max_evaluations=3_000)
    assert again.size_path == ()
    assert again.members[0].topology == record.members[0].topology
    assert again.model.error_on(problem.train) < 2 * record.model.error_on(problem.train)


def test_max_neurons_bounds_the_whole():
    _, _, record = trained(n_networks=8, max_neurons=11)
    assert record.model.topology.hidden == (8,)
    with pytest.raises(ValueError, match="max_neurons must be at least the 4 neurons"):
        trained(max_neurons=3)


def test_only_what_has_a_mean_is_joined():
    _, _, record = trained(n_networks=2)
    models = record.members
    assert join(models[:1], [1.0]) is models[0]
    with pytest.raises(ValueError, match="2 numbers that add up to 1"):
        join(models, [0.5, 0.6])
    _, _, deep = trained(hidden=(2, 2))
    with pytest.raises(ValueError, match="the same depth"):
        join([models[0], deep.model], [0.5, 0.5])
    other = replace(models[1], output_weights=models[1].output_weights[:-1])
    with pytest.raises(ValueError, match="the same output"):
        join([models[0], other], [0.5, 0.5])


def test_a_mean_is_not_said_to_be_as_good_or_as_sure_as_the_first_of_its_networks():
    _, _, record = trained()
    assert record.model.error_bars is not None
    mean = join([record.model, record.model], [0.5, 0.5])
    assert mean.error_bars is None
    assert not {"error", "scores"} & mean.origin.keys()
