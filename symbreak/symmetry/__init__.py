"""Symmetries of networks, ways to break them, and networks compared modulo them."""

from symbreak.symmetry.alignment import (
    Spread,
    align,
    canonical,
    centroid,
    distance,
    spread,
    spread_cost,
)
from symbreak.symmetry.breaking import (
    BREAKINGS,
    AssignmentBreaking,
    Breaking,
    ExhaustiveBreaking,
    InvariantBreaking,
    NoBreaking,
    ProximityBreaking,
)
from symbreak.symmetry.networks import AlignedNetwork, align_networks
from symbreak.symmetry.operators import SignedPermutation, flip, replicas, swap, symmetries

__all__ = [
    "BREAKINGS",
    "AlignedNetwork",
    "AssignmentBreaking",
    "Breaking",
    "ExhaustiveBreaking",
    "InvariantBreaking",
    "NoBreaking",
    "ProximityBreaking",
    "SignedPermutation",
    "Spread",
    "align",
    "align_networks",
    "canonical",
    "centroid",
    "distance",
    "flip",
    "replicas",
    "spread",
    "spread_cost",
    "swap",
    "symmetries",
]
