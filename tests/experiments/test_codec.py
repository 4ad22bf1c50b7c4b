import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from symbreak.experiments._columns import pack, unpack

arrays = st.sampled_from(["float64", "int64", "bool"]).flatmap(
    lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=3, min_side=0))
)


@given(arrays)
def test_an_array_comes_back_bit_by_bit(array):
    back = unpack(pack(array))
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()


def test_only_plain_numbers_are_packed_or_unpacked():
    with pytest.raises(TypeError, match="arrays are stored as"):
        pack(np.array([{"an": "object"}], dtype=object))
    good = pack(np.arange(3.0))
    for bad in (
        {**good, "dtype": "object"},
        {**good, "data": b"not compressed"},
        {**good, "shape": "[4]"},
    ):
        with pytest.raises(ValueError, match=r"unknown kind|damaged|reshape"):
            unpack(bad)
