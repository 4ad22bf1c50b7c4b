"""Other people's networks: aligned, averaged and compared, and given back as what they came.

A network is a symbreak ``Model``, an MLP of scikit-learn, a PyTorch ``Sequential`` of ``Linear``
layers and activations, or its arrays: a list as Keras has them, or a mapping such as a state dict,
of a matrix per layer and a vector of biases per layer or none. Nothing of these is imported. Arrays
do not say which ``activation`` their network has, so that the caller must.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any, NamedTuple

import numpy as np

from symbreak._activations import find_activation
from symbreak._support.checks import (
    Array,
    IntArray,
    as_floats,
    check_choice,
    check_magnitude,
    shown,
    unknown,
)
from symbreak.network import complete, divided
from symbreak.symmetry._alignment import (
    affordable_method,
    align_marked,
    centroid_from,
    moves_of,
)
from symbreak.topology import Topology

#: What can be done to a hidden neuron without changing what its network computes, by activation.
#: Swaps and flips are undone by alignment; the others are not.
SYMMETRIES: dict[str, tuple[str, ...]] = {
    name: tuple(symmetries)
    for names, *symmetries in (
        ("tanh softsign arctan erf hardtanh tanhshrink", "swap", "flip"),
        ("sin", "swap", "flip", "shift its bias by a multiple of pi"),
        ("identity linear", "swap", "flip", "mix with others of its layer"),
        ("relu leaky_relu", "swap", "scale"),
        ("logistic sigmoid hardsigmoid", "swap", "flip, and add its weights to the next biases"),
        ("elu selu celu gelu silu mish softplus", "swap"),
        ("cos", "swap", "flip its incoming weights alone"),
    )
    for name in names.split()
}
LAYOUTS = ("auto", "inputs-by-outputs", "outputs-by-inputs")


class Parameters(NamedTuple):
    """A network as a vector.

    Attributes:
        theta: All its parameters (D,).
        topology: Their order; output weights are searched. Of activations it knows the symmetries
            only.
        write: Makes a network of the kind that came from another ``theta``.
    """

    theta: Array
    topology: Topology
    write: Callable[[Array], Any]


class Comparison(NamedTuple):
    """Two networks side by side, modulo swaps and flips.

    Attributes:
        distance_before: Euclidean distance over all weights and biases, as they came.
        distance: The same after alignment.
        proven: Whether no replica is nearer.
        orders: For each hidden layer, which neuron of the network stands for each of the anchor's.
        signs: For each hidden layer, -1 where that neuron is flipped.
        agreement: For each hidden layer, the cosine between matched neurons: 1 if all weights that
            they read and are read by are in proportion.
        weights: For each layer, the weights (2, n, fan-in + 1) of the anchor and of the network in
            its order, biases last.
        inputs: Names of the inputs, as far as models have them.
    """

    distance_before: float
    distance: float
    proven: bool
    orders: list[IntArray]
    signs: list[Array]
    agreement: list[Array]
    weights: list[Array]
    inputs: tuple[str, ...] = ()


def align(network: Any, anchor: Any, activation: str | None = None, layout: str = "auto") -> Any:
    """The same network, of the same kind, with its neurons in the order and signs of the anchor."""
    found = compare(network, anchor, activation, layout)
    theta, topology, write = read(network, activation, layout)
    for block, order, sign in zip(topology.blocks, found.orders, found.signs, strict=True):
        theta[block] = sign[:, None] * theta[block[order]]
    return write(theta)


def distance(a: Any, b: Any, activation: str | None = None, layout: str = "auto") -> float:
    """Euclidean distance of all weights and biases modulo swaps and flips."""
    return compare(a, b, activation, layout).distance


def compare(
    network: Any, anchor: Any, activation: str | None = None, layout: str = "auto"
) -> Comparison:
    """Which neuron of a network is which of the anchor's, and how alike they are.

    Models are compared in the units of the anchor. Their inputs are found by name, and those of one
    of them alone have no weight in the other.
    """
    names: tuple[str, ...] = ()
    if all(hasattr(one, "theta_for") for one in (network, anchor)):
        known = [*anchor.feature_names, *network.feature_names]
        if anchor.feature_names and network.feature_names:
            names = tuple(dict.fromkeys(known))
        ours, theirs = (_in_units(one, network, anchor, names) for one in (network, anchor))
        if ours.topology != theirs.topology:
            _read_all([network, anchor], activation, layout)  # refuses them
    else:
        ours, theirs = _read_all([network, anchor], activation, layout)
    anchored, net = theirs.theta, ours.topology
    method = affordable_method(net, 1)
    (aligned,), marks = align_marked(ours.theta[None], anchored, net, method)
    orders, signs = moves_of(marks, net)
    return Comparison(
        distance_before=float(np.linalg.norm(ours.theta - anchored)),
        distance=float(np.linalg.norm(aligned - anchored)),
        proven=method == "exact" or len(net.hidden) == 1,
        orders=[order[0] for order in orders],
        signs=[sign[0] for sign in signs],
        agreement=[_cosines(aligned[block], anchored[block]) for block in net.blocks],
        weights=list(map(np.stack, zip(net.layers(anchored), net.layers(aligned), strict=True))),
        inputs=names,
    )


def average(networks: Iterable[Any], activation: str | None = None, layout: str = "auto") -> Any:
    """The mean of networks modulo swaps and flips, of the kind of the first and in its order."""
    networks = list(networks)
    found = _read_all(networks, activation, layout)
    for name in ("inputs", "targets"):
        scalings = [getattr(one, name) for one in networks if hasattr(one, name)]
        if any(not np.array_equal(astuple(s), astuple(scalings[0])) for s in scalings):
            raise ValueError(f"models to average must have the same scaling of their {name}.")
    population, net = np.stack([one.theta for one in found]), found[0].topology
    method = affordable_method(net, len(population))
    return found[0].write(centroid_from(population[0], population, net, method))


def read(network: Any, activation: str | None = None, layout: str = "auto") -> Parameters:
    """A network as a vector, for the functions of ``symbreak.symmetry``.

    Args:
        network: Of one of the kinds above.
        activation: Of its hidden layers, a name in ``SYMMETRIES``; needed for arrays.
        layout: How matrices lie; needed for arrays where both readings fit.
    """
    if hasattr(network, "topology") and hasattr(network, "output_weights"):
        return _read_model(network)
    if hasattr(network, "coefs_"):
        return _read_mlp(network)
    if hasattr(network, "state_dict"):
        return _read_sequential(network)
    if isinstance(network, Mapping):
        arrays, names = list(network.values()), list(network)
        return _from_arrays(
            arrays, activation, layout, lambda new: dict(zip(names, new, strict=True))
        )
    if isinstance(network, list | tuple):
        return _from_arrays(network, activation, layout, list)
    raise ValueError(
        "a network must be a Model, a fitted MLP of scikit-learn, a PyTorch Sequential, or a list "
        f"or mapping of arrays, got {shown(network)}."
    )


def _read_all(networks: Sequence[Any], activation: str | None, layout: str) -> list[Parameters]:
    """Networks of one topology, read."""
    found = [read(network, activation, layout) for network in networks]
    if not found or any(one.topology != found[0].topology for one in found):
        nets = ", ".join(str(one.topology).replace(" searched", "") for one in found[:5])
        raise ValueError(
            f"networks must be of the same sizes and symmetries, got {nets or 'none'}."
        )
    return found


def _in_units(model: Any, network: Any, anchor: Any, names: tuple[str, ...]) -> Parameters:
    """A model as a vector for named inputs, all of them scaled as in the anchor."""
    inputs, targets = anchor.inputs, anchor.targets
    if names:
        new = [network.feature_names.index(name) for name in names[len(inputs.mean) :]]
        mean = np.append(inputs.mean, network.inputs.mean[new])
        inputs = replace(
            inputs, mean=mean, scale=np.append(inputs.scale, network.inputs.scale[new])
        )
    hidden, net = model.theta_for(names, inputs), model.topology
    theta = complete(hidden, net, model.output_weights)
    sizes = (len(inputs.mean), *net.sizes[1:])
    topology = replace(net, sizes=sizes, outputs="searched")
    last = topology.layers(theta)[-1]
    if len(targets.scale) == len(last):
        last *= (model.targets.scale / targets.scale)[:, None]
        last[:, -1] += (model.targets.mean - targets.mean) / targets.scale
    return Parameters(theta, topology, lambda _: model)


def _cosines(a: Array, b: Array) -> Array:
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.sum(a * b, axis=1) / np.where(lengths > 0, lengths, 1.0)


def _read_model(model: Any) -> Parameters:
    net, n = model.topology, len(model.output_weights)

    def write(theta: Array) -> Any:
        hidden, V = divided(theta, topology)
        return replace(model, theta=hidden, output_weights=V[:n])

    topology = replace(net, outputs="searched")
    return Parameters(complete(model.theta, net, model.output_weights), topology, write)


def _read_mlp(mlp: Any) -> Parameters:
    n = len(mlp.coefs_)

    def rebuild(arrays: list[Any]) -> Any:
        new = copy.deepcopy(mlp)
        new.coefs_, new.intercepts_ = arrays[:n], arrays[n:]
        return new

    arrays = [*mlp.coefs_, *mlp.intercepts_]
    return _from_arrays(arrays, mlp.activation, "inputs-by-outputs", rebuild)


def _read_sequential(network: Any) -> Parameters:
    modules = list(network) if isinstance(network, Iterable) else [network]
    names = [type(module).__name__ for module in modules]
    n_layers = names.count("Linear")
    last = len(names) - names[::-1].index("Linear") if n_layers else 0  # what follows has no part
    between = [name for name in names[:last] if name not in ("Linear", "Dropout", "Flatten")]
    if n_layers < 2 or not all(map(_symmetries, between)):
        raise ValueError(
            "a PyTorch network must be a Sequential of Linear layers with known activations "
            f"between them, got {shown(names)}; known: {', '.join(SYMMETRIES)}."
        )
    # What all layers have: neurons are not flipped if one activation is not odd.
    activation = min(between or ["identity"], key=lambda name: "flip" in _symmetries(name))

    state = network.state_dict()

    def rebuild(tensors: list[Any]) -> Any:
        new = copy.deepcopy(network)
        new.load_state_dict(dict(zip(state, tensors, strict=True)))
        return new

    return _from_arrays(list(state.values()), activation, "outputs-by-inputs", rebuild)


def _symmetries(activation: str | None) -> tuple[str, ...]:
    """The symmetries of an activation, however it is spelled; empty if it is not known."""
    plain = {known.replace("_", ""): row for known, row in SYMMETRIES.items()}
    return plain.get(str(activation).lower().replace("_", ""), ())


def _from_arrays(
    arrays: Sequence[Any],
    activation: str | None,
    layout: str,
    rebuild: Callable[[list[Any]], Any],
) -> Parameters:
    """The parameters in arrays or tensors; ``rebuild`` makes a network of new ones."""
    floats = [checked_array(f"array {i} of a network", a) for i, a in enumerate(arrays)]
    topology, places = places_of([a.shape for a in floats], activation, layout)
    theta = np.empty(topology.dim)
    for place, values in zip(places, floats, strict=True):
        theta[place] = values

    def write(theta: Array) -> Any:
        return rebuild([like(old, theta[p]) for old, p in zip(arrays, places, strict=True)])

    return Parameters(theta, topology, write)


def checked_array(name: str, values: Any) -> Array:
    """Numbers of 64 bits that can be compared, of an array or a tensor."""
    try:
        array = as_floats(name, values.cpu().numpy() if hasattr(values, "new_tensor") else values)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers, got {shown(values)}.") from None
    check_magnitude(name, array)
    return array


def like(old: Any, new: Array) -> Any:
    """Numbers as what came: a tensor, or an array of its type if that can hold any sign."""
    if hasattr(old, "new_tensor"):
        return old.new_tensor(new)
    kind = np.asarray(old).dtype
    return new.astype(kind if kind.kind == "f" else np.float64)


def places_of(
    shapes: Sequence[tuple[int, ...]], activation: str | None, layout: str
) -> tuple[Topology, list[IntArray]]:
    """The topology of arrays, and where the entries of each live in its ``theta``."""
    check_choice("layout", layout, LAYOUTS)
    if activation is None:
        raise ValueError("arrays do not say their activation; name it, as tanh (--activation).")
    if not _symmetries(activation):
        raise unknown("activation of the hidden layers", activation, SYMMETRIES)
    same_symmetries = "tanh" if "flip" in _symmetries(activation) else "relu"
    matrices = [shape for shape in shapes if len(shape) == 2]
    biases = [shape[0] for shape in shapes if len(shape) == 1]
    if (
        len(matrices) < 2
        or len(biases) not in (0, len(matrices))
        or len(matrices) + len(biases) < len(shapes)
    ):
        raise ValueError(
            "a network must have a matrix for each of at least two layers, and a vector of biases "
            f"for each or none, got arrays of shapes {_spelled(shapes)}."
        )
    transposed = _is_transposed(matrices, biases, layout)
    rows = [shape[::-1] if transposed else shape for shape in matrices]  # outputs by inputs
    sizes, kind = (rows[0][1], *(n for n, _ in rows)), find_activation(same_symmetries)
    topology = Topology(sizes, kind, outputs="searched", biases=bool(biases))
    layers = topology.layers(np.arange(topology.dim))
    weights = (layer[:, :m] for layer, (_, m) in zip(layers, rows, strict=True))
    places = {
        2: (w.T if transposed else w for w in weights),
        1: (layer[:, -1] for layer in layers),
    }
    return topology, [next(places[len(shape)]) for shape in shapes]


def _is_transposed(matrices: Sequence[tuple[int, ...]], biases: Sequence[int], layout: str) -> bool:
    """Whether matrices are inputs by outputs, from how layers and biases fit together."""

    def fits(inputs: int, outputs: int) -> bool:
        chain = all(a[outputs] == b[inputs] for a, b in itertools.pairwise(matrices))
        return chain and (not biases or [m[outputs] for m in matrices] == list(biases))

    possible = {"inputs-by-outputs": fits(0, 1), "outputs-by-inputs": fits(1, 0)}
    if layout != "auto":
        possible = {layout: possible[layout]}
    if not any(possible.values()):
        raise ValueError(
            "layers of a network must follow each other, with biases as long as their layers, got "
            f"matrices of shapes {_spelled(matrices)}"
            + (f" and {len(biases)} biases of sizes {biases}." if biases else ".")
        )
    if len(possible) == 2 and all(possible.values()):
        raise ValueError(
            f"matrices of shapes {_spelled(matrices)} can be read in two ways; give "
            f"layout={LAYOUTS[1]!r} (scikit-learn, Keras) or {LAYOUTS[2]!r} (PyTorch)."
        )
    return possible.get("inputs-by-outputs", False)


def _spelled(shapes: Sequence[tuple[int, ...]]) -> str:
    return ", ".join(map(str, shapes)) or "none"
