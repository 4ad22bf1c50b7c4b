"""``symbreak problems``: the paper's problems as a table, or one of them as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from symbreak import Problem, load_problem, problem_names
from symbreak._support.checks import check_count
from symbreak.cli._console import (
    Imports,
    argument,
    check_results,
    columns,
    console,
    draw,
    file_option,
    import_here,
    option,
    print_table,
)

TASKS = {"regression": "regress", "autoencoding": "autoenc", "classification": "class"}


def problems_command(
    name: Annotated[str | None, argument("PROBLEM", "One problem; all of them if left.")] = None,
    plot: Annotated[Path | None, file_option("Draw the problem's data")] = None,
    data_seed: Annotated[int, option("N", "Seed of the data")] = 0,
    imports: Imports = None,
) -> None:
    """List the paper's problems and yours, or draw one."""
    import_here(imports)
    if plot is not None and name is None:
        raise ValueError(
            "--plot draws one problem; name it, as in: symbreak problems sinc --plot x.svg"
        )
    check_results(plot=plot)
    check_count("--data-seed", data_seed, 0)
    problems = [load_problem(n, data_seed) for n in ([name] if name else problem_names())]
    headings = ("net", "task", "D", "replicas", "samples", "N_p", "budget")
    table = columns("problem", *headings, words=3, gap=1)
    for problem in problems:
        table.add_row(problem.name, *_facts(problem))
    print_table(table)
    console.print("N_p: population sizes of the paper for DE and CMA-ES", style="dim")
    if plot is not None:
        from symbreak.analysis import problem_chart

        draw(problem_chart(problems[0]), plot)


def _facts(problem: Problem) -> tuple[str, ...]:
    sizes = [len(part) for part in problem.parts.values()]
    alike = len(sizes) > 1 and len(set(sizes)) == 1
    populations = [problem.population_size.get(family, "-") for family in ("DE", "CMA-ES")]
    net = problem.topology
    short = f"{net.n_replicas:.1e}".replace("e+0", "e").replace("e+", "e")
    replicas = f"{net.n_replicas:,}" if net.n_replicas < 1_000_000 else short
    samples = f"{len(sizes)}x{sizes[0]}" if alike else "/".join(map(str, sizes))
    budget = f"{(problem.max_evaluations or 0) // 1000:,}k"
    facts = str(net), TASKS[problem.task], str(net.dim), replicas, samples
    return (*facts, "/".join(map(str, populations)), budget)
