"""Complete networks, output weights included, aligned layer by layer: for people who merge models.

Weights come as a list of matrices, one per layer, as scikit-learn's ``coefs_`` (inputs by outputs)
or a PyTorch state dict (outputs by inputs) has them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symbreak._support.checks import (
    Array,
    as_matrix,
    check_choice,
    check_magnitude,
    check_vectors,
    shown,
)
from symbreak.activations import ACTIVATIONS, find_activation
from symbreak.symmetry._chain import move_to_nearest
from symbreak.symmetry.alignment import MAX_EXACT_STEPS
from symbreak.topology import Topology

#: Whether neurons can be flipped as well as reordered, by the name of their activation: ours, and
#: those of other libraries.
CAN_FLIP: dict[str, bool] = {
    **{name: activation.odd for name, activation in ACTIVATIONS.items()},
    **dict.fromkeys(("identity", "linear", "arctan", "erf", "hardtanh"), True),
    **dict.fromkeys(("leaky_relu", "elu", "selu", "gelu", "silu", "mish", "softplus"), False),
    **dict.fromkeys(("sigmoid", "hardsigmoid", "cos"), False),
}
LAYOUTS = ("auto", "inputs-by-outputs", "outputs-by-inputs")


class AlignedNetwork(NamedTuple):
    """A network that computes the same function, near to the anchor.

    Attributes:
        weights: One matrix per layer, in the layout and, if it is floating, the type that came.
        shifts: One vector per layer, or None.
        distance_before: Euclidean distance to the anchor over all weights and shifts, as it came.
        distance: The same after alignment.
        proven: Whether no replica is nearer.
    """

    weights: list[NDArray[Any]]
    shifts: list[NDArray[Any]] | None
    distance_before: float
    distance: float
    proven: bool


def align_networks(
    weights: Sequence[Any],
    shifts: Sequence[Any] | None,
    anchor_weights: Sequence[Any],
    anchor_shifts: Sequence[Any] | None,
    activation: str = "tanh",
    layout: str = "auto",
) -> AlignedNetwork:
    """Reorder (and flip) the hidden neurons of a network so that it is nearest to an anchor.

    Args:
        weights: Matrix of each layer, from inputs to outputs.
        shifts: Vector of each layer, or None for a network without.
        anchor_weights: The network to align to, of the same sizes.
        anchor_shifts: Its shifts.
        activation: Of the hidden layers. Neurons are flipped where it is odd, as tanh is.
        layout: How the matrices lie; needed only where both readings fit.

    Returns:
        The aligned network; its outputs are those of the network that came, up to rounding.
    """
    signed = CAN_FLIP[check_choice("activation", activation, CAN_FLIP)]
    check_choice("layout", layout, LAYOUTS)
    weights, anchor_weights = _listed("weights", weights), _listed("anchor_weights", anchor_weights)
    shifts = None if shifts is None else _listed("shifts", shifts)
    ours = _Network.read(weights, shifts, layout, "weights")
    theirs = _Network.read(anchor_weights, anchor_shifts, layout, "anchor_weights")
    if ours.sizes != theirs.sizes or (shifts is None) != (anchor_shifts is None):
        raise ValueError(
            f"both networks must have the same sizes, and both shifts or neither, got "
            f"{ours} and {theirs}."
        )
    same_symmetries = "tanh" if signed else "relu"
    topology = Topology(ours.sizes, find_activation(same_symmetries), outputs="searched")
    theta, anchor = ours.theta[None].copy(), theirs.theta
    proven = move_to_nearest(theta, anchor, topology, topology.blocks, MAX_EXACT_STEPS)
    moved = ours.written(topology.layers(theta[0]), weights, shifts)
    before, after = (float(np.linalg.norm(x - anchor)) for x in (ours.theta, theta[0]))
    return AlignedNetwork(*moved, before, after, bool(proven[0]))


class _Network(NamedTuple):
    """Layer sizes and all parameters in the order of a ``Topology``, zeros for missing shifts."""

    sizes: tuple[int, ...]
    theta: Array
    transposed: bool  # whether matrices came inputs by outputs
    has_shifts: bool

    def __str__(self) -> str:
        return f"{'-'.join(map(str, self.sizes))} {'with' if self.has_shifts else 'without'} shifts"

    @classmethod
    def read(
        cls, weights: Sequence[Any], shifts: Sequence[Any] | None, layout: str, name: str
    ) -> _Network:
        if not weights:
            raise ValueError(f"{name} must be a list of matrices, one per layer, got none.")
        matrices = [as_matrix(f"{name}[{i}]", w, "(n, m)") for i, w in enumerate(weights)]
        vectors = None if shifts is None else _read_shifts(shifts, name, len(matrices))
        transposed = _is_transposed(matrices, vectors, layout, name)
        rows = [matrix.T if transposed else matrix for matrix in matrices]  # outputs by inputs
        sizes = (rows[0].shape[1], *(len(row) for row in rows))
        tails = vectors or [np.zeros(len(row)) for row in rows]
        theta = np.concatenate(
            [np.column_stack(pair).ravel() for pair in zip(rows, tails, strict=True)]
        )
        check_magnitude(name, theta)
        return cls(sizes, theta, transposed, shifts is not None)

    def written(
        self, layers: Sequence[Array], weights: Sequence[Any], shifts: Sequence[Any] | None
    ) -> tuple[list[NDArray[Any]], list[NDArray[Any]] | None]:
        """Layers (N, M + 1) as matrices and vectors of the types that came."""
        kinds = [_floating(w) for w in weights]
        matrices = [layer[:, :-1].T if self.transposed else layer[:, :-1] for layer in layers]
        new_weights = [m.astype(kind) for m, kind in zip(matrices, kinds, strict=True)]
        if shifts is None:
            return new_weights, None
        vectors = [layer[:, -1] for layer in layers]
        return new_weights, [
            v.astype(_floating(s)).reshape(np.shape(s))
            for v, s in zip(vectors, shifts, strict=True)
        ]


def _listed(name: str, values: Any) -> list[Any]:
    """A list of what may be an iterator."""
    what = "matrices" if name.endswith("weights") else "vectors"
    one = isinstance(values, np.ndarray) and values.ndim == 0
    if one or isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must be a list of {what}, one per layer, got {shown(values)}.")
    return list(values)


def _floating(values: Any) -> np.dtype[Any]:
    """The type of an array if it can hold any sign, float64 otherwise."""
    kind = np.asarray(values).dtype
    return kind if np.issubdtype(kind, np.floating) else np.dtype(np.float64)


def _read_shifts(shifts: Sequence[Any], name: str, n_layers: int) -> list[Array]:
    label = name.replace("weights", "shifts")
    shifts = _listed(label, shifts)
    if len(shifts) != n_layers:
        raise ValueError(f"{label} must have one vector per layer, {n_layers}, got {len(shifts)}.")
    vectors = [check_vectors(s, "(n,)", f"{label}[{i}]") for i, s in enumerate(shifts)]
    return [as_matrix(f"{label}[{i}]", v.reshape(1, -1), "(n,)")[0] for i, v in enumerate(vectors)]


def _is_transposed(
    matrices: Sequence[Array], vectors: Sequence[Array] | None, layout: str, name: str
) -> bool:
    """Whether matrices are inputs by outputs, from how layers and shifts fit together."""

    def fits(inputs: int, outputs: int) -> bool:
        chain = all(a.shape[outputs] == b.shape[inputs] for a, b in itertools.pairwise(matrices))
        ends = vectors is None or all(
            m.shape[outputs] == len(v) for m, v in zip(matrices, vectors, strict=True)
        )
        return chain and ends

    possible = {"inputs-by-outputs": fits(0, 1), "outputs-by-inputs": fits(1, 0)}
    shapes = ", ".join(str(m.shape) for m in matrices)
    if layout != "auto":
        possible = {layout: possible[layout]}
    if not any(possible.values()):
        raise ValueError(
            f"{name} must be matrices whose layers follow each other, with shifts as long as their "
            f"layers, got shapes {shapes}"
            + ("." if vectors is None else f" and shifts of {[len(v) for v in vectors]}.")
        )
    if all(possible.values()) and len(possible) == 2:
        raise ValueError(
            f"{name} of shapes {shapes} can be read in two ways; give layout={LAYOUTS[1]!r} "
            f"(scikit-learn) or {LAYOUTS[2]!r} (PyTorch)."
        )
    return possible.get("inputs-by-outputs", False)
