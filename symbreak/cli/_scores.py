"""What a training found, as tables that fit a narrow terminal."""

from __future__ import annotations

import numpy as np

from symbreak import Problem, RunRecord
from symbreak.cli._console import columns, console, plain, print_table, shown
from symbreak.inspection import LEFT_OUT, Score
from symbreak.models import Model

#: Sets of samples whose errors say something of new ones.
UNSEEN = (LEFT_OUT, "test", "this table")
#: More targets are summed up.
MAX_TARGETS = 12


def error_of(record: RunRecord) -> float:
    """The error of a method's network, which is saved with it.

    Without the ridge where that sets itself, with it where it was given.
    """
    if record.model is None:  # stopped before anything was found
        return record.error
    return float(record.model.origin.get("error", record.error))


def error_in_words(record: RunRecord, problem: Problem) -> str:
    """``error_of``, and whether the ridge is in it."""
    return f"{error_of(record):.4g}{' with its ridge' if has_ridge(problem) else ''}"


def has_ridge(problem: Problem) -> bool:
    """Whether ``error_of`` has a ridge in it."""
    return problem.ridge.alpha > 0 and not problem.ridge.sets_itself


def best_record(records: list[RunRecord], problem: Problem) -> RunRecord:
    """The method whose network is best: on the validation set if there is one."""

    def badness(record: RunRecord) -> tuple[float, float]:
        validation = np.inf
        if record.model is not None and problem.validation is not None:
            validation = record.model.error_on(problem.validation)
        return validation, error_of(record)

    return min(records, key=badness)


def print_records(records: list[RunRecord], problem: Problem, best: RunRecord) -> None:
    """A line for each method, and what its starts say about each other.

    Shares of misclassified samples are compared; those of one method are among its scores.
    """
    several = len(records) > 1
    cells = {
        "method": [record.method for record in records],
        "MSE + ridge" if has_ridge(problem) else "error (MSE)": [
            f"{error_of(record):.4g}" for record in records
        ],
        "misclassified": [_misclassified(record) if several else "" for record in records],
        "evaluations": [f"{record.n_evaluations:,}" for record in records],
        "conventions": [_conventions(record) for record in records],
        "seconds": [f"{record.seconds:.2f}" for record in records],
    }
    told = {heading: column for heading, column in cells.items() if any(column)}
    table = columns(*told)
    table.columns[0].min_width = max(len(record.method) for record in records)
    for record, *row in zip(records, *told.values(), strict=True):
        table.add_row(*row, style="bold" if record is best and several else None)
    print_table(table)
    if "misclassified" in told:
        part = "validation" if problem.test is None else "test"
        console.print(f"misclassified: in the {part} set")
    for record in records:
        name = f"{record.method}: " if several else ""
        if record.restarts:
            few_starts = "; give it more --evaluations" if record.agreement.is_too_few else ""
            console.print(f"{name}{record.agreement}{few_starts}")
        if record.n_nonfinite:
            console.print(f"{record.method}: {record.n_nonfinite:,} errors were not finite.")


def _misclassified(record: RunRecord) -> str:
    """Share of the test data, or else the validation data, where the validation rate was best."""
    if record.model is None or not record.model.classes or not len(record.rates):
        return ""
    validation, test = record.rates[-1, 2:]
    return f"{validation if np.isnan(test) else test:.1%}"


def _conventions(record: RunRecord) -> str:
    """Effective numbers of conventions among candidates, at first and at last."""
    if not len(record.spread):  # stopped before anything was found
        return ""
    return f"{record.spread[0, 2]:.1f} to {record.spread[-1, 2]:.1f}"


def print_scores(model: Model, found: dict[str, Score], method: str = "") -> None:
    """A line for each set of samples, and for each target if there are several."""
    sign = "+-" if plain() else "\u00b1"
    several = model.topology.n_outputs > 1 and not model.classes
    first = [method or "samples", *["target"] * several]
    headings = ("rows", "misclassified") if model.classes else ("rows", "RMSE", "R2")
    table = columns(*first, *headings, words=len(first))
    names = model.output_names
    for part, score in found.items():
        if model.classes:
            spread = f" {sign} {score.spread[0]:.1%}" if part in UNSEEN else ""
            table.add_row(part, f"{score.n:,}", f"{score.error:.1%}{spread}")
            continue
        targets = zip(names, score.rmse, score.r2, score.spread, strict=True)
        for i, (name, rmse, r2, spread) in enumerate(targets):
            if i < MAX_TARGETS:
                first = [part, *[shown(name[:20])] * several]
                quality = "none" if np.isnan(r2) else f"{r2:.4f}"
                error = f"{rmse:.4g}" + (f" {sign} {spread:.2g}" if part in UNSEEN else "")
                table.add_row(*first, f"{score.n:,}", error, quality)
    print_table(table)
    if LEFT_OUT in found:
        console.print(
            f"{LEFT_OUT}: each row of training, predicted without it; {sign} is one standard error"
        )
    if any(np.isnan(score.r2).any() for score in found.values()):
        console.print("There is no R2 of a target that is the same in all rows.")
    if several and len(names) > MAX_TARGETS:
        console.print(f"and {len(names) - MAX_TARGETS:,} more targets")
