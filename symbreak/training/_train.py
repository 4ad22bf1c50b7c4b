"""The doors to a trained network: ``train``, and ``polish`` for a network that is there."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from symbreak._polish._polisher import ITERATIONS, Polisher
from symbreak._support.blas import one_blas_thread
from symbreak._support.checks import (
    Array,
    check_callable,
    check_choice,
    check_executor,
    check_kind,
    check_population,
    check_theta,
)
from symbreak._support.signals import deferred_interrupts
from symbreak.methods import check_settings
from symbreak.models import Model
from symbreak.objectives import LeastSquares, Objective
from symbreak.objectives._least_squares import prepare_kernels, prepare_polish
from symbreak.problems import Problem
from symbreak.training._basis import Basis
from symbreak.training._committee import check_networks, split
from symbreak.training._last_step import has_probabilities, is_worthwhile, part_of
from symbreak.training._recipe import polish_of
from symbreak.training._record import RunRecord
from symbreak.training._run import as_objective
from symbreak.training._size import N_NETWORKS, SIZES, chosen_ridge, sized
from symbreak.training._trainer import SEARCH_SAMPLES, Callback, Clock, Trainer


def train(
    problem: Problem | Objective,
    method: str = "auto",
    *,
    max_evaluations: int | None = None,
    max_time: float | None = None,
    polish: str | None = None,
    seed: int = 0,
    population_size: int | None = None,
    threads: int = 1,
    initial: Model | ArrayLike | None = None,
    executor: Executor | None = None,
    callback: Callback | None = None,
    hidden: str | None = None,
    n_networks: int | None = None,
    max_neurons: int | None = None,
    **settings: Any,
) -> RunRecord:
    """Train the network of a problem and record the run.

    Networks of your own data, which have no ball, are brought into their last form in the end:
    classes get probabilities by cross-entropy, and in regression a ridge that has set itself
    competes with larger ones in cross-validation. Of very many samples a part is searched, a larger
    part polished, and the output layer is fitted to all of them. Models of regression know how
    sure they are (docs/error-bars.md).

    Args:
        problem: From ``Problem.from_arrays``, ``read_problem`` or ``load_problem``; or any
            ``Objective``, which is searched.
        method: A registered name; or ``"auto"``, short searches with symmetry breaking, or
            random candidates where they do as well, each followed by a polish, until their
            agreement says that it is enough (docs/trainer.md).
        max_evaluations: Budget of the search, never exceeded; by default the problem's own, or, of
            your own data, as many as take 2e10 multiply-adds (a few seconds with some thousand
            samples), but at least 100 iterations of a polish, and at most 1,000 iterations or
            50,000 evaluations, whichever is more. Without limit if there is a ``max_time``.
        max_time: Seconds after which to stop. The record says how many evaluations there were.
        polish: ``"none"``, a search alone, as in the paper; ``"final"``, a polish at the end;
            ``"restarts"``, a polish after a short search, again and again. By default the method's
            own: ``"restarts"`` for ``"auto"``, ``"none"`` for the others. A population or a setting
            that is named is searched with in every restart.
        seed: Same seed, same result, with any number of threads.
        population_size: Candidates per generation; by default the problem's own.
        threads: Threads of the evaluation, or of independent starts; 0 means one per core.
        initial: A model of such hidden layers, or a vector (D,), to polish first, before any
            search; with ``polish="final"`` instead of one. Inputs of a model are found by name.
        executor: Runs as many starts at a time as there are ``threads``, in other processes or on
            other machines: anybody's ``concurrent.futures.Executor``.
        callback: Called after each step; the training stops early if it returns True.
        hidden: ``"auto"`` chooses the hidden layers instead of the problem's, by how well networks
            of several sizes predict samples that they have not seen (docs/size.md). For searches
            with restarts, on your own data; others keep the problem's.
        n_networks: Different networks that starts ended in are averaged into one, so many at most,
            their neurons side by side. By default one network is kept, or 16 of a size that was
            chosen.
        max_neurons: Hidden neurons of the result at most; there are fewer networks in it, then.
        **settings: Other arguments of the optimizer, such as ``F`` or ``sigma``.

    Ctrl-C ends the run after the step under way, with the best so far.
    """
    check_callable("callback", callback)
    check_executor(executor)
    check_settings(method, settings, train.__kwdefaults__ or ())
    before = None
    if isinstance(initial, Model):
        check_kind("problem", problem, Problem, "to begin with a model")
        before = initial if problem.ridge.sets_itself else None  # type: ignore[union-attr]
        problem, initial = continued(initial, problem, hidden)  # type: ignore[arg-type]
        n_networks, hidden = n_networks or (1 if initial.ndim == 1 else len(initial)), None
    if isinstance(problem, Problem):  # before the clock starts
        prepare_kernels()
        if polish_of(method, polish) != "none":
            prepare_polish()
    own = isinstance(problem, Problem) and problem.rescale == "none"
    restarts = polish_of(method, polish) == "restarts"
    chooses = _chooses_size(hidden, own, initial) and restarts
    most = N_NETWORKS if chooses and n_networks is None else n_networks
    most = check_networks(problem, most, max_neurons, averages=own, chooses=chooses)
    clock = Clock(max_time, reserve=own)
    settings |= {"seed": seed, "population_size": population_size, "threads": threads}
    trainer = Trainer(method, polish, {"executor": executor, **settings}, clock, callback, most)
    with deferred_interrupts(clock.stop), one_blas_thread():
        if not isinstance(problem, Problem) or not own:
            return trainer.run(as_objective(problem), max_evaluations, initial)
        basis = _basis_of(problem, before)
        inner = problem if basis is None else basis.problem(problem)
        if basis is not None and initial is not None:
            check = check_theta if np.ndim(initial) < 2 else check_population
            initial = check(initial, problem.topology.dim, "initial")
            initial = basis.unfolded(initial, problem.topology.hidden)
        if chooses or (restarts and initial is None and _chooses_ridge(inner, clock)):
            sizes = SIZES if chooses else (problem.topology.hidden,)
            limits = max_evaluations, most, max_neurons
            record = trainer.of_best_size(problem, *limits, sizes, basis)
        else:
            record = trainer.own(problem, max_evaluations, initial, most, basis)
    return replace(record, stopped="interrupted") if clock.stopped else record


def _basis_of(problem: Problem, before: Model | None) -> Basis | None:
    """The basis of inputs that is known before a training, if it is not the inputs themselves.

    ``before`` is a model whose ridges are kept.
    """
    if problem.topology.n_inputs > len(problem.train):
        return Basis.of_rows(problem.train.X)
    return None if before is None else Basis.of_model(before, problem)


def _chooses_ridge(problem: Problem, clock: Clock) -> bool:
    """Whether a ridge is chosen by paths, which takes less time than to try it in the end.

    So it is with the probabilities of a search that has a limit, and with large networks, to whose
    evidence nothing larger could be compared.
    """
    if not problem.ridge.sets_itself:
        return False
    if has_probabilities(problem):
        return clock.has_limit
    has_few = part_of(problem, SEARCH_SAMPLES) is problem
    return problem.task == "regression" and has_few and not is_worthwhile(problem)


def _chooses_size(hidden: str | None, own: bool, initial: ArrayLike | None) -> bool:
    """Whether the layers are to be chosen; refuses what has no place for that."""
    if hidden is None:
        return False
    check_choice("hidden", hidden, ("auto",))
    if not own:
        raise ValueError(
            "hidden='auto' is for networks of your own data; this problem has its own."
        )
    if initial is not None:
        raise ValueError("initial is a network of the problem's size; leave hidden='auto' out.")
    return True


def continued(model: Model, problem: Problem, hidden: str | None) -> tuple[Problem, Array]:
    """The problem, and where its training begins from a model of other data.

    Layers that may be chosen stay as they are, and so does the ridge that was chosen with them.
    """
    members, theirs = split(model), problem.topology
    ours = members[0].topology
    if hidden == "auto":
        problem = sized(problem, ours.hidden, problem.alpha)
        theirs = problem.topology
        if problem.ridge.sets_itself and not has_probabilities(problem):
            problem = replace(problem, alpha=chosen_ridge(model) or problem.alpha)
    if (ours.hidden, ours.activation) != (theirs.hidden, theirs.activation):
        raise ValueError(
            f"initial must have the hidden layers of the problem, {theirs}, got a model {ours}."
        )
    thetas = [member.theta_for(problem.feature_names, problem.inputs) for member in members]
    return problem, thetas[0] if len(thetas) == 1 else np.array(thetas)


def polish(
    start: Model | ArrayLike,
    problem: Problem,
    *,
    max_iterations: int = ITERATIONS,
    max_evaluations: int | None = None,
    tolerance: float = 1e-6,
) -> Model:
    """Go down from a network, or its ``theta`` (D,), to the nearest optimum of a problem.

    The result is never worse than the start, by the error of ``LeastSquares``, whose ridge is held
    as it is; ``origin`` says its error and why the polish ended. The other arguments are those of
    ``Polisher``.
    """
    objective = LeastSquares(check_kind("problem", problem, Problem, "as load_problem makes"))
    if isinstance(start, Model):
        if start.topology != problem.topology:
            raise ValueError(
                f"the model is a {start.topology} network, the problem has {problem.topology}."
            )
        start = start.theta
    polisher = Polisher(
        objective,
        start,
        max_iterations=max_iterations,
        max_evaluations=max_evaluations,
        tolerance=tolerance,
    )
    while not polisher.finished:
        polisher.step()
    weights = polisher.output_weights()
    if weights is None:
        raise ValueError("the start has no finite error; there is no way down from it.")
    origin = {**objective.origin, "error": polisher.error, "polish": polisher.reason}
    return replace(objective.model(polisher.theta, weights), origin=origin)
