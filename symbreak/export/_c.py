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
from symbreak.export._parts import check_model, directions_of, facts, identifiers, rows_of
from symbreak.models import Model

Real = Literal["double", "float"]

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
    net, columns = model.topology, model.rule.columns
    yield f"enum {{ NAME_n_inputs = {len(columns)}, NAME_n_outputs = {net.n_outputs} }};"
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
    texts = ",\n".join(f"    {_string(label)}" for label in model.output_names)
    return f"\nconst char *const {name}_labels[{len(model.classes)}] = {{\n{texts}\n}};\n"


def _string(text: str) -> str:
    """A string literal in UTF-8 whose characters can mean nothing else."""
    plain = re.compile(rb"[A-Za-z0-9 .,:;()+=<>_-]")
    data = text.encode("utf-8", "replace")
    safe = "".join(chr(b) if plain.match(bytes([b])) else f"\\{b:03o}" for b in data)
    return f'"{safe}"'


def _std_tables(model: Model, real: Real) -> Iterator[str]:
    """All that the standard deviations need, of each network of the mixture."""
    bars = model.check_error_bars()
    most = max(sum(member.topology.sizes) for member in bars.members)
    yield f"enum {{ NAME_most_neurons = {most} }};"
    yield _table("calibration", [bars.scale], real)
    for m, member in enumerate(bars.members):
        yield from _network_tables(member, f"_{m}", real)
        yield _table(f"noise_{m}", [member.noise], real)
        yield _table(f"directions_{m}", list(map(_flat, directions_of(member))), real)


def _flat(layers: list[Array]) -> Array:
    return np.concatenate([rows.ravel() for rows in layers])


def _std(model: Model) -> Iterator[str]:
    """The function that adds up what the networks of the mixture say."""
    yield _STD_BEGINS
    for m, member in enumerate(model.check_error_bars().members):
        tables = ", ".join(f"NAME_{what}_{m}" for what in ("weights", "noise", "directions"))
        sizes = f"{len(member.topology.hidden)}, NAME_sizes_{m}, {len(member.factor)}"
        yield f"    NAME_member(x, {sizes}, {tables}, {member.share!r}@, mean, std);"
    yield _STD_ENDS


_NETWORK = """static REAL NAME_activation(REAL z)
{
    return ACTIVATION;
}

/* Sums z and outputs a of all neurons, layer after layer, from the inputs, with which a begins;
 * returns where those of the last layer are. */
static REAL *NAME_network(int n_hidden, const int *sizes, const REAL *w, REAL *z, REAL *a)
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
    return a;
}
"""

_OUTPUTS = """void NAME_outputs(const REAL *x, REAL *y)
{
    const int n_hidden = sizeof NAME_sizes / sizeof *NAME_sizes - 2;
    REAL z[NAME_n_neurons], a[NAME_n_neurons], *last;
    int i;

    NAME_inputs(x, a);
    last = NAME_network(n_hidden, NAME_sizes, NAME_weights, z, a);
    for (i = 0; i < NAME_n_outputs; i++)
        y[i] = last[i];"""

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

/* How the outputs of a network change as its weights w do along v; d is as long as a. */
static REAL *NAME_along(int n_hidden, const int *sizes, const REAL *w, const REAL *v,
                        const REAL *z, const REAL *a, REAL *d)
{
    int h, i, n;

    for (i = 0; i < sizes[0]; i++)
        d[i] = 0.0@;
    for (h = 0; h <= n_hidden; h++, a += sizes[h - 1], d += sizes[h - 1]) {
        z += sizes[h];
        for (n = 0; n < sizes[h + 1]; n++, w += sizes[h] + 1, v += sizes[h] + 1) {
            REAL sum = v[sizes[h]];

            for (i = 0; i < sizes[h]; i++)
                sum += v[i] * a[i] + w[i] * d[i];
            d[sizes[h] + n] = h < n_hidden ? sum * NAME_slope(z[n], a[sizes[h] + n]) : sum;
        }
    }
    return d;
}

/* Adds what a network of the mixture says: its share of noise, open weights and distance. */
static void NAME_member(const REAL *x, int n_hidden, const int *sizes, int n_directions,
                        const REAL *weights, const REAL *noise, const REAL *directions,
                        REAL share, const REAL *mean, REAL *total)
{
    REAL z[NAME_most_neurons], a[NAME_most_neurons], d[NAME_most_neurons], *y, *change;
    int h, j, r, n_weights = 0;

    NAME_inputs(x, a);
    y = NAME_network(n_hidden, sizes, weights, z, a);
    for (h = 0; h <= n_hidden; h++)
        n_weights += sizes[h + 1] * (sizes[h] + 1);
    for (j = 0; j < NAME_n_outputs; j++)
        total[j] += share * (noise[j] * noise[j] + (y[j] - mean[j]) * (y[j] - mean[j]));
    for (r = 0; r < n_directions; r++, directions += n_weights) {
        change = NAME_along(n_hidden, sizes, weights, directions, z, a, d);
        for (j = 0; j < NAME_n_outputs; j++)
            total[j] += share * noise[j] * noise[j] * change[j] * change[j];
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
