"""Symmetries of networks, ways to break them, and networks compared modulo them."""

from symbreak.symmetry import networks
from symbreak.symmetry._alignment import align, canonical, centroid, distance, spread
from symbreak.symmetry._breaking import (
    BREAKINGS,
    AssignmentBreaking,
    Breaking,
    ExhaustiveBreaking,
    InvariantBreaking,
    NoBreaking,
    ProximityBreaking,
)
from symbreak.symmetry._draws import align_draws
from symbreak.symmetry._operators import flip, replicas, swap, symmetries

__all__ = [
    "BREAKINGS",
    "AssignmentBreaking",
    "Breaking",
    "ExhaustiveBreaking",
    "InvariantBreaking",
    "NoBreaking",
    "ProximityBreaking",
    "align",
    "align_draws",
    "canonical",
    "centroid",
    "distance",
    "flip",
    "networks",
    "replicas",
    "spread",
    "swap",
    "symmetries",
]
