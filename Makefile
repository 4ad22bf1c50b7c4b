# Every target sets itself up: a fresh machine needs Python 3.11 or newer and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Files as they come: the long ones, which start processes, are not the last. Three processes, since
# tests wait for others for a quarter of their time.
PYTEST := -m pytest -n 3 --dist loadfile --no-loadscope-reorder
# Changes of pyproject.toml reinstall; the stamps say which extras are there.
USER_STAMP := $(VENV)/.installed
DEV_STAMP  := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.PHONY: help quickstart test suite test-slow test-full test-processors coverage minimum kills lint style types docs dist bench reference clean

help:  ## Show what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if v >= (3, 11) else "symbreak needs Python 3.11 or newer, got %d.%d; try: make PYTHON=python3.11" % v)'
	$(PYTHON) -m venv $(VENV)

$(USER_STAMP): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[report]'
	@touch $@

$(DEV_STAMP): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(USER_STAMP)

quickstart: $(USER_STAMP)  ## Install, run a small study and write a report on it
	$(BIN)/symbreak study quick --store quickstart.db
	$(BIN)/symbreak report quickstart.db --out report

test: style  ## Lint, types and all tests but the slow ones, on two cores
	$(MAKE) --no-print-directory --jobs=2 types suite

suite: $(DEV_STAMP)
	$(BIN)/python $(PYTEST)

test-slow: $(DEV_STAMP)  ## The paper's claims, at a larger size
	$(BIN)/python -m pytest -m slow

test-processors: $(DEV_STAMP)  ## All tests but the slow ones as each kind of processor that this one can play
	$(BIN)/python -m tests.reliability.processors

test-full: lint dist docs coverage minimum kills test-processors  ## Everything: all below, slow tests, the wheel in an empty environment

coverage: $(DEV_STAMP)  ## All tests, slow ones too, and at least 95 % of lines; kernels without their compiler
	$(BIN)/python -m pip install --quiet --disable-pip-version-check coverage
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run $(PYTEST) -m 'slow or not slow'
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest -m interpreted --hypothesis-profile short -W ignore::RuntimeWarning
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

minimum: $(DEV_STAMP)  ## The lowest versions that pyproject.toml allows, in an empty environment
	$(BIN)/python scripts/try_minimum.py

kills: $(DEV_STAMP)  ## A study of 10,000 runs under random kills against one left alone
	timeout 1800 $(BIN)/python -m tests.reliability.kill_study --runs 10000 --pauses 0.3 1.5 --kills 100

lint: style types  ## ruff and mypy

style: $(DEV_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV_STAMP)
	$(BIN)/mypy

docs: $(DEV_STAMP)  ## The documentation as a site, in site/
	$(BIN)/zensical build --clean --strict

dist: $(DEV_STAMP)  ## Wheel and sdist, tried in an empty environment
	rm -rf dist
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python scripts/try_wheel.py dist

bench: $(DEV_STAMP)  ## Speed against the floor and against peers
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python benchmarks/kernel.py --json benchmarks/results/kernel.json
	$(BIN)/python benchmarks/generation.py --json benchmarks/results/generation.json
	$(BIN)/python benchmarks/peers.py --json benchmarks/results/peers.json
	$(BIN)/python benchmarks/alignment.py --json benchmarks/results/alignment.json
	$(BIN)/python benchmarks/aligned.py --json benchmarks/results/aligned.json
	$(BIN)/python benchmarks/control.py --json benchmarks/results/control.json
	$(BIN)/python benchmarks/fitness.py --json benchmarks/results/fitness.json
	$(BIN)/python benchmarks/polish.py --json benchmarks/results/polish.json
	$(BIN)/python benchmarks/workers.py
	$(BIN)/python scripts/update_readme.py
	$(BIN)/python scripts/beyond.py write
	$(BIN)/python scripts/control.py

reference: $(USER_STAMP)  ## The paper's study anew, some 6 to 11 core-hours; go on by starting it again
	$(BIN)/symbreak study paper --store reference.db
	$(BIN)/python scripts/reference.py compare reference.db

clean:  ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
