"""A model as a workbook whose formulas are live; needs the extra ``symbreak[excel]``."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from symbreak._support.checks import Array
from symbreak._support.words import needed
from symbreak.export._parts import check_model, facts, identifiers, rows_of
from symbreak.models import Model
from symbreak.problems._encoding import Coded, Encoding

#: How an activation of z is written.
ACTIVATIONS = {
    "tanh": "TANH(z)",
    "sin": "SIN(z)",
    "softsign": "(z)/(1+ABS(z))",
    "logistic": "1/(1+EXP(MIN(700,-(z))))",
    "relu": "MAX(0,z)",
}
#: Samples that the formulas are checked on, and the columns of all, that of the user first.
CHECKS, LETTERS = 8, "BCDEFGHIJ"
#: What the columns of a sheet have room for, levels included.
MAX_NEURONS = 10_000
#: The row of the first input.
FIRST = 4

_Rows = list[tuple[str, int]]


def to_excel(model: Model) -> bytes:
    """An .xlsx file: inputs in named cells, outputs that follow them, and a check.

    The sheet "calculation" has a row for each step and a column for each sample. The first sample
    is the user's; outputs of the others are compared with those of the model. A missing value is an
    empty cell, a level is its name, and a date is a date.

    Raises:
        ValueError: if the package openpyxl is missing, or there are more neurons than columns.
    """
    if (n := sum(check_model(model).topology.sizes)) > MAX_NEURONS:
        raise ValueError(f"a workbook has room for {MAX_NEURONS:,} neurons, the model has {n:,}.")
    book = _Book(needed("openpyxl", "excel", "a workbook needs"))
    encoding, codes = model.rule, _samples(model, model.rule)
    cells = _write_inputs(book, facts(model)[0], encoding, codes)
    rows = _write_network(book, model, _write_features(book, model, encoding, cells))
    check = _write_check(book, rows, model.outputs(encoding.inputs(codes)))
    _write_outputs(book, model, rows, check, FIRST + len(encoding.columns) + 1)
    content = io.BytesIO()
    book.book.save(content)
    return content.getvalue()


def _samples(model: Model, encoding: Encoding) -> Array:
    """Codes of a typical sample, and of others for the check, the last with gaps."""
    rng = np.random.default_rng(0)
    codes = np.tile([column.fill for column in encoding.columns], (1 + CHECKS, 1))
    for j, (i, kind, _, _) in enumerate(encoding.features):
        if kind == "value":
            codes[1:, i] = model.inputs.mean[j] + model.inputs.scale[j] * rng.normal(size=CHECKS)
    for i, column in enumerate(encoding.columns):
        if column.levels:
            codes[1:, i] = rng.integers(len(column.levels) + column.rare, size=CHECKS)
        elif column.kind == "date":  # in hours that sheets hold exactly, although they add days
            codes[:, i] = np.round(8 * codes[:, i]) / 8
        if column.missing:
            codes[-1, i] = math.nan
    return codes


class _Book:
    """The sheets, and ways to write to them that no text can misuse.

    The sheet of steps has a row for each, with the same formula for every sample; ``@7`` in it is
    row 7 of the same sample.
    """

    def __init__(self, openpyxl: Any) -> None:
        self.openpyxl, self.book = openpyxl, openpyxl.Workbook()
        self.model = self.book.active
        self.model.title = "model"
        self.steps, self.numbers = map(self.book.create_sheet, ("calculation", "numbers"))
        for sheet, widths in ((self.model, (32, 24, 90)), (self.steps, (44, *[18] * 9))):
            for letter, width in zip(f"A{LETTERS}", widths, strict=False):
                sheet.column_dimensions[letter].width = width
        self._n_steps, self._n_columns = 1, 0
        for j, _ in enumerate(LETTERS):
            self.text(self.steps, 1, 2 + j, f"check {j}" if j else "yours", bold=True)

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

    def step(self, label: str, formula: str = "") -> int:
        """A row with a formula for each sample, or an empty one."""
        self._n_steps += 1
        self.text(self.steps, self._n_steps, 1, label)
        for column, letter in enumerate(LETTERS if formula else "", start=2):
            said = re.sub(r"@(\d+)", rf"{letter}\1", formula)
            self.steps.cell(self._n_steps, column, f"={said}")
        return self._n_steps

    def raw(self, sheet: Any, row: int, place: int, column: Coded, code: float) -> None:
        """A code as the cell that it came from."""
        if math.isnan(code):
            return
        if column.levels:
            levels = [*column.levels, "any other"]
            self.text(sheet, row, place, levels[int(code)])
        elif column.kind == "date":
            cell = sheet.cell(row, place, code + _epoch(column))
            cell.number_format = "yyyy-mm-dd hh:mm"
        else:
            sheet.cell(row, place, code)


def _epoch(column: Coded) -> int:
    """What a sheet has for the day from which we count; times alone were read as of 1900-01-01."""
    return 25_567 if column.pattern.startswith("%H") else 25_569


def _span(cells: Sequence[str]) -> str:
    return f"{cells[0]}:{cells[-1].partition('!')[2]}"


def _write_inputs(book: _Book, title: str, encoding: Encoding, codes: Array) -> list[int]:
    """Cells to fill in, with typical values in them; returns the steps that begin with them."""
    book.text(book.model, 1, 1, title, bold=True)
    book.remark(2, 1, "Change the yellow cells; an empty one is missing.")
    yellow = book.openpyxl.styles.PatternFill("solid", fgColor="FFF2CC")
    rows = []
    for i, (column, name) in enumerate(
        zip(encoding.columns, identifiers(encoding.names), strict=True)
    ):
        place = FIRST + i
        book.text(book.model, place, 1, column.name)
        book.raw(book.model, place, 2, column, codes[0, i])
        book.remark(place, 3, column.in_words.removeprefix(f"{column.name}: "))
        book.model.cell(place, 2).fill = yellow
        book.name(f"in_{name}", place)
        rows.append(row := book.step(column.name))
        book.steps.cell(row, 2, f'=IF(ISBLANK(model!$B${place}),"",model!$B${place})')
        for j, code in enumerate(codes[1:, i].tolist(), start=3):
            book.raw(book.steps, row, j, column, code)
    return rows


def _write_features(book: _Book, model: Model, encoding: Encoding, cells: list[int]) -> list[int]:
    """The inputs of the network, normalised."""
    numbered = [
        book.step(f"{column.name} as a number", _code(book, column, f"@{row}", FIRST + i))
        for i, (row, column) in enumerate(zip(cells, encoding.columns, strict=True))
    ]
    means = book.constants("means of inputs", model.inputs.mean.tolist())
    scales = book.constants("scales of inputs", model.inputs.scale.tolist())
    layer = []
    for (i, kind, number, name), mean, scale in zip(encoding.features, means, scales, strict=True):
        x = formula = f"@{numbered[i]}"
        if kind == "level":
            formula = f"IF({x}={number:.0f},1,0)"
        elif kind == "missing":
            formula = f'IF(@{cells[i]}="",1,0)'
        elif kind != "value":
            period, angle = book.constants(name, [number, 2 * math.pi / number])
            formula = f"{kind.upper()}(MOD({x},{period})*{angle})"
        layer.append(book.step(f"{name}, normalised", f"({formula}-{mean})/{scale}"))
    return layer


def _code(book: _Book, column: Coded, cell: str, row: int) -> str:
    """A formula for the code of a cell, which is filled if it is empty."""
    said = f"{cell}-{_epoch(column)}" if column.kind == "date" else cell
    if column.levels:
        levels = _span(book.constants(f"levels of {column.name}", column.levels))
        validation = book.openpyxl.worksheet.datavalidation.DataValidation
        choice = validation(type="list", formula1=levels, showErrorMessage=False)
        choice.add(book.model.cell(row, 2))
        book.model.add_data_validation(choice)
        same = f'EXACT({levels},{cell}&"")'
        other = len(column.levels) if column.rare else int(column.fill)
        place = f"SUMPRODUCT({same}*(ROW({levels})-2))"
        said = f"IF(SUMPRODUCT({same}*1)=0,{other},{place})"
    (fill,) = book.constants(f"{column.name}, if it is missing", [column.fill])
    return f'IF({cell}="",{fill},{said})'


def _write_network(book: _Book, model: Model, layer: list[int]) -> _Rows:
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
        most = f"MAX(@{rows[0]}:@{rows[-1]})"
        rows = [book.step("its power", f"EXP(@{row}-{most})") for row in rows]
        names, total = [f"probability of {name}" for name in names], f"SUM(@{rows[0]}:@{rows[-1]})"
        rows = [book.step(name, f"@{row}/{total}") for name, row in zip(names, rows, strict=True)]
    elif not model.classes:
        means = book.constants("means of targets", model.targets.mean.tolist())
        scales = book.constants("scales of targets", model.targets.scale.tolist())
        parts = zip(names, rows, scales, means, strict=True)
        rows = [book.step(name, f"@{row}*{scale}+{mean}") for name, row, scale, mean in parts]
    return list(zip(names, rows, strict=True))


def _weighted(
    book: _Book, names: Sequence[str], below: Sequence[int], weights: Array, how: str
) -> list[int]:
    """A row for each neuron; its last weight is a bias."""
    rows = []
    for name, row in zip(names, weights.tolist(), strict=True):
        *read, bias = book.constants(name, row)
        z = f"SUMPRODUCT({_span(read)},@{below[0]}:@{below[-1]})+{bias}"
        rows.append(book.step(name, how.replace("z", z)))
    return rows


def _write_check(book: _Book, outputs: _Rows, truth: Array) -> str:
    """What the model says of all samples but the user's; where the differences stand."""
    known = [book.step(f"{name}, as the model says") for name, _ in outputs]
    for row, values in zip(known, truth[1:].T.tolist(), strict=True):
        for j, value in enumerate(values, start=3):
            book.steps.cell(row, j, value)
    pairs = zip(outputs, known, strict=True)
    off = [
        book.step(f"{name}, difference", f'IF(@{b}="","",ABS(@{a}-@{b}))') for (name, a), b in pairs
    ]
    return f"calculation!$C${off[0]}:$J${off[-1]}"


def _write_outputs(book: _Book, model: Model, outputs: _Rows, check: str, row: int) -> None:
    """What the user's sample gives, and how far the formulas are from the model."""
    shown = [(name, f"calculation!$B${row}") for name, row in outputs]
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
    book.remark(row + 1, 1, "check: largest difference")
    book.model.cell(row + 1, 2, f"=MAX({check})").number_format = "0.0E+00"
    book.remark(row + 1, 3, f"from the model, over {CHECKS} samples")
    book.name("check", row + 1)
