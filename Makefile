# make demo, make test, make lint and make clean: each sets up .venv by itself. PYTHON names the interpreter to
# start from; TORCH=1 also installs PyTorch where there is a small wheel for it, for the tests that train networks.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
TORCH  ?=
JOBS   ?= auto
# The folders of the package. When a file is added to one or taken away, the package is installed anew: its strict
# editable install is a tree of links, which type checkers and editors can follow, but which new files are not in.
PARTS  := $(shell find cli hdl sim verif synth -type d -not -name __pycache__)

.DELETE_ON_ERROR:
.PHONY: demo test lint waves check torch clean

demo: $(STAMP)
	$(BIN)/cdma demo

test: $(STAMP) $(if $(TORCH),torch) lint
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The timing diagrams that the documents show, drawn from simulations.
waves: $(STAMP)
	$(BIN)/cdma wave compressor --only svg -o docs/waves
	$(BIN)/cdma wave decompressor --only svg -o docs/waves
	$(BIN)/cdma wave engine --only svg -o docs/waves

# What a machine must have, before anything else is tried; each thing that is missing is one sentence.
check:
	@PYTHON='$(PYTHON)' sh .ci/check

$(STAMP): pyproject.toml setup.py $(PARTS) | check
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' --config-settings editable_mode=strict
	@touch $@

# The wheel of this version for Python 3.11 is for the CPU; other wheels bring gigabytes for graphics cards.
# No network and no wheel are no failure: the tests that need PyTorch skip, and say so.
torch: $(STAMP)
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0' 'scikit-learn>=1.4' \
	    || echo 'PyTorch cannot be installed here: the tests that train networks are skipped.'; \
	else \
	  echo 'PyTorch is installed for Python 3.11 only: the tests that train networks are skipped.'; \
	fi

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis sim_build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
