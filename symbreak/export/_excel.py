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
from symbreak.export._parts import check_model, facts, identifiers, labels, rows_of
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
    encoding = model.encoding
    if encoding is None:  # numbers as they are
        means = zip(model.columns, model.inputs.mean.tolist(), strict=True)
        encoding = Encoding(tuple(Coded(str(name), fill=mean) for name, mean in means))
    codes = _samples(model, encoding)
    _write_inputs(book, model, encoding, codes[0])
    outputs, check = _write_steps(book, model, encoding, codes)
    _write_outputs(book, model, outputs, check, FIRST + len(encoding.columns) + 1)
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


def _epoch(column: Coded) -> int:
    """What a sheet has for the day from which we count; times alone were read as of 1900-01-01."""
    return 25_567 if column.pattern.startswith("%H") else 25_569


class _Book:
    """The sheets, and ways to write to them that no text can misuse.

    The sheet of steps has a row for each, with the same formula for every sample; ``@7`` in it is
    row 7 of the same sample.
    """

    def __init__(self, openpyxl: Any) -> None:
        from openpyxl.styles import Font, PatternFill

        self.book = openpyxl.Workbook()
        self.model = self.book.active
        self.model.title = "model"
        self.bold, self.grey = Font(bold=True), Font(color="808080")
        self.yellow = PatternFill("solid", fgColor="FFF2CC")
        self.steps, self.numbers = map(self.book.create_sheet, ("calculation", "numbers"))
        wide = {self.model: (32, 24, 90), self.steps: (44, *[18] * (1 + CHECKS))}
        for sheet, widths in (wide | {self.numbers: (44,)}).items():
            for letter, width in zip(f"A{LETTERS}", widths, strict=False):
                sheet.column_dimensions[letter].width = width
        self._n_steps, self._n_rows, self._n_columns = 1, 1, 3  # numbers alone, and a gap
        for j in range(1 + CHECKS):
            self.text(self.steps, 1, 2 + j, f"check {j}" if j else "yours", self.bold)

    def text(self, sheet: Any, row: int, column: int, text: str, font: Any = None) -> None:
        """A cell that stays text, even if it looks like a formula."""
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

        plain = text.encode("utf-8", "replace").decode()[:32_000]
        cell = sheet.cell(row, column, ILLEGAL_CHARACTERS_RE.sub("?", plain))
        cell.data_type = "s"
        if font is not None:
            cell.font = font

    def name(self, name: str, row: int) -> None:
        """A name for a cell beside a label."""
        from openpyxl.workbook.defined_name import DefinedName

        self.book.defined_names[name] = DefinedName(name, attr_text=f"model!$B${row}")

    def number(self, label: str, value: float) -> str:
        """A constant, in a cell, since formulas may be cut to 15 digits; returns where it is."""
        self._n_rows += 1
        self.text(self.numbers, self._n_rows, 1, label)
        self.numbers.cell(self._n_rows, 2, float(value))
        return f"numbers!$B${self._n_rows}"

    def column(self, label: str, values: Sequence[float | str]) -> str:
        """A column of constants; returns where it is."""
        from openpyxl.utils import get_column_letter

        self._n_columns += 1
        letter = get_column_letter(self._n_columns)
        self.text(self.numbers, 1, self._n_columns, label, self.bold)
        for row, value in enumerate(values, start=2):
            if isinstance(value, str):
                self.text(self.numbers, row, self._n_columns, value)
            else:
                self.numbers.cell(row, self._n_columns, float(value))
        return f"numbers!${letter}$2:${letter}${len(values) + 1}"

    def step(self, label: str, formula: str = "") -> int:
        """A row with a formula for each sample, or an empty one."""
        self._n_steps += 1
        self.text(self.steps, self._n_steps, 1, label)
        for column, letter in enumerate(LETTERS if formula else "", start=2):
            said = re.sub(r"@(\d+)", rf"{letter}\1", formula)
            self.steps.cell(self._n_steps, column, f"={said}")
        return self._n_steps

    def layer(
        self, names: Sequence[str], below: Sequence[int], weights: Array, how: str
    ) -> list[int]:
        """A row for each neuron, which reads the rows below it; its last weight is a bias."""
        rows = []
        for name, (*row, bias) in zip(names, weights.tolist(), strict=True):
            read, shift = self.column(name, row), self.number(f"{name}, bias", bias)
            z = f"SUMPRODUCT({read},@{below[0]}:@{below[-1]})+{shift}"
            rows.append(self.step(name, how.replace("z", z)))
        return rows


