"""``symbreak predict``: a saved model applied to new data."""

from __future__ import annotations

import csv
import io
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from symbreak._support.checks import Array
from symbreak._support.frames import choose_columns
from symbreak._support.words import few
from symbreak._support.writing import write_text
from symbreak.cli._console import (
    Encoding,
    Header,
    ModelFile,
    argument,
    check_out,
    console,
    option,
    shown,
    split_names,
)
from symbreak.models import Model, check_coverage
from symbreak.problems import read_table
from symbreak.problems._tables import Table, check_known

#: Samples that go through the network at a time.
BLOCK = 2**16
#: Significant digits of predictions of targets around 0.
DIGITS = 6
#: None of the columns can be left out.
FILL_IN = "The model reads these columns: fill in the numbers, or leave the rows out."


def predict_command(
    model: ModelFile,
    data: Annotated[
        Path, argument("TABLE", "A .csv, .csv.gz, .tsv, .xlsx, .parquet or .npz file.")
    ],
    out: Annotated[Path | None, option("FILE", "Write CSV there (default: stdout)")] = None,
    scores: Annotated[
        bool, option(None, "Add scores, or probabilities, of classes", "--scores")
    ] = False,
    interval: Annotated[
        float | None, option("SHARE", "Add ends of intervals with this share")
    ] = None,
    header: Header = None,
    keep: Annotated[bool, option(None, "Add the columns of the file", "--keep")] = False,
    key: Annotated[str | None, option("COLUMN", "Add this one, to join them; a,b for more")] = None,
    digits: Annotated[
        int | None,
        typer.Option(
            min=1, max=17, metavar="N", help="Of a number; by default six of the target's spread"
        ),
    ] = None,
    encoding: Encoding = None,
) -> None:
    """Predict the targets of new data, in the units of the training data.

    Columns are found by name, in any order, if the model and the file have names; else, as where
    it was trained on a file without a header, they are taken as they stand. What is written has
    the delimiter and the decimal sign of the file. Its last column, "outside", names those columns
    in which a row is far outside of what training saw, where the network guesses.
    """
    network = Model.load(model)
    if scores and not network.classes:
        raise ValueError(f"--scores is for classes; {model} is for {network.task}.")
    if interval is not None:
        check_coverage("--interval", interval)
        network.check_error_bars()
    if out is not None:
        check_out("--out", out)
        if out.resolve() in (model.resolve(), data.resolve()):
            raise ValueError(f"--out must be a file of its own, got {out}.")
        if out.suffix.lower() in (".xlsx", ".parquet", ".npz", ".gz"):
            raise ValueError(f"--out is written as CSV; name it .csv, got {out}.")
    table = read_shown(data, header, encoding)
    inputs = choose_inputs(network, table)
    kept = list(table.names) if keep else split_names(key, table.names) if key else []
    check_known(table, [*inputs, *kept])
    ignored = [name for name in table.names if name not in {*inputs, *kept}]
    notes = Console(stderr=True, highlight=False, soft_wrap=True)
    if ignored:
        notes.print(f"Ignored: {shown(few(ignored))}")
    X = inputs_of(network, table, inputs)
    outputs = _outputs(network, X, data)
    predicted = _predicted(network, outputs, scores)
    if interval is not None:
        predicted += _ends(network, X, interval, [name for name, _ in predicted])
    if network.ranges is not None:
        predicted.append(("outside", _outside(network, X, notes)))
    columns, most = [table.cells(name) for name in kept], digits or _usual_digits(network)
    for _, values in predicted:
        columns.append([_cell(x, most, table.decimal) for x in values])
    text = io.StringIO()
    writer = csv.writer(text, delimiter=table.delimiter, lineterminator="\n")
    names = [f"predicted {name}" if name in kept else name for name, _ in predicted]
    writer.writerow([*kept, *names])
    writer.writerows(zip(*columns, strict=True))
    if out is None:
        sys.stdout.write(text.getvalue())
        sys.stdout.flush()
    else:
        write_text(out, text.getvalue())
        console.print(f"{len(outputs):,} predictions in {shown(out)}")


