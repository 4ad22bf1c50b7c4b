"""Error bars in exports: what the standard deviations of a model need, and code that computes them.

For each network of the mixture: its outputs, their derivatives by all weights, layer by layer from
the last, and these times the factor of the covariance.
"""

from __future__ import annotations

import numpy as np

from symbreak._support.checks import Array
from symbreak.error_bars import Member
from symbreak.models import Model

#: Derivatives of activations, given z and a = f(z); ``@`` as in those of C.
C_SLOPES = {
    "tanh": "1.0@ - a * a",
    "sin": "cos@(z)",
    "softsign": "(1.0@ - fabs@(a)) * (1.0@ - fabs@(a))",
    "logistic": "a * (1.0@ - a)",
    "relu": "z > 0.0@ ? 1.0@ : 0.0@",
}
PYTHON_SLOPES = {
    "tanh": "1.0 - a * a",
    "sin": "math.cos(z)",
    "softsign": "(1.0 - abs(a)) ** 2",
    "logistic": "a * (1.0 - a)",
    "relu": "1.0 if z > 0 else 0.0",
}


def about(model: Model) -> str:
    """How wide intervals are in standard deviations, in words."""
    bars = model.check_error_bars()
    widths = ", ".join(f"{w:.4g}" for w in bars.factor(0.9) / bars.scale)
    return f"nine of ten targets lie within {widths} standard deviations."


def triangle(member: Member) -> Array:
    """Its factor, row by row."""
    return member.factor[np.tril_indices(len(member.factor))]


def c_tables(model: Model) -> dict[str, Array]:
    """Numbers by the names that the functions use."""
    bars, tables = model.check_error_bars(), {}
    for m, member in enumerate(bars.members):
        tables[f"theta_{m}"] = member.theta
        tables[f"weights_{m}"] = member.output_weights.ravel()
        tables[f"noise_{m}"] = member.noise
        tables[f"factor_{m}"] = triangle(member)
    return tables | {"calibration": bars.scale}


def c_functions(model: Model) -> str:
    """``NAME_std``, and what it calls for each member."""
    members, net = model.check_error_bars().members, model.topology
    widest = max(max(m.topology.sizes) for m in members)
    most = max(sum(m.topology.sizes) for m in members)
    words = {
        "SLOPE": C_SLOPES[net.activation.name],
        "MOST_A": most,
        "MOST_P": max(len(m.factor) for m in members),
        "WIDEST": widest,
    }
    code = _C_MEMBER
    for word, value in words.items():
        code = code.replace(word, str(value))
    lines = [code, "void NAME_std(const REAL *x, REAL *std)", "{"]
    for m, member in enumerate(members):
        sizes = ", ".join(map(str, member.topology.sizes[:-1]))
        lines.append(f"    static const int sizes_{m}[] = {{{sizes}}};")
    raw = "x" if model.encoding is None else "z"
    lines += [
        f"    REAL z[{net.n_inputs}], mean[{net.n_outputs}];",
        "    int i;",
        "",
        *([] if model.encoding is None else ["    NAME_encode(x, z);"]),
        f"    for (i = 0; i < {net.n_inputs}; i++)",
        f"        z[i] = ({raw}[i] - NAME_input_mean[i]) / NAME_input_scale[i];",
        "    NAME_outputs(x, mean);",
        f"    for (i = 0; i < {net.n_outputs}; i++) {{",
        "        mean[i] = (mean[i] - NAME_target_mean[i]) / NAME_target_scale[i];",
        "        std[i] = 0.0@;",
        "    }",
    ]
    for m, member in enumerate(members):
        layers = f"{len(member.topology.hidden)}, sizes_{m}, {int(member.shift)}"
        tables = ", ".join(f"NAME_{name}_{m}" for name in ("theta", "weights", "factor", "noise"))
        lines.append(f"    NAME_member(z, {layers}, {tables}, {member.share!r}@, mean, std);")
    return "\n".join(
        [
            *lines,
            f"    for (i = 0; i < {net.n_outputs}; i++)",
            "        std[i] = sqrt@(std[i]) * NAME_calibration[i] * NAME_target_scale[i];",
            "}",
            "",
        ]
    )


