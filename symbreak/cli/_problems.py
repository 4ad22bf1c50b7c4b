"""``symbreak problems``: the paper's problems as a table, or one of them as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from symbreak import Problem, load_problem, problem_names
from symbreak.cli._console import console

TASKS = {"regression": "regress", "autoencoding": "autoenc", "classification": "class"}


def problems_command(
    name: Annotated[str | None, typer.Argument(help="One problem; all of them if left.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the problem's data here (.svg, .png, .pdf or .html).")
    ] = None,
    data_seed: Annotated[int, typer.Option(help="Seed of the data.")] = 0,
) -> None:
    """List the paper's problems, or draw one."""
    if plot is not None and name is None:
        raise ValueError(
            "--plot draws one problem; name it, as in: symbreak problems sinc --plot x.svg"
        )
    problems = [load_problem(n, data_seed) for n in ([name] if name else problem_names())]
    console.print(_table(problems))
    console.print("N_p: population sizes of the paper for DE and CMA-ES", style="dim")
    if plot is not None:
        from symbreak.analysis import problem_chart, save_chart

        save_chart(problem_chart(problems[0]), plot)
        console.print(f"Drawn in {plot}")


def _table(problems: list[Problem]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for heading in ("problem", "net", "task"):
        table.add_column(heading, no_wrap=True)
    for heading in ("D", "replicas", "samples", "N_p", "budget"):
        table.add_column(heading, justify="right", no_wrap=True)
    for problem in problems:
        sizes = [len(part) for part in (problem.train, problem.validation, problem.test) if part]
        alike = len(sizes) > 1 and len(set(sizes)) == 1
        table.add_row(
            problem.name,
            str(problem.topology),
            TASKS[problem.task],
            str(problem.topology.dim),
            _compact(problem.topology.n_replicas),
            f"{len(sizes)}x{sizes[0]}" if alike else "/".join(map(str, sizes)),
            "/".join(str(problem.population_size[family]) for family in ("DE", "CMA-ES")),
            f"{problem.max_evaluations // 1000:,}k",
        )
    return table


def _compact(n: int) -> str:
    """``4,608``, or ``4.3e12`` where that is shorter."""
    return f"{n:,}" if n < 1_000_000 else f"{n:.1e}".replace("e+0", "e").replace("e+", "e")