def _write_inputs(book: _Book, model: Model, encoding: Encoding, codes: Array) -> None:
    """Cells to fill in, with typical values in them."""
    sheet = book.model
    book.text(sheet, 1, 1, facts(model)[0], book.bold)
    book.text(sheet, 2, 1, "Change the yellow cells; an empty one is missing.", book.grey)
    names = identifiers(encoding.names)
    for row, (column, name, code) in enumerate(
        zip(encoding.columns, names, codes.tolist(), strict=True), start=FIRST
    ):
        book.text(sheet, row, 1, column.name)
        _write_raw(book, sheet, row, 2, column, code)
        book.text(sheet, row, 3, column.in_words.removeprefix(f"{column.name}: "), book.grey)
        sheet.cell(row, 2).fill = book.yellow
        book.name(f"in_{name}", row)


def _write_raw(book: _Book, sheet: Any, row: int, place: int, column: Coded, code: float) -> None:
    """A code as the cell that it came from."""
    if math.isnan(code):
        return
    if column.levels:
        levels = [*column.levels, "any other"]
        book.text(sheet, row, place, levels[int(code)])
    else:
        days = column.kind == "date"
        cell = sheet.cell(row, place, code + _epoch(column) if days else code)
        if days:
            cell.number_format = "yyyy-mm-dd hh:mm"


def _write_steps(
    book: _Book, model: Model, encoding: Encoding, codes: Array
) -> tuple[list[tuple[str, int]], str]:
    """All that is computed; returns rows of the outputs by name, and where the check stands."""
    cells = [book.step(column.name) for column in encoding.columns]
    for i, (row, column) in enumerate(zip(cells, encoding.columns, strict=True)):
        yours = f"model!$B${FIRST + i}"
        book.steps.cell(row, 2, f'=IF(ISBLANK({yours}),"",{yours})')
        for j, code in enumerate(codes[1:, i].tolist(), start=3):
            _write_raw(book, book.steps, row, j, column, code)
    numbered = [
        book.step(f"{column.name} as a number", _code(book, column, f"@{row}", FIRST + i))
        for i, (row, column) in enumerate(zip(cells, encoding.columns, strict=True))
    ]
    layer = []
    for j, (i, kind, number, name) in enumerate(encoding.features):
        x, formula = f"@{numbered[i]}", f"@{numbered[i]}"
        if kind == "level":
            formula = f"IF({x}={number:.0f},1,0)"
        elif kind == "missing":
            formula = f'IF(@{cells[i]}="",1,0)'
        elif kind != "value":
            period, angle = (book.number(name, v) for v in (number, 2 * math.pi / number))
            formula = f"{kind.upper()}(MOD({x},{period})*{angle})"
        mean = book.number(f"mean of {name}", model.inputs.mean[j])
        scale = book.number(f"scale of {name}", model.inputs.scale[j])
        layer.append(book.step(f"{name}, normalised", f"({formula}-{mean})/{scale}"))
    *hidden, last = rows_of(model)
    for h, weights in enumerate(hidden, start=1):
        names = [f"hidden layer {h}, neuron {n}" for n in range(1, len(weights) + 1)]
        layer = book.layer(names, layer, weights, ACTIVATIONS[model.topology.activation.name])
    names = [str(name) for name in labels(model) or model.target_names]
    names = names or [f"y{i + 1}" for i in range(len(last))]
    rows = book.layer([f"{name}, weighted sum" for name in names], layer, last, "z")
    return _outputs(book, model, names, rows, model.outputs(encoding.inputs(codes)))


