"""Install a built wheel into an empty environment and use it there as a stranger would.

python scripts/try_wheel.py dist
"""

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

#: What is not Python and must be in the wheel.
NEEDED = ("py.typed", "studies/smoke.toml", "digits.npz", ".css", ".js", ".j2")


def main(folder: str) -> None:
    """Look into the wheel, install it, train, and ask for what needs an extra."""
    (wheel,) = Path(folder).resolve().glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    missing = [end for end in NEEDED if not any(name.endswith(end) for name in names)]
    if missing:
        raise SystemExit(f"the wheel lacks {', '.join(missing)}.")
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        programs = Path(place) / "bin"

        def run(*command: object) -> None:
            subprocess.run([str(part) for part in command], cwd=place, check=True)

        def lacks(extra: str, *command: object) -> None:
            parts = [str(part) for part in command]
            done = subprocess.run(parts, cwd=place, capture_output=True, text=True)
            advice = f"pip install 'symbreak[{extra}]'"
            if done.returncode == 0 or advice not in " ".join(done.stderr.split()):
                raise SystemExit(f"{parts} does not say: {advice}\n{done.stdout}{done.stderr}")

        run(programs / "python", "-m", "pip", "install", "--quiet", wheel)
        run(programs / "symbreak", "--version")
        run(programs / "symbreak", "train", "syn5", "-n", "2000", "--out", "model.json")
        run(programs / "symbreak", "export", "model.json", "--to", "c")
        run(programs / "symbreak", "study", "smoke", "--store", "smoke.db", "--dry-run")
        lacks("report", programs / "symbreak", "report", "smoke.db")
        lacks("onnx", programs / "symbreak", "export", "model.json", "--to", "onnx")
        (Path(place) / "table.parquet").touch()
        lacks("parquet", programs / "symbreak", "train", "table.parquet")
        lacks("sklearn", programs / "python", "-c", "import symbreak.estimators")
    print(f"{wheel.name} works in an empty environment.")


if __name__ == "__main__":
    main(sys.argv[1])
