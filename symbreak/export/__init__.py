"""A model as source code or in a format of others, to be used where symbreak is not."""

from symbreak.export._c import to_c
from symbreak.export._excel import to_excel
from symbreak.export._latex import to_latex
from symbreak.export._onnx import to_onnx
from symbreak.export._python import to_python

__all__ = ["to_c", "to_excel", "to_latex", "to_onnx", "to_python"]
