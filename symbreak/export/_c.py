"""A model as one file of C99 that needs nothing but ``math.h`` and allocates nothing."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from typing import Literal

import numpy as np

from symbreak._error_bars import Member
from symbreak._support.checks import Array, check_choice, check_flag, check_text, shown
from symbreak.export._parts import check_model, facts, identifiers, labels, rows_of
from symbreak.models import Model

Real = Literal["double", "float"]

#: C99 promises no longer string literals.
MAX_LABEL = 1000
#: An activation and its derivative, given z and a = f(z); ``@`` is the suffix of functions and
#: numbers, as in ``tanhf``.
ACTIVATIONS = {
    "tanh": ("tanh@(z)", "1.0@ - a * a"),
    "sin": ("sin@(z)", "cos@(z)"),
    "softsign": ("z / (1.0@ + fabs@(z))", "(1.0@ - fabs@(a)) * (1.0@ - fabs@(a))"),
    "logistic": ("1.0@ / (1.0@ + exp@(-z))", "a * (1.0@ - a)"),
    "relu": ("z > 0.0@ ? z : 0.0@", "z > 0.0@ ? 1.0@ : 0.0@"),
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
    parts = [*_interface(model), *_tables(model, real), _NETWORK, *_inputs(model, real)]
    parts += [_OUTPUTS, _SOFTMAX if model.output == "softmax" else "" if model.classes else _UNITS]
    parts += ["}\n", *([_CLASS] if model.classes else [])]
    if check_flag("std", std):
        parts += [_DECLARED_STD, *_std_tables(model, real), _MEMBER, *_std(model)]
    activation, slope = ACTIVATIONS[model.topology.activation.name]
    words = {"NAME": name, "REAL": real, "ACTIVATION": activation, "SLOPE": slope}
    words_alone = r"\b(NAME(?=_)|(REAL|ACTIVATION|SLOPE)\b)"  # they may be parts of users' names
    code = re.sub(words_alone, lambda match: words[match[0]], "\n".join(parts))
    code = code.replace("@", "f" if real == "float" else "")
    comment = "\n".join(f" * {_comment(fact)}" for fact in facts(model, std))
    return f"/*\n{comment}\n */\n#include <math.h>\n\n{code}{_labels(model, name)}"


def _comment(text: str) -> str:
    """A string that cannot end the comment that it stands in."""
    allowed = r"[^A-Za-z0-9 .,:;()+=<>'_/\\-]"
    return re.sub(allowed, lambda match: f"<{ord(match[0]):X}>", text)


def _interface(model: Model) -> Iterator[str]:
    """What is declared; levels of columns have names, after that of the column."""
    net, columns = model.topology, model.encoding.columns if model.encoding else ()
    n_inputs = len(columns) or net.n_inputs
    yield f"enum {{ NAME_n_inputs = {n_inputs}, NAME_n_outputs = {net.n_outputs} }};"
    for name, column in zip(identifiers([one.name for one in columns]), columns, strict=True):
        if column.levels:
            levels = identifiers([*column.levels, *["any other"] * column.rare])
            yield f"enum {{ {', '.join(f'NAME_{name}__{level}' for level in levels)} }};"
    yield "void NAME_outputs(const REAL *x, REAL *y);"
    if model.classes:
        yield "int NAME_class(const REAL *x);"
        yield f"extern const char *const NAME_labels[{net.n_outputs}];"
    yield ""


def _tables(model: Model, real: Real) -> Iterator[str]:
    yield f"enum {{ NAME_n_neurons = {sum(model.topology.sizes)} }};"
    yield _table("input_mean", [model.inputs.mean], real)
    yield _table("input_scale", [model.inputs.scale], real)
    yield from _network_tables(model, "", real)
    if not model.classes:
        yield _table("target_mean", [model.targets.mean], real)
        yield _table("target_scale", [model.targets.scale], real)


def _network_tables(network: Model | Member, suffix: str, real: Real) -> Iterator[str]:
    sizes = ", ".join(map(str, network.topology.sizes))
    yield f"static const int NAME_sizes{suffix}[] = {{{sizes}}};"
    yield "/* A row for each neuron, layer by layer, the outputs last; it ends with a bias. */"
    yield _table(f"weights{suffix}", list(itertools.chain(*rows_of(network))), real)


def _table(name: str, rows: list[Array], real: Real) -> str:
    """Rows of numbers, each exactly what the model has, or the nearest float."""
    texts = ",\n".join("    " + ", ".join(_number(name, x, real) for x in row) for row in rows)
    return f"static const REAL NAME_{name}[{sum(map(len, rows))}] = {{\n{texts}\n}};\n"


def _number(name: str, x: float, real: Real) -> str:
    if real == "double":
        return repr(float(x))
    with np.errstate(over="ignore", under="ignore"):
        nearest = np.float32(x)
    if not np.isfinite(nearest) or ("scale" in name and not nearest > 0):
        raise ValueError(f"{name} has {x:g}, which no float can hold; export with real='double'.")
    text = np.format_float_scientific(nearest, unique=True, trim="0")
    return f"{text}@"


def _inputs(model: Model, real: Real) -> Iterator[str]:
    """The function from raw values to the inputs of the network."""
    yield "static void NAME_inputs(const REAL *x, REAL *a)\n{"
    if model.encoding is None:
        yield "    int i;\n"
        yield f"    for (i = 0; i < {model.topology.n_inputs}; i++)\n        a[i] = x[i];"
    else:
        columns = model.encoding.columns
        yield f"    REAL c[{len(columns)}];\n    int i;\n"
        for i, column in enumerate(columns):
            yield f"    c[{i}] = x[{i}] != x[{i}] ? {_number('fill', column.fill, real)} : x[{i}];"
            if column.rare:  # whatever is no level
                n = len(column.levels)
                yield f"    c[{i}] = c[{i}] >= 0.0@ && c[{i}] < {n}.0@ ? c[{i}] : {n}.0@;"
        for j, (i, kind, number, _) in enumerate(model.encoding.features):
            value = f"c[{i}]"
            if kind == "level":
                value = f"c[{i}] == {number:.0f}.0@"
            elif kind == "missing":
                value = f"x[{i}] != x[{i}]"
            elif kind != "value":
                period, angle = (_number("period", v, real) for v in (number, 2 * math.pi / number))
                value = f"{kind}@(fmod@(c[{i}], {period}) * {angle})"
            yield f"    a[{j}] = {value};"
    yield f"    for (i = 0; i < {model.topology.n_inputs}; i++)"
    yield "        a[i] = (a[i] - NAME_input_mean[i]) / NAME_input_scale[i];\n}\n"


def _labels(model: Model, name: str) -> str:
    if not model.classes:
        return ""
    texts = ",\n".join(f"    {_string(str(label))}" for label in labels(model))
    return f"\nconst char *const {name}_labels[{len(model.classes)}] = {{\n{texts}\n}};\n"


def _string(text: str) -> str:
    """A string literal in UTF-8 whose characters can mean nothing else."""
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_LABEL:
        raise ValueError(f"class labels in C have at most {MAX_LABEL} bytes, got {text[:40]!r} ...")
    plain = re.compile(rb"[A-Za-z0-9 .,:;()+=<>_-]")
    parts = (chr(b) if plain.match(bytes([b])) else f"\\{b:03o}" for b in data)
    return '"' + "".join(parts) + '"'


def _std_tables(model: Model, real: Real) -> Iterator[str]:
    """All that the standard deviations need, of each network of the mixture."""
    bars = model.check_error_bars()
    nets = [member.topology for member in bars.members]
    n_weights = [net.dim + (net.hidden[-1] + 1) * net.n_outputs for net in nets]
    most = {"neurons": max(sum(net.sizes) for net in nets), "weights": max(n_weights)}
    yield f"enum {{ {', '.join(f'NAME_most_{what} = {n}' for what, n in most.items())} }};"
    yield _table("calibration", [bars.scale], real)
    for m, member in enumerate(bars.members):
        yield from _network_tables(member, f"_{m}", real)
        yield _table(f"noise_{m}", [member.noise], real)
        yield _table(f"factor_{m}", [row[: i + 1] for i, row in enumerate(member.factor)], real)


def _std(model: Model) -> Iterator[str]:
    """The function that adds up what the networks of the mixture say."""
    yield _STD_BEGINS
    for m, member in enumerate(model.check_error_bars().members):
        tables = ", ".join(f"NAME_{what}_{m}" for what in ("weights", "factor", "noise"))
        sizes = f"{len(member.topology.hidden)}, NAME_sizes_{m}, {len(member.factor)}"
        yield f"    NAME_member(x, {sizes}, {tables}, {member.share!r}@, mean, std);"
    yield _STD_ENDS


_NETWORK = """static REAL NAME_activation(REAL z)
{
    return ACTIVATION;
}

