"""The division of rows: by nothing but seed, number and classes, and fair to all classes."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from symbreak.problems._files import MIN_TRAINING, PARTS, divide

shares = st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.25, 1 / 3, 0.4])


@given(st.lists(st.integers(3, 40), min_size=2, max_size=20), shares, shares, st.integers(0, 99))
def test_every_part_has_its_share_of_every_class_and_every_row_is_used_once(
    sizes, validation, test, seed
):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    sizes_of_parts = [round(share * len(labels)) for share in (validation, test)]
    assume(len(labels) - sum(sizes_of_parts) >= MIN_TRAINING)
    assume(all(n or not share for share, n in zip((validation, test), sizes_of_parts, strict=True)))
    rows = divide(seed, len(labels), validation, test, labels)
    assert [len(rows.get(part, ())) for part in PARTS[1:]] == sizes_of_parts
    assert sorted(np.concatenate(list(rows.values()))) == list(range(len(labels)))
    for chosen in rows.values():
        found = np.bincount(labels[chosen], minlength=len(sizes))
        assert (np.abs(found - np.array(sizes) * len(chosen) / len(labels)) <= 1).all()


def test_classes_are_shuffled_within_the_parts():
    rows = divide(0, 100, 0.2, 0.2, np.repeat(["a", "b"], 50))
    for chosen in rows.values():
        assert np.count_nonzero(np.diff(chosen < 50)) > 3  # a part in the order of classes: 1


@pytest.mark.parametrize(
    ("n_rows", "validation", "test", "message"),
    [
        (2, 0, 0.2, "test must be a share .* one row, got 0.2 of 2"),
        (50, 0.01, 0, "validation must be a share .* got 0.01 of 50"),
        (9, 0, 1e-300, "test must be a share .* got 1e-300 of 9"),
        (4, 0, 0, "at least 5 rows for training, got 4"),
        (3, 0, 0.2, "at least 5 rows for training, .* shares 0 and 0.2 of 3, leave 2; take small"),
        (11, 0.5, 0.5, "shares 0.5 and 0.5 of 11, leave 0"),  # 6 and 6
        (9, 2, 0, "validation must be a finite number in"),
    ],
)
def test_too_few_rows_are_refused_with_what_they_need(n_rows, validation, test, message):
    with pytest.raises(ValueError, match=message):
        divide(0, n_rows, validation, test)
