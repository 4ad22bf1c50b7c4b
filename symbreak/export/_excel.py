"""A model as a workbook whose formulas are live; needs the extra ``symbreak[excel]``."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

from symbreak._support.checks import Array
from symbreak._support.words import needed
from symbreak.export._parts import check_model, facts, identifiers, rows_of
from symbreak.models import Model
from symbreak.problems._encoding import Coded

#: How an activation of z is written.
ACTIVATIONS = {
    "tanh": "TANH(z)",
    "sin": "SIN(z)",
    "softsign": "(z)/(1+ABS(z))",
    "logistic": "1/(1+EXP(MIN(700,-(z))))",
    "relu": "MAX(0,z)",
}
#: What the columns of a sheet have room for, levels included.
MAX_NEURONS = 10_000
#: The row of the first input.
FIRST = 4

#: Cells of steps, with their names.
_Steps = list[tuple[str, str]]


def to_excel(model: Model) -> bytes:
    """An .xlsx file: inputs in named cells, and outputs that follow them.

    The sheet "calculation" has a row for each step. A missing value is an empty cell, a level is
    its name, and a date is a date.

    Raises:
        ValueError: if the package openpyxl is missing, or there are more neurons than columns.
    """
    if (n := sum(check_model(model).topology.sizes)) > MAX_NEURONS:
        raise ValueError(f"a workbook has room for {MAX_NEURONS:,} neurons, the model has {n:,}.")
    book = _Book(needed("openpyxl", "excel", "a workbook needs"))
    inputs = _write_inputs(book, model)
    outputs = _write_network(book, model, _write_features(book, model, inputs))
    _write_outputs(book, model, outputs, FIRST + len(inputs) + 1)
    content = io.BytesIO()
    book.book.save(content)
    return content.getvalue()


class _Book:
    """The sheets, and ways to write to them that no text can misuse."""

    def __init__(self, openpyxl: Any) -> None:
        self.openpyxl, self.book = openpyxl, openpyxl.Workbook()
        self.model = self.book.active
        self.model.title = "model"
        self.steps, self.numbers = map(self.book.create_sheet, ("calculation", "numbers"))
        for sheet, widths in ((self.model, (32, 24, 90)), (self.steps, (44, 18))):
            for letter, width in zip("ABC", widths, strict=False):
                sheet.column_dimensions[letter].width = width
        self._n_steps, self._n_columns = 0, 0

    def text(self, sheet: Any, row: int, column: int, text: str, **font: Any) -> None:
        """A cell that stays text, even if it looks like a formula."""
        illegal = self.openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE
        plain = text.encode("utf-8", "replace").decode()[:32_000]
        cell = sheet.cell(row, column, illegal.sub("?", plain))
        cell.data_type = "s"
        cell.font = self.openpyxl.styles.Font(**font)

    def remark(self, row: int, column: int, text: str) -> None:
        """A word to the user."""
        self.text(self.model, row, column, text, color="808080")

    def name(self, name: str, row: int) -> None:
        """A name for a cell beside a label."""
        defined = self.openpyxl.workbook.defined_name.DefinedName
        self.book.defined_names[name] = defined(name, attr_text=f"model!$B${row}")

    def constants(self, label: str, values: Sequence[float | str]) -> list[str]:
        """A column of constants, since formulas may be cut to 15 digits; where each is."""
        self._n_columns += 1
        letter = self.openpyxl.utils.get_column_letter(self._n_columns)
        self.text(self.numbers, 1, self._n_columns, label, bold=True)
        for row, value in enumerate(values, start=2):
            if isinstance(value, str):
                self.text(self.numbers, row, self._n_columns, value)
            else:
                self.numbers.cell(row, self._n_columns, float(value))
        return [f"numbers!${letter}${row}" for row in range(2, 2 + len(values))]

    def step(self, label: str, formula: str) -> str:
        """A row with a formula; returns where that is."""
        self._n_steps += 1
        self.text(self.steps, self._n_steps, 1, label)
        self.steps.cell(self._n_steps, 2, f"={formula}")
        return f"B{self._n_steps}"


def _epoch(column: Coded) -> int:
    """What a sheet has for the day from which we count; times alone were read as of 1900-01-01."""
    if column.kind != "date":
        return 0
    return 25_567 if column.pattern.startswith("%H") else 25_569


def _span(cells: Sequence[str]) -> str:
    return f"{cells[0]}:{cells[-1].partition('!')[2]}"


def _write_inputs(book: _Book, model: Model) -> list[str]:
    """Cells to fill in, with typical values in them; returns where they are."""
    book.text(book.model, 1, 1, facts(model)[0], bold=True)
    book.remark(2, 1, "Change the yellow cells; an empty one is missing.")
    columns = zip(model.rule.columns, identifiers(model.columns), strict=True)
    for row, (column, name) in enumerate(columns, start=FIRST):
        book.text(book.model, row, 1, column.name)
        if column.levels:
            book.text(book.model, row, 2, column.levels[int(column.fill)])
        else:
            book.model.cell(row, 2, column.fill + _epoch(column))
        cell = book.model.cell(row, 2)
        cell.fill = book.openpyxl.styles.PatternFill("solid", fgColor="FFF2CC")
        cell.number_format = "yyyy-mm-dd hh:mm" if column.kind == "date" else "General"
        book.remark(row, 3, column.in_words.removeprefix(f"{column.name}: "))
        book.name(f"in_{name}", row)
    return [f"model!$B${FIRST + i}" for i in range(len(model.columns))]


def _write_features(book: _Book, model: Model, cells: list[str]) -> list[str]:
    """The inputs of the network, normalised."""
    columns = model.rule.columns
    fills = book.constants("if inputs are missing", [column.fill for column in columns])
    codes = [
        book.step(f"{column.name} as a number", f'IF({cell}="",{fill},{_code(book, column, cell)})')
        for cell, column, fill in zip(cells, columns, fills, strict=True)
    ]
    means = book.constants("means of inputs", model.inputs.mean.tolist())
    scales = book.constants("scales of inputs", model.inputs.scale.tolist())
    layer = []
    features = zip(model.rule.features, means, scales, strict=True)
    for (i, kind, number, name), mean, scale in features:
        formula = codes[i]
        if kind == "level":
            formula = f"IF({codes[i]}={number:.0f},1,0)"
        elif kind == "missing":
            formula = f'IF({cells[i]}="",1,0)'
        elif kind != "value":
            period, angle = book.constants(name, [number, 2 * math.pi / number])
            formula = f"{kind.upper()}(MOD({codes[i]},{period})*{angle})"
        layer.append(book.step(f"{name}, normalised", f"({formula}-{mean})/{scale}"))
    return layer


def _code(book: _Book, column: Coded, cell: str) -> str:
    """A formula for the code of a cell that is not empty."""
    said = f"{cell}-{_epoch(column)}" if column.kind == "date" else cell
    if column.levels:
        levels = _span(book.constants(f"levels of {column.name}", column.levels))
        validation = book.openpyxl.worksheet.datavalidation.DataValidation
        choice = validation(type="list", formula1=levels, showErrorMessage=False)
        choice.add(cell.partition("!")[2].replace("$", ""))
        book.model.add_data_validation(choice)
        same = f'EXACT({levels},{cell}&"")'
        other = len(column.levels) if column.rare else int(column.fill)
        place = f"SUMPRODUCT({same}*(ROW({levels})-2))"
        said = f"IF(SUMPRODUCT({same}*1)=0,{other},{place})"
    return said


def _write_network(book: _Book, model: Model, layer: list[str]) -> _Steps:
    """A row for each neuron, which reads the rows below it; returns those of the outputs by name.

    These are targets in their units, or what classes score.
    """
    *hidden, last = rows_of(model)
    how = ACTIVATIONS[model.topology.activation.name]
    for h, weights in enumerate(hidden, start=1):
        names = [f"hidden layer {h}, neuron {n}" for n in range(1, len(weights) + 1)]
        layer = _weighted(book, names, layer, weights, how)
    names = list(model.output_names)
    rows = _weighted(book, [f"{name}, weighted sum" for name in names], layer, last, "z")
    if model.output == "softmax":
        most = f"MAX({rows[0]}:{rows[-1]})"
        rows = [book.step("its power", f"EXP({row}-{most})") for row in rows]
        names, total = [f"probability of {name}" for name in names], f"SUM({rows[0]}:{rows[-1]})"
        rows = [book.step(name, f"{row}/{total}") for name, row in zip(names, rows, strict=True)]
    elif not model.classes:
        means = book.constants("means of targets", model.targets.mean.tolist())
        scales = book.constants("scales of targets", model.targets.scale.tolist())
        parts = zip(names, rows, scales, means, strict=True)
        rows = [book.step(name, f"{row}*{scale}+{mean}") for name, row, scale, mean in parts]
    return list(zip(names, rows, strict=True))


def _weighted(
    book: _Book, names: Sequence[str], below: Sequence[str], weights: Array, how: str
) -> list[str]:
    """A row for each neuron; its last weight is a bias."""
    rows = []
    for name, row in zip(names, weights.tolist(), strict=True):
        *read, bias = book.constants(name, row)
        z = f"SUMPRODUCT({_span(read)},{below[0]}:{below[-1]})+{bias}"
        rows.append(book.step(name, how.replace("z", z)))
    return rows


def _write_outputs(book: _Book, model: Model, outputs: _Steps, row: int) -> None:
    """What comes out, below the inputs."""
    shown = [(name, f"calculation!{cell}") for name, cell in outputs]
    names = identifiers(["class", *(name for name, _ in outputs)])  # a label may be class
    if model.classes:
        known = _span(book.constants("classes", model.output_names))
        scores = _span([place for _, place in shown])
        shown.insert(0, ("class", f"INDEX({known},MATCH(MAX({scores}),{scores},0))"))
    for (label, formula), name in zip(shown, names[-len(shown) :], strict=True):
        book.text(book.model, row, 1, label, bold=True)
        book.model.cell(row, 2, f"={formula}").font = book.openpyxl.styles.Font(bold=True)
        book.name(f"out_{name}", row)
        row += 1