/* Sums z and outputs a of all neurons, layer after layer, from the inputs, with which a begins. */
static void NAME_network(int n_hidden, const int *sizes, const REAL *w, REAL *z, REAL *a)
{
    int h, i, n;

    for (h = 0; h <= n_hidden; h++, a += sizes[h - 1]) {
        z += sizes[h];
        for (n = 0; n < sizes[h + 1]; n++, w += sizes[h] + 1) {
            z[n] = 0.0@;
            for (i = 0; i < sizes[h]; i++)
                z[n] += w[i] * a[i];
            z[n] += w[sizes[h]];
            a[sizes[h] + n] = h < n_hidden ? NAME_activation(z[n]) : z[n];
        }
    }
}
"""

_OUTPUTS = """void NAME_outputs(const REAL *x, REAL *y)
{
    const int n_hidden = sizeof NAME_sizes / sizeof *NAME_sizes - 2;
    REAL z[NAME_n_neurons], a[NAME_n_neurons];
    int i;

    NAME_inputs(x, a);
    NAME_network(n_hidden, NAME_sizes, NAME_weights, z, a);
    for (i = 0; i < NAME_n_outputs; i++)
        y[i] = a[NAME_n_neurons - NAME_n_outputs + i];"""

_UNITS = """    for (i = 0; i < NAME_n_outputs; i++)
        y[i] = y[i] * NAME_target_scale[i] + NAME_target_mean[i];"""

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

_DECLARED_STD = "void NAME_std(const REAL *x, REAL *std);"

_MEMBER = """static REAL NAME_slope(REAL z, REAL a)
{
    (void)z;
    (void)a;
    return SLOPE;
}

/* Adds what a network of the mixture says: its share of noise, open weights and distance.
 * The derivatives of an output by all weights are found layer by layer, from the last. */
static void NAME_member(const REAL *x, int n_hidden, const int *sizes, int n_weights,
                        const REAL *weights, const REAL *factor, const REAL *noise, REAL share,
                        const REAL *mean, REAL *total)
{
    REAL z[NAME_most_neurons], a[NAME_most_neurons], back[NAME_most_neurons];
    REAL jacobian[NAME_most_weights];
    const int q = NAME_n_outputs;
    int h, i, j, n, p, c, r, from, to, n_theta;

    NAME_inputs(x, a);
    NAME_network(n_hidden, sizes, weights, z, a);
    for (h = 0, from = 0, n_theta = 0; h < n_hidden; from += sizes[h++])
        n_theta += sizes[h + 1] * (sizes[h] + 1);
    for (j = 0; j < q; j++) {
        const int last = sizes[n_hidden];
        const REAL *w = weights + n_theta + j * (last + 1);
        REAL off = a[from + last + j] - mean[j], open = 0.0@;

        for (p = n_theta; p < n_theta + (last + 1) * q; p++)
            jacobian[p] = 0.0@;
        for (i = 0; i < last; i++) {
            jacobian[n_theta + i * q + j] = a[from + i];
            back[from + i] = w[i] * NAME_slope(z[from + i], a[from + i]);
        }
        jacobian[n_theta + last * q + j] = 1.0@;
        for (h = n_hidden, p = n_theta, to = from; h > 0; h--) {
            const int width = sizes[h - 1], below = to - width;

            p -= sizes[h] * (width + 1);
            for (i = 0; i < width; i++)
                back[below + i] = 0.0@;
            for (n = 0; n < sizes[h]; n++) {
                for (i = 0; i < width; i++) {
                    jacobian[p + n * (width + 1) + i] = back[to + n] * a[below + i];
                    back[below + i] += back[to + n] * weights[p + n * (width + 1) + i];
                }
                jacobian[p + n * (width + 1) + width] = back[to + n];
            }
            for (i = 0; h > 1 && i < width; i++)
                back[below + i] *= NAME_slope(z[below + i], a[below + i]);
            to = below;
        }
        for (r = 0, p = 0; r < n_weights; r++) {
            REAL sum = 0.0@;

            for (c = 0; c <= r; c++, p++)
                sum += factor[p] * jacobian[c];
            open += sum * sum;
        }
        total[j] += share * (noise[j] * noise[j] * (1.0@ + open) + off * off);
    }
}
"""

_STD_BEGINS = """void NAME_std(const REAL *x, REAL *std)
{
    REAL mean[NAME_n_outputs];
    int i;

    NAME_outputs(x, mean);
    for (i = 0; i < NAME_n_outputs; i++) {
        mean[i] = (mean[i] - NAME_target_mean[i]) / NAME_target_scale[i];
        std[i] = 0.0@;
    }"""

_STD_ENDS = """    for (i = 0; i < NAME_n_outputs; i++)
        std[i] = sqrt@(std[i]) * NAME_calibration[i] * NAME_target_scale[i];
}
"""