def read_shown(path: Path, header: bool | None = None, encoding: str | None = None) -> Table:
    """A data file; a terminal shows that it is being read, which may take long."""
    with Console(stderr=True).status(f"reading {shown(path)}"):
        return read_table(path, header=header, encoding=encoding)


def choose_inputs(model: Model, table: Table) -> Sequence[str]:
    """Names of the columns of a table that a model reads, in its order."""
    chosen: Sequence[str] = ()
    if table.named or {*table.names}.issuperset(model.columns):
        chosen = choose_columns(str(table.path), table.names, model.columns)
    if not chosen and len(table.names) != len(model.columns):
        raise ValueError(
            f"{table.path} must have the {len(model.columns)} inputs of the model as columns, "
            f"since one of them has no names, got {len(table.names)}."
        )
    return chosen or table.names


def inputs_of(model: Model, table: Table, inputs: Sequence[str]) -> Array:
    """Inputs (K, d) of the network, encoded as in training."""
    if model.encoding is None:
        return table.numbers(inputs, FILL_IN)
    pairs = list(zip(inputs, model.encoding.columns, strict=True))
    numbers = [name for name, column in pairs if column.kind == "number"]
    raw = table.raw(inputs, [name for name, _ in pairs if name not in numbers], numbers)
    return model.encode({column.name: raw[name] for name, column in pairs})  # type: ignore[arg-type]


def _blocks(X: Array) -> Iterator[Array]:
    return (X[i : i + BLOCK] for i in range(0, len(X), BLOCK))


def _outputs(model: Model, X: Array, data: Path) -> Array:
    with np.errstate(all="ignore"):
        outputs = np.concatenate([model.outputs(block) for block in _blocks(X)])
    bad = np.flatnonzero(~np.isfinite(outputs).all(axis=1))
    if len(bad):
        raise ValueError(
            f"{data}: sample {bad[0] + 1} is too far from what the model was trained on, its "
            f"output is not finite; so are {len(bad) - 1:,} more."
        )
    return outputs


def _predicted(model: Model, outputs: Array, scores: bool) -> list[tuple[str, list[Any]]]:
    """Columns to write, with their names: targets, or classes and what they score."""
    columns, names = outputs.T.tolist(), model.output_names
    if not model.classes:
        return list(zip(names, columns, strict=True))
    kind = "probability" if model.output == "softmax" else "score"
    found = [("class", [names[i] for i in outputs.argmax(axis=1)])]
    if scores:
        found += zip((f"{kind} {name}" for name in names), columns, strict=True)
    return found


def _ends(model: Model, X: Array, coverage: float, names: list[str]) -> list[tuple[str, list[Any]]]:
    """Lower and upper ends of the interval of each target."""
    with warnings.catch_warnings(action="ignore"):  # of rows outside, which have a column
        parts = [np.stack(model.predict_interval(block, coverage), -1) for block in _blocks(X)]
    ends = np.concatenate(parts).reshape(len(X), -1).T.tolist()  # low, high, low, high, ...
    headings = [f"{name} {end}" for name in names for end in ("low", "high")]
    return list(zip(headings, ends, strict=True))


def _outside(model: Model, X: Array, notes: Console) -> list[str]:
    """For each row the columns in which it is far outside; and a note of how many are."""
    found = model.outside(X)
    if n := int(found.any(axis=1).sum()):
        names = [model.columns[i] for i in np.flatnonzero(found.any(axis=0))]
        notes.print(
            f"{n:,} of {len(X):,} rows are far outside of what training saw, in {shown(few(names))}"
        )
    return [", ".join(model.columns[i] for i in np.flatnonzero(row)) for row in found]


def _usual_digits(model: Model) -> int:
    """Six, and as many more as the targets are far from 0, counted in their spread."""
    far = float(np.max(np.abs(model.targets.mean) / model.targets.scale))
    return min(DIGITS + math.ceil(math.log10(max(far, 1.0))), 17)


def _cell(value: float | str, digits: int, decimal: str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:#.{digits}g}".rstrip(".").replace(".", decimal)
