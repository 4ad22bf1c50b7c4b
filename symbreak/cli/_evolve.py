"""``symbreak evolve``: a problem of control, or a function of the user's, without a gradient."""

from __future__ import annotations

import importlib
import threading
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from symbreak import Topology, evolve
from symbreak._support.progress import progress_bar
from symbreak._support.signals import deferred_interrupts
from symbreak._support.workers import WorkerProcesses
from symbreak.cli._console import (
    Evaluations,
    MaxTime,
    Out,
    PopulationSize,
    Seed,
    argument,
    check_out,
    check_results,
    console,
    draw,
    file_option,
    import_here,
    option,
    shell_words,
    shown,
)
from symbreak.cli._train import end_early, hidden_sizes
from symbreak.control import CONTROL, Control
from symbreak.objectives import Fitness
from symbreak.training._evolve import named_fitness

_own = partial(option, panel="Function of yours")
_net = partial(option, panel="Network")


@shell_words()
def evolve_command(
    source: Annotated[
        str,
        argument(
            "PROBLEM_OR_FUNCTION",
            f"One of {', '.join(CONTROL)}; an environment of Gymnasium, as Acrobot-v1; or a "
            "function of a network, as module:function.",
        ),
    ],
    inputs: Annotated[int | None, _own("N", "Numbers that a network sees", least=1)] = None,
    outputs: Annotated[int, _own("N", "Numbers that it says", least=1)] = 1,
    maximize: Annotated[bool, _own(None, "Higher is better", "--maximize")] = False,
    noisy: Annotated[bool, _own(None, "Its second argument is a seed", "--noisy")] = False,
    vectorized: Annotated[bool, _own(None, "It judges whole populations", "--vectorized")] = False,
    timeout: Annotated[float | None, _own("SECONDS", "For a network")] = None,
    hidden: Annotated[
        str | None, _net("SIZES", "Of hidden layers, as 5,3 (default: 6 or 8)")
    ] = None,
    activation: Annotated[str, _net("NAME", "Of hidden neurons")] = "tanh",
    biases: Annotated[bool, _net(None, "Of all neurons")] = True,
    method: Annotated[str, option("METHOD", "auto is CMA-ES-IPOP", "--method", "-m")] = "auto",
    target: Annotated[float | None, option("FITNESS", "At which to stop (default: solved)")] = None,
    evaluations: Evaluations = None,
    max_time: MaxTime = None,
    seed: Seed = 0,
    population_size: PopulationSize = None,
    workers: Annotated[
        int, option("N", "Processes that judge; the result is the same", least=1)
    ] = 1,
    checkpoint: Annotated[
        Path | None, option("FILE", "Keep the state there, and go on from it")
    ] = None,
    out: Out = None,
    plot: Annotated[Path | None, file_option("Draw fitness and states")] = None,
) -> None:
    """Evolve a network for a problem of control, or against a function of yours."""
    check_results(out, plot)
    check_out("--checkpoint", checkpoint)
    net: dict[str, Any] = {"activation": activation, "biases": biases}
    layers = None if hidden is None else hidden_sizes(hidden)
    own: dict[str, Any] = {} if target is None else {"target": target}
    about = {"maximize": maximize, "noisy": noisy, "vectorized": vectorized, "timeout": timeout}
    stop = threading.Event()
    with WorkerProcesses(workers) if workers > 1 else nullcontext() as executor:
        own["executor"] = executor
        if ":" in source:
            fitness = _own_fitness(source, inputs, layers, outputs, net, {**about, **own})
        elif inputs or outputs != 1 or any(about.values()):
            raise ValueError(f"{source} is a problem by name: it says what goes in and out.")
        else:
            fitness = named_fitness(source, layers, **net, **own)
        _say_what(fitness)
        bar = progress_bar(method, max_time, console, stop)
        with deferred_interrupts(stop.set), bar as show:
            record = evolve(
                fitness,
                method=method,
                max_evaluations=evaluations,
                max_time=max_time,
                seed=seed,
                population_size=population_size,
                checkpoint=checkpoint,
                callback=show,
            )
    console.print(record.in_words)
    if record.model is None:
        raise ValueError("no network had a fitness; see the warning above.")
    if out is not None:
        record.model.save(out)
        console.print(f"Saved in {shown(out)}")
    if plot is not None:
        _draw(record, fitness, CONTROL.get(source), plot)
    end_early(stop)


def _own_fitness(
    source: str, inputs: int | None, layers: Any, outputs: int, net: Any, own: dict[str, Any]
) -> Fitness:
    """That of ``module:function``."""
    module, _, name = source.partition(":")
    import_here([module])
    function = getattr(importlib.import_module(module), name, None)
    if not callable(function):
        raise ValueError(f"the module {module} has no function {name!r}.")
    if inputs is None:
        raise ValueError(f"--inputs says how many numbers a network of {source} sees.")
    return Fitness(function, Topology((inputs, *(layers or (6,)), outputs), **net), **own)


def _draw(record: Any, fitness: Fitness, control: Control | None, plot: Path) -> None:
    from symbreak.analysis import evolution_chart

    draw(evolution_chart(record, fitness.topology, control), plot)


def _say_what(fitness: Fitness) -> None:
    net = fitness.topology
    if fitness.description:
        console.print(f"[bold]{shown(fitness.name)}[/bold]  {shown(fitness.description)}")
    console.print(
        f"{'-'.join(map(str, net.sizes))} network, {net.dim:,} parameters, all of them searched; "
        f"every network has {net.replicas_in_words} replicas"
    )
