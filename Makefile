# Everything runs inside .venv, which is made on first use and reused afterwards.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

.venv/.made:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"regard needs Python 3.11 or newer, and $(PYTHON) is {v[0]}.{v[1]}; name another one: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	@touch $@

.venv/.core: .venv/.made pyproject.toml
	$(BIN)/pip install --quiet --editable .
	@touch $@

.venv/.dev: .venv/.made pyproject.toml
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@ .venv/.core

.venv/.bench: .venv/.dev pyproject.toml
	$(BIN)/pip install --quiet --editable '.[bench]'
	@touch $@

.PHONY: demo
demo: .venv/.core ## Install the core and walk the whole line on the built-in corpus
	$(BIN)/regard demo

.PHONY: test
test: .venv/.dev ## Install what the tests need and run them
	$(BIN)/python -m pytest

.PHONY: slow
slow: .venv/.dev ## Run the reproductions that take minutes
	$(BIN)/python -m pytest -m slow -n 0

.PHONY: lint
lint: .venv/.dev ## Check style, types and generated pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python docs/make_mechanisms_page.py --check
	$(BIN)/python docs/make_systems_page.py --check
	$(BIN)/python docs/make_cli_page.py --check
	$(BIN)/python docs/make_api_page.py --check

.PHONY: dist
dist: .venv/.dev ## Build wheel and sdist; install each in a clean environment and walk the line
	rm -rf dist build
	$(BIN)/python -m build --quiet --outdir dist .
	for made in dist/*.whl dist/*.tar.gz; do \
	  rm -rf build/clean && $(PYTHON) -m venv build/clean && build/clean/bin/pip install --quiet $$made && \
	  (cd build && clean/bin/regard demo --quiet && clean/bin/regard explain demo.regard "not good at all" >/dev/null) || exit 1; \
	done

# The oldest packages that pyproject.toml allows, without extras: what the ranges promise must hold at this end too.
.PHONY: oldest
oldest: .venv/.dev ## Run the core's tests with the oldest dependencies that are allowed
	rm -rf build/oldest
	$(BIN)/uv venv --quiet --python $(PYTHON) build/oldest
	$(BIN)/uv pip install --quiet --python build/oldest --resolution lowest-direct .
	$(BIN)/uv pip install --quiet --python build/oldest pytest hypothesis 'pandas<3' pyarrow
	build/oldest/bin/python -m pytest -o addopts= -q -m "not slow" -W ignore::DeprecationWarning \
	  -k "not network" tests/cli tests/corpus tests/models/test_store.py

SECONDS ?= 600
.PHONY: fuzz
fuzz: .venv/.dev ## Guess at inputs for SECONDS each, led by coverage; what breaks a promise is kept as crash-*
	for target in reader tokens model parts; do \
	  $(BIN)/python fuzz/run.py $$target --seconds $(SECONDS) || exit 1; \
	done

KILLS ?= 100
.PHONY: fire
fire: .venv/.dev ## Kill training, saving and sweeps KILLS times each, at random moments
	REGARD_KILLS=$(KILLS) $(BIN)/python -m pytest -n 0 tests/fire

.PHONY: check
check: lint test dist oldest ## Everything that continuous integration runs

.PHONY: fix
fix: .venv/.dev ## Format and mend what can be mended by machine
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: docs
docs: .venv/.dev ## Refresh the generated pages
	$(BIN)/python docs/make_mechanisms_page.py
	$(BIN)/python docs/make_systems_page.py
	$(BIN)/python docs/make_cli_page.py
	$(BIN)/python docs/make_api_page.py

.PHONY: bench
bench: .venv/.bench ## Measure against other tools, in an hour or two; writes docs/results (BENCH="speed memory" for some)
	$(BIN)/python benchmarks/run.py $(BENCH)

.PHONY: hooks
hooks: .venv/.dev ## Check every commit before it is made
	$(BIN)/pre-commit install

.PHONY: clean
clean: ## Remove what make has made
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
