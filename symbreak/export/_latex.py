"""A model as the formula that it is, in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbreak._support.checks import Array, check_count
from symbreak.export._parts import (
    check_model,
    facts,
    inputs_in_words,
    quoted,
    raw_rows_of,
)
from symbreak.models import Model

#: How an activation is applied.
ACTIVATIONS = {
    "tanh": r"\tanh\left(z\right)",
    "sin": r"\sin\left(z\right)",
    "softsign": r"\operatorname{softsign}\left(z\right)",
    "logistic": r"\sigma\left(z\right)",
    "relu": r"\max\left(0, z\right)",
}
#: What readers may want to be told.
DEFINITIONS = {
    "softsign": r"\operatorname{softsign}\left(z\right) &= \frac{z}{1 + \left|z\right|}",
    "logistic": r"\sigma\left(z\right) &= \frac{1}{1 + e^{-z}}",
}


def to_latex(model: Model, digits: int = 5) -> str:
    """Equations, a line for each neuron, from inputs to targets in the units of the data.

    Inputs are ``x_1, x_2, ...``, neuron n of hidden layer l is ``h_{l,n}``, outputs are
    ``y_1, y_2, ...``; comments name them. The scalings of the data are within the numbers, which
    have so many ``digits``; with 17 the formula is that of the model. Of columns with an encoding,
    brackets are 1 where what is in them holds, else 0.

    Raises:
        ValueError: if ``digits`` is not an integer of 1 or more.
    """
    check_model(model)
    digits = min(check_count("digits", digits, 1), 17)
    activation, lines, names = model.topology.activation.name, [], _inputs(model)
    *hidden, last = raw_rows_of(model)
    for number, layer in enumerate(hidden, start=1):
        sums = [_sum(row, names, digits) for row in layer]
        names = [f"h_{{{number},{n}}}" for n in range(1, len(sums) + 1)]
        kind = ACTIVATIONS[activation]
        lines += [f"{h} &= {kind.replace('z', z)}" for h, z in zip(names, sums, strict=True)]
    lines += [f"y_{{{i}}} &= {_sum(row, names, digits)}" for i, row in enumerate(last, start=1)]
    if model.output == "softmax":
        lines.append(r"p_{i} &= e^{y_{i}} / \sum_{j} e^{y_{j}}")
    if activation in DEFINITIONS:
        lines.append(DEFINITIONS[activation])
    legend = [f"x_{i} is {words}" for i, words in enumerate(inputs_in_words(model), start=1)]
    outputs = model.classes or model.target_names
    legend += [f"y_{i} is {quoted(name)}" for i, name in enumerate(outputs, start=1)]
    head = "".join(f"% {fact}\n" for fact in (facts(model)[0], *legend))
    body = " \\\\\n".join(f"  {line}" for line in lines)
    return f"{head}\\begin{{align*}}\n{body}\n\\end{{align*}}\n"


def _inputs(model: Model) -> list[str]:
    """What the first layer reads."""
    terms = []
    for i, kind, number, _ in model.rule.features:
        x = f"x_{{{i + 1}}}"
        wave = rf"\{kind}\left(2\,\pi\,{x} / {number!r}\right)"  # of many days: all its digits
        level = rf"\left[{x} = {number:.0f}\right]"
        missing = rf"\left[{x} \text{{ is missing}}\right]"
        terms.append({"value": x, "level": level, "missing": missing}.get(kind, wave))
    return terms


def _sum(row: Array, names: Sequence[str], digits: int) -> str:
    """The terms of a weighted sum, each with its sign, and the bias with which a row ends."""
    terms = [(w, rf"\,{name}") for w, name in zip(row, names, strict=False)]
    if row[-1] or not np.any(row):
        terms.append((row[-1], ""))
    text = " ".join(f"{'-' if w < 0 else '+'} {_number(abs(w), digits)}{name}" for w, name in terms)
    return text.removeprefix("+ ")


def _number(value: float, digits: int) -> str:
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa
