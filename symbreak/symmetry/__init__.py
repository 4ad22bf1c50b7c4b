"""Symmetries of tanh networks, and ways to break them."""

from symbreak.symmetry.breaking import (
    BREAKINGS,
    Breaking,
    ExhaustiveBreaking,
    InvariantBreaking,
    NoBreaking,
    ProximityBreaking,
)
from symbreak.symmetry.operators import SignedPermutation, flip, replicas, swap, symmetries

__all__ = [
    "BREAKINGS",
    "Breaking",
    "ExhaustiveBreaking",
    "InvariantBreaking",
    "NoBreaking",
    "ProximityBreaking",
    "SignedPermutation",
    "flip",
    "replicas",
    "swap",
    "symmetries",
]