_C_MEMBER = """static REAL NAME_slope(REAL z, REAL a)
{
    (void)z;
    (void)a;
    return SLOPE;
}

/* Adds what a network of the mixture says: its share of noise, open weights and distance. */
static void NAME_member(const REAL *x, int n_layers, const int *sizes, int shift, const REAL *theta,
                        const REAL *weights, const REAL *factor, const REAL *noise, REAL share,
                        const REAL *mean, REAL *total)
{
    REAL a[MOST_A], slopes[MOST_A], jacobian[MOST_P], back[WIDEST], next[WIDEST];
    const int q = NAME_n_outputs, last = sizes[n_layers];
    int h, i, j, n, p, c, r, from, to, n_theta;

    for (i = 0; i < sizes[0]; i++)
        a[i] = x[i];
    for (h = 0, p = 0, from = 0; h < n_layers; h++, from = to) {
        to = from + sizes[h];
        for (n = 0; n < sizes[h + 1]; n++, p += sizes[h] + 1) {
            REAL z = 0.0@;

            for (i = 0; i < sizes[h]; i++)
                z += theta[p + i] * a[from + i];
            z += theta[p + sizes[h]];
            a[to + n] = NAME_activation(z);
            slopes[to + n] = NAME_slope(z, a[to + n]);
        }
    }
    n_theta = p;
    for (j = 0; j < q; j++) {
        REAL value = 0.0@, open = 0.0@;

        for (p = n_theta; p < n_theta + (last + shift) * q; p++)
            jacobian[p] = 0.0@;
        for (i = 0; i < last; i++) {
            value += weights[i * q + j] * a[from + i];
            jacobian[n_theta + i * q + j] = a[from + i];
            back[i] = weights[i * q + j] * slopes[from + i];
        }
        if (shift) {
            value += weights[last * q + j];
            jacobian[n_theta + last * q + j] = 1.0@;
        }
        for (h = n_layers, p = n_theta, to = from; h > 0; h--) {
            const int width = sizes[h - 1] + 1, below = to - sizes[h - 1];

            p -= sizes[h] * width;
            for (n = 0; n < sizes[h]; n++) {
                for (i = 0; i < width - 1; i++)
                    jacobian[p + n * width + i] = back[n] * a[below + i];
                jacobian[p + n * width + width - 1] = back[n];
            }
            for (i = 0; h > 1 && i < width - 1; i++) {
                next[i] = 0.0@;
                for (n = 0; n < sizes[h]; n++)
                    next[i] += back[n] * theta[p + n * width + i];
                next[i] *= slopes[below + i];
            }
            for (i = 0; h > 1 && i < width - 1; i++)
                back[i] = next[i];
            to = below;
        }
        for (r = 0, p = 0; r < n_theta + (last + shift) * q; r++) {
            REAL sum = 0.0@;

            for (c = 0; c <= r; c++, p++)
                sum += factor[p] * jacobian[c];
            open += sum * sum;
        }
        total[j] += share * (noise[j] * noise[j] * (1.0@ + open)
                             + (value - mean[j]) * (value - mean[j]));
    }
}
"""


def python_values(model: Model) -> dict[str, object]:
    """What the functions need, by name."""
    bars = model.check_error_bars()
    members = []
    for member in bars.members:
        layers = [layer.tolist() for layer in member.topology.layers(member.theta)]
        rows = [row[: i + 1].tolist() for i, row in enumerate(member.factor)]
        weights = member.output_weights.tolist()
        members.append((member.share, layers, weights, member.noise.tolist(), rows))
    return {"MEMBERS": members, "CALIBRATION": bars.scale.tolist()}


def python_functions(model: Model) -> str:
    """``std(x)``, and what it calls for each member."""
    raw = "x" if model.encoding is None else "_encoded(x)"
    code = _PYTHON.replace("zip(x, INPUT", f"zip({raw}, INPUT")
    return code.replace("SLOPE", PYTHON_SLOPES[model.topology.activation.name])


_PYTHON = '''

def std(x):
    """Standard deviations of the targets around ``outputs(x)``."""
    mean = [(y - m) / s for y, m, s in zip(outputs(x), TARGET_MEAN, TARGET_SCALE)]
    values = [(v - m) / s for v, m, s in zip(x, INPUT_MEAN, INPUT_SCALE)]
    total = [0.0] * len(mean)
    for share, layers, weights, noise, factor in MEMBERS:
        found = _derivatives(layers, weights, values, len(mean))
        for j, (value, slopes) in enumerate(found):
            open_ = sum(_sum(row, slopes) ** 2 for row in factor)
            total[j] += share * (noise[j] ** 2 * (1.0 + open_) + (value - mean[j]) ** 2)
    return [t**0.5 * c * s for t, c, s in zip(total, CALIBRATION, TARGET_SCALE)]


def _slope(z, a):
    return SLOPE


def _derivatives(layers, weights, values, n_outputs):
    """Each output with its derivatives by all weights."""
    inputs, slopes = [], []
    for layer in layers:
        inputs.append(values)
        sums = [_sum(row, values) + row[-1] for row in layer]
        values = [_activation(z) for z in sums]
        slopes.append([_slope(z, a) for z, a in zip(sums, values)])
    ends = values + [1.0] * (len(weights) - len(values))
    for j in range(n_outputs):
        parts = [e if k == j else 0.0 for e in ends for k in range(n_outputs)]
        back = [row[j] * slope for row, slope in zip(weights, slopes[-1])]
        for h in range(len(layers) - 1, -1, -1):
            parts = [b * v for b in back for v in [*inputs[h], 1.0]] + parts
            if h:
                back = [
                    slope * sum(b * row[i] for b, row in zip(back, layers[h]))
                    for i, slope in enumerate(slopes[h - 1])
                ]
        yield sum(row[j] * end for row, end in zip(weights, ends)), parts
'''
