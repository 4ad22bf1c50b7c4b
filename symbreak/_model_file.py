"""The file of a model: JSON, from which nothing can be executed; all else is refused in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from symbreak._error_bars import ErrorBars
from symbreak._support.checks import check_kind, check_path, check_text, shown
from symbreak.problems import Scaling
from symbreak.problems._encoding import Encoding
from symbreak.topology import Topology

FORMAT, FORMAT_VERSION = "symbreak-model", 1
#: A larger file is not a small network.
MAX_FILE = 64 * 2**20
#: What every file has, besides its format.
REQUIRED = (
    *("net", "activation", "task", "output", "classes", "feature_names", "target_names"),
    *("inputs", "targets", "theta", "output_weights", "origin"),
)


def to_json(fields: Mapping[str, Any]) -> str:
    """What a model file holds of the fields of a model."""
    topology: Topology = fields["topology"]
    facts = {"format": FORMAT, "version": FORMAT_VERSION, "net": topology.sizes}
    facts |= {"activation": topology.activation.name}
    facts |= {k: v for k, v in fields.items() if k != "topology" and v is not None}
    return json.dumps(facts, indent=1, allow_nan=False, default=_plain) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Scaling | Mapping):
        return dict(vars(value) if isinstance(value, Scaling) else value)
    return value.to_json() if isinstance(value, Encoding | ErrorBars) else value.tolist()


def from_json(text: str) -> dict[str, Any]:
    """The fields of a model, for its constructor to check.

    Raises:
        ValueError: if the text is not that of a model.
    """
    facts = _parsed(text)
    try:
        given = {name: facts[name] for name in REQUIRED}
        for name in ("net", "classes", "feature_names", "target_names"):
            given[name] = tuple(check_kind(name, given[name], list, "as save writes"))
        for name in ("inputs", "targets"):
            given[name] = Scaling(**given[name])
        topology = given["topology"] = Topology(given.pop("net"), given.pop("activation"))
        if "encoding" in facts:
            given["encoding"] = Encoding.from_json(facts["encoding"])
        if facts.get("error_bars") is not None:
            given["error_bars"] = ErrorBars.from_json(facts["error_bars"], topology)
    except KeyError as missing:
        raise ValueError(f"it lacks {missing}.") from None
    except TypeError as error:
        raise ValueError(f"it is not what save writes: {error}.") from None
    return given | {"ranges": facts.get("ranges")}


def _parsed(text: str) -> dict[str, Any]:
    """All that a model file says, by name; refused if it is of another format."""

    def refuse(constant: str) -> float:
        raise ValueError(f"it holds {constant}.")

    try:
        facts = json.loads(check_text("a model's text", text), parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON, or cut short: {error}.") from None
    except RecursionError:
        raise ValueError("it is nested too deeply.") from None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise ValueError(f"it does not say that its format is {FORMAT!r}.")
    if (version := facts.get("version")) != FORMAT_VERSION or version is True:
        raise ValueError(
            f"it has version {shown(version)}, this symbreak reads {FORMAT_VERSION}; upgrade "
            "symbreak."
        )
    return facts


def text_of_file(path: str | Path) -> str:
    """What a model file holds, if it is one of text that is not too large."""
    path = check_path("path", path)
    if not path.is_file():
        raise ValueError(f"there is no model file {str(path)!r}.")
    if path.stat().st_size > MAX_FILE:
        raise ValueError(f"{path} is no model file: it has more than {MAX_FILE >> 20} MiB.")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no model file: it is not UTF-8 text.") from None