def _code(book: _Book, column: Coded, cell: str, row: int) -> str:
    """A formula for the code of a cell, which is filled if it is empty."""
    said = f"{cell}-{_epoch(column)}" if column.kind == "date" else cell
    if column.levels:
        from openpyxl.worksheet.datavalidation import DataValidation

        levels = book.column(f"levels of {column.name}", column.levels)
        choice = DataValidation(type="list", formula1=levels, showErrorMessage=False)
        choice.add(book.model.cell(row, 2))
        book.model.add_data_validation(choice)
        same = f'EXACT({levels},{cell}&"")'
        other = len(column.levels) if column.rare else int(column.fill)
        place = f"SUMPRODUCT({same}*(ROW({levels})-2))"
        said = f"IF(SUMPRODUCT({same}*1)=0,{other},{place})"
    fill = book.number(f"{column.name}, if it is missing", column.fill)
    return f'IF({cell}="",{fill},{said})'


def _outputs(
    book: _Book, model: Model, names: list[str], rows: list[int], truth: Array
) -> tuple[list[tuple[str, int]], str]:
    """Names of outputs with their rows, and the range of their differences from the model."""
    if model.output == "softmax":
        most = f"MAX(@{rows[0]}:@{rows[-1]})"
        rows = [book.step("its power", f"EXP(@{row}-{most})") for row in rows]
        names, total = [f"probability of {n}" for n in names], f"SUM(@{rows[0]}:@{rows[-1]})"
        rows = [book.step(n, f"@{row}/{total}") for n, row in zip(names, rows, strict=True)]
    elif not model.classes:
        for i, name in enumerate(names):
            mean = book.number(f"mean of {name}", model.targets.mean[i])
            scale = book.number(f"scale of {name}", model.targets.scale[i])
            rows[i] = book.step(name, f"@{rows[i]}*{scale}+{mean}")
    known = [book.step(f"{name}, as the model says") for name in names]
    for row, values in zip(known, truth.T.tolist(), strict=True):
        for j, value in enumerate(values[1:], start=3):
            book.steps.cell(row, j, value)
    pairs = zip(names, rows, known, strict=True)
    off = [book.step(f"{name}, difference", f"ABS(@{a}-@{b})") for name, a, b in pairs]
    for row in off:  # nothing is known of the user's
        book.steps.cell(row, 2).value = None
    return list(zip(names, rows, strict=True)), f"calculation!$C${off[0]}:$J${off[-1]}"


def _write_outputs(
    book: _Book, model: Model, outputs: Sequence[tuple[str, int]], check: str, row: int
) -> None:
    """What the user's sample gives, and how far the formulas are from the model."""
    sheet, (_, first), (_, last) = book.model, outputs[0], outputs[-1]
    if model.classes:
        known = book.column("classes", [str(label) for label in labels(model)])
        scores = f"calculation!$B${first}:$B${last}"
        book.text(sheet, row, 1, "class", book.bold)
        sheet.cell(row, 2, f"=INDEX({known},MATCH(MAX({scores}),{scores},0))").font = book.bold
        book.name("out_class", row)
        row += 1
    names = identifiers(["class", *(name for name, _ in outputs)])[1:]  # a label may be class
    for (name, place), out in zip(outputs, names, strict=True):
        book.text(sheet, row, 1, name, book.bold)
        sheet.cell(row, 2, f"=calculation!$B${place}").font = book.bold
        book.name(f"out_{out}", row)
        row += 1
    book.text(sheet, row + 1, 1, "check: largest difference", book.grey)
    sheet.cell(row + 1, 2, f"=MAX({check})").number_format = "0.0E+00"
    book.text(sheet, row + 1, 3, f"from the model, over {CHECKS} samples", book.grey)
    book.name("check", row + 1)
