"""A model as one file of C99 that needs nothing but ``math.h`` and allocates nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from symbreak._support.checks import Array, check_choice, check_flag, check_text, shown
from symbreak.export import _std
from symbreak.export._parts import check_model, facts, identifiers, labels
from symbreak.models import Model
from symbreak.problems._encoding import Coded, Feature

Real = Literal["double", "float"]

#: C99 promises no longer string literals.
MAX_LABEL = 1000
#: How an activation is written; ``@`` is the suffix of functions and numbers, as in ``tanhf``.
ACTIVATIONS = {
    "tanh": "tanh@(z)",
    "sin": "sin@(z)",
    "softsign": "z / (1.0@ + fabs@(z))",
    "logistic": "1.0@ / (1.0@ + exp@(-z))",
    "relu": "z > 0.0@ ? z : 0.0@",
}


def to_c(model: Model, name: str = "model", real: Real = "double", std: bool = False) -> str:
    """A C99 file with the scalings of the model in it.

    ``void NAME_outputs(const REAL *x, REAL *y)`` does what ``model.outputs`` does for one sample:
    inputs and targets are in the units of the data. A classification has
    ``int NAME_class(const REAL *x)`` too, an index into ``NAME_labels``. Columns
    with an encoding are taken raw: a level by its name in an ``enum``, a date in days since 1970,
    and ``NAN`` where one is missing.

    Args:
        model: The model.
        name: What all names in the file begin with.
        real: ``"double"``, or ``"float"`` for small processors.
        std: Add ``void NAME_std(const REAL *x, REAL *std)``, what ``predict(x, return_std=True)``
            gives.

    Raises:
        ValueError: if there are no error bars to add, the name is no identifier, or a number of the
            model is no float.
    """
    check_model(model)
    check_choice("real", real, ("double", "float"))
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,30}", check_text("name", name)):
        raise ValueError(
            f"name must be an identifier of C: a letter, then letters, digits and '_', at most 31 "
            f"in all, got {shown(name)}."
        )
    parts = [_interface(model), _tables(model, real), _functions(model, real)]
    if check_flag("std", std):
        tables = (_table(key, values, real) for key, values in _std.c_tables(model).items())
        parts += ["void NAME_std(const REAL *x, REAL *std);", *tables, _std.c_functions(model)]
    code = "\n".join(parts)
    words = {"NAME": name, "REAL": real, "@": "f" if real == "float" else ""}
    code = re.sub("|".join(words), lambda match: words[match[0]], code)  # a name may hold REAL
    # nothing is replaced in what users named
    return _head(model, std) + code + _labels(model, name)


def _head(model: Model, std: bool) -> str:
    lines = "\n".join(f" * {_comment(fact)}" for fact in facts(model, std))
    return f"/*\n{lines}\n */\n#include <math.h>\n\n"


def _comment(text: str) -> str:
    """A string that cannot end the comment that it stands in."""
    allowed = r"[^A-Za-z0-9 .,:;()+=<>'_/\\-]"
    return re.sub(allowed, lambda match: f"<{ord(match[0]):X}>", text)


def _interface(model: Model) -> str:
    net = model.topology
    n_inputs = net.n_inputs if model.encoding is None else len(model.encoding.columns)
    lines = [
        f"enum {{ NAME_n_inputs = {n_inputs}, NAME_n_outputs = {net.n_outputs} }};",
        *_enums(model),
        "void NAME_outputs(const REAL *x, REAL *y);",
    ]
    if model.classes:
        lines += [
            "int NAME_class(const REAL *x);",
            f"extern const char *const NAME_labels[{net.n_outputs}];",
        ]
    return "\n".join(lines) + "\n"


def _enums(model: Model) -> Iterator[str]:
    """Names for the levels of each column, after that of the column."""
    columns = model.encoding.columns if model.encoding else ()
    names = identifiers([column.name for column in columns])
    for name, column in zip(names, columns, strict=True):
        if column.levels:
            levels = identifiers([*column.levels, *["any other"] * column.rare])
            yield f"enum {{ {', '.join(f'NAME_{name}__{level}' for level in levels)} }};"


def _encoding(columns: Sequence[Coded], features: Sequence[Feature], real: Real) -> str:
    """The function from raw values to the inputs of the network."""
    lines = [
        "static void NAME_encode(const REAL *x, REAL *a)",
        "{",
        f"    REAL c[{len(columns)}];",
        "",
        *(
            f"    c[{i}] = x[{i}] != x[{i}] ? {_number('fill', column.fill, real)} : x[{i}];"
            for i, column in enumerate(columns)
        ),
    ]
    for i, column in enumerate(columns):
        if column.rare:  # whatever is no level
            n = len(column.levels)
            lines.append(f"    c[{i}] = c[{i}] >= 0.0@ && c[{i}] < {n}.0@ ? c[{i}] : {n}.0@;")
    for j, (i, kind, number, _) in enumerate(features):
        value = {
            "value": f"c[{i}]",
            "level": f"c[{i}] == {number:.0f}.0@",
            "missing": f"x[{i}] != x[{i}]",
        }
        if kind in ("sin", "cos"):
            value[kind] = _wave(kind, i, number, real)
        lines.append(f"    a[{j}] = {value[kind]};")
    return "\n".join([*lines, "}", ""])


def _wave(kind: str, i: int, period: float, real: Real) -> str:
    whole, angle = (_number("period", x, real) for x in (period, 2 * math.pi / period))
    return f"{kind}@(fmod@(c[{i}], {whole}) * {angle})"


def _tables(model: Model, real: Real) -> str:
    tables = {"input_mean": model.inputs.mean, "input_scale": model.inputs.scale}
    layers = model.topology.layers(model.theta)
    tables |= {f"layer_{h}": layer for h, layer in enumerate(layers, start=1)}
    tables["output_weights"] = model.output_weights.T
    if not model.classes:
        tables |= {"target_mean": model.targets.mean, "target_scale": model.targets.scale}
    return "\n".join(_table(name, values, real) for name, values in tables.items())


def _labels(model: Model, name: str) -> str:
    if not model.classes:
        return ""
    texts = ",\n".join(f"    {_string(str(label))}" for label in labels(model))
    return f"\nconst char *const {name}_labels[{len(model.classes)}] = {{\n{texts}\n}};\n"


def _table(name: str, values: Array, real: Real) -> str:
    """Rows of numbers, each exactly what the model has, or the nearest float."""
    rows = np.atleast_2d(values)
    texts = ",\n".join("    " + ", ".join(_number(name, x, real) for x in row) for row in rows)
    return f"static const REAL NAME_{name}[{rows.size}] = {{\n{texts}\n}};\n"


def _number(name: str, x: float, real: Real) -> str:
    if real == "double":
        return repr(float(x))
    with np.errstate(over="ignore", under="ignore"):
        nearest = np.float32(x)
    if not np.isfinite(nearest) or ("scale" in name and not nearest > 0):
        raise ValueError(f"{name} has {x:g}, which no float can hold; export with real='double'.")
    text = np.format_float_scientific(nearest, unique=True, trim="0")
    return f"{text}@"


def _string(text: str) -> str:
    """A string literal in UTF-8 whose characters can mean nothing else."""
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_LABEL:
        raise ValueError(f"class labels in C have at most {MAX_LABEL} bytes, got {text[:40]!r} ...")
    plain = re.compile(rb"[A-Za-z0-9 .,:;()+=<>_-]")
    parts = (chr(b) if plain.match(bytes([b])) else f"\\{b:03o}" for b in data)
    return '"' + "".join(parts) + '"'


def _functions(model: Model, real: Real) -> str:
    parts = [_ACTIVATION.replace("EXPRESSION", ACTIVATIONS[model.topology.activation.name]), _SUMS]
    if model.encoding is not None:
        parts.append(_encoding(model.encoding.columns, model.encoding.features, real))
    parts.append(_outputs(model))
    if model.classes:
        parts.append(_CLASS)
    return "\n".join(parts)


def _outputs(model: Model) -> str:
    """The function that computes all outputs, layer by layer."""
    net, raw = model.topology, "x" if model.encoding is None else "a"
    lines = [
        "void NAME_outputs(const REAL *x, REAL *y)",
        "{",
        f"    REAL a[{max(net.sizes)}], b[{max(net.sizes)}];",
        "    int i;",
        "",
        *([] if model.encoding is None else ["    NAME_encode(x, a);"]),
        f"    for (i = 0; i < {net.n_inputs}; i++)",
        f"        a[i] = ({raw}[i] - NAME_input_mean[i]) / NAME_input_scale[i];",
    ]
    source, target = "a", "b"
    for h, (n, fan_in) in enumerate(net.shapes, start=1):
        lines += [
            f"    NAME_sums(NAME_layer_{h}, {n}, {fan_in - 1}, 1, {source}, {target});",
            f"    for (i = 0; i < {n}; i++)",
            f"        {target}[i] = NAME_activation({target}[i]);",
        ]
        source, target = target, source
    shift = int(model.output_shift)
    sums = f"{net.n_outputs}, {net.hidden[-1]}, {shift}, {source}, y"
    lines.append(f"    NAME_sums(NAME_output_weights, {sums});")
    if not model.classes:
        lines += [
            f"    for (i = 0; i < {net.n_outputs}; i++)",
            "        y[i] = y[i] * NAME_target_scale[i] + NAME_target_mean[i];",
        ]
    elif model.output == "softmax":
        lines += _SOFTMAX.splitlines()
    return "\n".join([*lines, "}", ""])


_ACTIVATION = """static REAL NAME_activation(REAL z)
{
    return EXPRESSION;
}
"""

_SUMS = """/* Sums of n_in weighted values for n_out neurons; a row of w may end with a bias. */
static void NAME_sums(const REAL *w, int n_out, int n_in, int shift, const REAL *x, REAL *z)
{
    int n, i;

    for (n = 0; n < n_out; n++, w += n_in + shift) {
        z[n] = 0.0@;
        for (i = 0; i < n_in; i++)
            z[n] += w[i] * x[i];
        if (shift)
            z[n] += w[n_in];
    }
}
"""

_SOFTMAX = """    {
        REAL most = y[0], sum = 0.0@;

        for (i = 1; i < NAME_n_outputs; i++)
            most = y[i] > most ? y[i] : most;
        for (i = 0; i < NAME_n_outputs; i++)
            sum += y[i] = exp@(y[i] - most);
        for (i = 0; i < NAME_n_outputs; i++)
            y[i] /= sum;
    }"""

_CLASS = """int NAME_class(const REAL *x)
{
    REAL y[NAME_n_outputs];
    int i, best = 0;

    NAME_outputs(x, y);
    for (i = 1; i < NAME_n_outputs; i++)
        if (y[i] > y[best])
            best = i;
    return best;
}
"""
