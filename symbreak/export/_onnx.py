"""A model in the Open Neural Network Exchange format; needs the extra ``symbreak[onnx]``."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from symbreak._support.checks import Array
from symbreak._support.words import needed
from symbreak.export._parts import check_model, facts, rows_of
from symbreak.models import Model
from symbreak.problems._encoding import Encoding

#: Old enough for runtimes of the last years.
OPSET, IR_VERSION = 17, 8
#: Its number of a type.
DOUBLE = 11


def to_onnx(model: Model) -> bytes:
    """A graph from ``x`` (K, d) to ``y`` (K, q), both double and in the units of the data.

    For classes ``y`` are the scores, and ``label`` (K,) is the class. Names, labels and origin are
    in its metadata. Of columns with an encoding, ``x`` has a level by its place among those in the
    metadata, a date in days since 1970, and NaN where one is missing, as ``encoding.codes`` makes.

    Raises:
        ValueError: if the package onnx is missing.
    """
    check_model(model)
    onnx = needed("onnx", "onnx", "exporting to ONNX needs")
    helper = onnx.helper
    graph = _Graph(helper, onnx.numpy_helper)
    _outputs(graph, model)
    double, d, q = onnx.TensorProto.DOUBLE, len(model.columns), model.topology.n_outputs
    results = [helper.make_tensor_value_info("y", double, ["K", q])]
    if model.classes:
        results.append(_label(graph, model, helper))
    inputs = [helper.make_tensor_value_info("x", double, ["K", d])]
    whole = helper.make_graph(graph.nodes, "symbreak", inputs, results, graph.constants)
    made = helper.make_model(
        whole, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
    made.doc_string = "\n".join(facts(model))
    said: dict[str, Any] = {"feature_names": model.columns, "target_names": model.target_names}
    said |= {"classes": model.classes, "levels": [column.levels for column in model.rule.columns]}
    helper.set_model_props(made, {key: json.dumps(value) for key, value in said.items()})
    onnx.checker.check_model(made, full_check=True)
    serialised: bytes = made.SerializeToString()
    return serialised


class _Graph:
    """Nodes and constants; each node is named by the value it makes."""

    def __init__(self, helper: Any, numpy_helper: Any) -> None:
        self._helper, self._numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: Any, name: str = "", **settings: Any) -> str:
        """A node; inputs are names, or arrays that become constants."""
        made = name or f"v{len(self.nodes)}"
        sources = [each if isinstance(each, str) else self._constant(each) for each in inputs]
        self.nodes.append(self._helper.make_node(operator, sources, [made], **settings))
        return made

    def layer(self, x: str, rows: Array, name: str = "") -> str:
        """Weighted sums, each row of weights with a bias at its end."""
        if not np.isfinite(rows).all():
            raise ValueError(
                "the scales of the data are too large or small for ONNX; change units."
            )
        return self.add("Add", self.add("MatMul", x, rows[:, :-1].T), rows[:, -1], name=name)

    def _constant(self, values: Any) -> str:
        name = f"c{len(self.constants)}"
        array = np.array(values, order="C")
        if array.dtype.kind == "U":
            array = array.astype(object)
        self.constants.append(self._numpy_helper.from_array(array, name))
        return name


def _outputs(graph: _Graph, model: Model) -> None:
    """From ``x`` to ``y``. The scales are in the weights.

    As divisions of their own, onnxruntime joins those of a single column with the product beside
    them, in single precision.
    """
    x = "x" if model.encoding is None else _encoded(graph, model.encoding)
    x = graph.add("Sub", x, model.inputs.mean)
    *hidden, last = rows_of(model)
    hidden[0][:, :-1] /= model.inputs.scale
    for layer in hidden:
        x = graph.layer(x, layer)
        x = _activation(graph, model.topology.activation.name, x)
    last *= model.targets.scale[:, None]  # the identity for classes
    last[:, -1] += model.targets.mean
    softmax = model.output == "softmax"
    x = graph.layer(x, last, name="" if softmax else "y")
    if softmax:
        graph.add("Softmax", x, name="y", axis=1)


def _encoded(graph: _Graph, encoding: Encoding) -> str:
    """Inputs of the network, each from its column."""
    places, kinds, numbers, _ = (np.array(part) for part in zip(*encoding.features, strict=True))
    fill = np.array([column.fill for column in encoding.columns])[places]
    cells = graph.add("Gather", "x", places, axis=1)
    lost = graph.add("IsNaN", cells)
    values = graph.add("Where", lost, fill, cells)
    level = graph.add("Cast", graph.add("Equal", values, numbers), to=DOUBLE)
    made = {"level": level, "missing": graph.add("Cast", lost, to=DOUBLE)}
    periods = np.where(numbers > 0, numbers, 1.0)
    angles = graph.add("Mul", graph.add("Mod", values, periods, fmod=1), 2 * np.pi / periods)
    for kind, quarter in (("sin", 0.0), ("cos", np.pi / 2)):  # runtimes lack the cosine of doubles
        if kind in kinds:
            made[kind] = graph.add("Sin", graph.add("Add", angles, quarter))
    for kind, found in made.items():
        values = graph.add("Where", kinds == kind, found, values)
    return values


def _activation(graph: _Graph, name: str, z: str) -> str:
    """The activation, made of operators that runtimes have in double precision."""
    if name == "softsign":
        return graph.add("Div", z, graph.add("Add", graph.add("Abs", z), 1.0))
    if name == "logistic":
        inverse = graph.add("Add", graph.add("Exp", graph.add("Neg", z)), 1.0)
        return graph.add("Reciprocal", inverse)
    return graph.add({"tanh": "Tanh", "sin": "Sin", "relu": "Relu"}[name], z)


def _label(graph: _Graph, model: Model, helper: Any) -> Any:
    """The output ``label``: the class with the greatest score."""
    names = np.array([_encodable(label) for label in model.classes])
    graph.add("Gather", names, graph.add("ArgMax", "y", axis=1, keepdims=0), name="label")
    kind = np.dtype(object) if names.dtype.kind == "U" else names.dtype
    return helper.make_tensor_value_info("label", helper.np_dtype_to_tensor_dtype(kind), ["K"])


def _encodable(label: str | int | float | bool) -> str | int | float | bool:
    """A label whose lone surrogates, which UTF-8 cannot hold, are question marks, as in C."""
    return label.encode("utf-8", "replace").decode() if isinstance(label, str) else label
