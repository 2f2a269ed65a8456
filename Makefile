# Each of these sets up .venv by itself, and installs what it needs: make demo little, the others everything.
#   make demo       generates both codecs, simulates a tensor through them and says where everything is
#   make check      what one runs while working, under three minutes on two cores: lint, and the tests that are quick
#   make test       lint and the tests, simulations included, in the stages of tests/support/stages.py
#   make thorough   the same, and shapes of codecs and engines that others nearly cover; fails if a measurement is stale
#   make lint       ruff and mypy alone
#   make same BASE=REVISION   says whether this tree makes the same Verilog, streams and reports as that revision
#   make weight BASE=REVISION   counts lines, rooms, arrows and files that name an option, beside those of that revision
#   make docs       builds the documentation site, build/site/index.html
#   make release    builds wheel, source distribution, site and blocks in dist/, tries them, publishes nothing
#   make commands   runs every command of the documents as printed, in fresh environments: an hour or more
#   make waves      draws the timing diagrams of the documents, and the picture of the page, again
#   make litex      runs the driver on the RISC-V CPU of a simulated LiteX SoC; installs LiteX into .venv
#   make linux      tries the driver for Linux on the RTL, on a kernel in user mode, which it builds the first time: ten minutes
#   make gpu        measures on a GPU within 12 minutes, and goes on where it ended; TRITON_INTERPRET=1 make gpu rehearses it
#   make machine    says what this machine lacks; every installation asks it first
#   make clean
# PYTHON names the interpreter to start from and JOBS the number of tests that run at once, by default as many as there are
# cores and memory for. TORCH=1 also installs
# PyTorch, where there is a small wheel for it, for the tests that train networks. WINGS names the folders of extras/ whose
# tests run, by default all; with WINGS= the tests of the core run alone.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# What is installed is compiled as it is imported, which is a small part of it; the tests start many processes, each of which
# would otherwise compile the package anew.
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
unexport PYTHONDONTWRITEBYTECODE
TORCH  ?=
JOBS   ?= auto
WINGS  ?= linux pytorch study
# The wings' tests run after the core's, in processes of their own: PyTorch alone takes 0.4 GB of each. $(1) chooses tests.
PYTEST  = $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
tests   = failed=0; $(PYTEST) $(1) --ignore=tests/extras || failed=1; \
          $(if $(WINGS),$(PYTEST) $(1) $(addprefix tests/extras/,$(WINGS)) || failed=1;) exit $$failed
BASE   ?= HEAD
# A stamp for each extra of pyproject.toml that is installed here. With everything installed, the demo has what it needs.
STAMP  := $(VENV)/.installed-dev
DEMO   := $(VENV)/.installed-verif
# The files of the package. It is installed as a tree of links below build/, which type checkers and editors follow, and
# is installed anew when a file is added or taken away: the stamp lists the files that the tree was made for.
FILES  := $(sort $(shell find base cli hdl sim verif synth extras -path extras/linux/build -prune -o -type f -name '[!.]*[!~]' -not -path '*/__pycache__/*' -not -path '*.egg-info/*' -print))
listed  = $(if $(wildcard build/__editable__*),$(shell cat $(1) 2>/dev/null))

.DELETE_ON_ERROR:
.PHONY: demo check test thorough style lint same weight docs release commands waves litex linux gpu machine torch clean
.PHONY: $(foreach stamp,$(STAMP) $(DEMO),$(if $(subst x$(FILES),,x$(call listed,$(stamp))),$(stamp)))

demo: $(if $(wildcard $(STAMP)),$(STAMP),$(DEMO))
	$(BIN)/cdma demo

# The types are a test, so that they are checked beside the others.
check: $(STAMP) style
	@$(call tests,-m "not verilator and not slow and not thorough")

test: $(STAMP) $(if $(TORCH),torch) style
	@$(call tests,-m "not thorough")

thorough: $(STAMP) $(if $(TORCH),torch) style
	@$(call tests)
	$(BIN)/python -m docs.results stale

style: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint: $(STAMP) style
	$(BIN)/mypy

same: $(STAMP)
	$(BIN)/python tests/same_output.py against $(BASE)

weight: $(STAMP)
	$(BIN)/python -m tests.weight --base $(BASE)

docs: $(STAMP)
	$(BIN)/python -m docs.site -o build/site

release: $(STAMP)
	$(BIN)/python -m docs.results stale
	$(BIN)/python -m docs.release -o dist

commands: $(STAMP)
	$(BIN)/python -m docs.commands

# The pictures of runs that the documents show, drawn from simulations; the last one takes Chromium.
waves: $(STAMP)
	$(BIN)/cdma wave compressor --only svg -o docs/waves
	$(BIN)/cdma wave decompressor --only svg -o docs/waves
	$(BIN)/cdma wave quantiser --only svg -o docs/waves
	$(BIN)/cdma wave dequantiser --only svg -o docs/waves
	$(BIN)/cdma wave engine --only svg -o docs/waves
	$(BIN)/cdma wave engine --units 4 --stripe-bytes 256 --latency 32 --scenarios pieces --only svg -o docs/waves
	$(BIN)/python -m docs.draw_page

# LiteX is installed here and not with the rest, because nothing else needs it.
litex: $(STAMP)
	@$(BIN)/python -c 'import litex, migen, pythondata_cpu_vexriscv' 2>/dev/null \
	  || $(PIP) -e '.[dev,litex]' --config-settings editable_mode=strict
	@$(BIN)/python -m cdma.verif.simulator.litex

# The kernel is built of Debian's sources and kept in the user's cache.
linux: $(STAMP)
	@sh .ci/linux
	@$(BIN)/python -m cdma_linux.trial
	@$(BIN)/python -m cdma_linux.trial --pages

# What a machine must have, before anything else is tried; each thing that is missing is one sentence.
gpu: $(STAMP)
	@$(BIN)/python -m cdma.torch.bench.on_gpu

machine:
	@PYTHON='$(PYTHON)' sh .ci/machine

$(STAMP) $(DEMO): $(VENV)/.installed-%: pyproject.toml setup.py
	@PYTHON='$(PYTHON)' sh .ci/machine $*
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[$*]' $(if $(filter dev,$*),-e extras/linux) --config-settings editable_mode=strict
	@echo '$(FILES)' > $@

# The wheel of this version for Python 3.11 is for the CPU; other wheels bring gigabytes for graphics cards. Triton runs
# the kernels of cards in its interpreter.
# No network and no wheel are no failure: the tests that need PyTorch skip, and say so.
torch: $(STAMP)
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then \
	  $(PIP) 'torch==2.13.0' 'scikit-learn>=1.4' 'triton>=3.6,<4' \
	    || echo 'PyTorch cannot be installed here: the tests that train networks are skipped.'; \
	else \
	  echo 'PyTorch is installed for Python 3.11 only: the tests that train networks are skipped.'; \
	fi

clean:
	rm -rf $(VENV) build extras/linux/build dist *.egg-info extras/linux/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis sim_build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
