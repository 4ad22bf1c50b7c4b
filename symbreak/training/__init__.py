"""Training: starts of search and polish, until they agree or the budget is spent."""

from symbreak.training._evidence import EvidenceResult, evidence
from symbreak.training._plans import short_search
from symbreak.training._records import Progress, RunRecord, versions
from symbreak.training._starts import StartJob, run_start
from symbreak.training._train import train
from symbreak.training._training import UNLIMITED, Training

__all__ = [
    "UNLIMITED",
    "EvidenceResult",
    "Progress",
    "RunRecord",
    "StartJob",
    "Training",
    "evidence",
    "run_start",
    "short_search",
    "train",
    "versions",
]
