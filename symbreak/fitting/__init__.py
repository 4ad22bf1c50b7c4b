"""From the samples of a table to its network: parts, ridges, probabilities."""

from symbreak.fitting._estimation import (
    POLISH_SAMPLES,
    SEARCH_SAMPLES,
    SEARCH_SHARE,
    classified,
    default_evaluations,
    loss_of,
    merge_samples,
    n_effective_parameters,
    part_of,
    progress_bar,
    raw_layers,
    refitted,
    rescaled_theta,
    standardise,
)
from symbreak.fitting._ridge import is_worthwhile, with_validated_ridge

__all__ = [
    "POLISH_SAMPLES",
    "SEARCH_SAMPLES",
    "SEARCH_SHARE",
    "classified",
    "default_evaluations",
    "is_worthwhile",
    "loss_of",
    "merge_samples",
    "n_effective_parameters",
    "part_of",
    "progress_bar",
    "raw_layers",
    "refitted",
    "rescaled_theta",
    "standardise",
    "with_validated_ridge",
]
