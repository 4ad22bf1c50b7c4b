"""Polish: from a point near an optimum down to its floor."""

from symbreak._polish._evidence import EvidencePolisher, EvidenceResult, estimate, evidence_of
from symbreak._polish._linearisation import Linearisation, check_polish_memory, jacobian_cost
from symbreak._polish._polisher import ITERATIONS, Polisher, check_digest

__all__ = [
    "ITERATIONS",
    "EvidencePolisher",
    "EvidenceResult",
    "Linearisation",
    "Polisher",
    "check_digest",
    "check_polish_memory",
    "estimate",
    "evidence_of",
    "jacobian_cost",
]
