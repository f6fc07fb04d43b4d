# Needs make and Python 3.11 or newer with pip; everything else goes into .venv.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test check bench audit soak soak-live clean

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
JAVA_HOME_FILE := $(VENV)/java_home
COMPILED := $(VENV)/.compiled

# A name on PATH may be a shim for a version that is not there, so each candidate is really run.
IS_RECENT := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for name in python3.13 python3.12 python3.11 python3; do \
	if "$$name" -c '$(IS_RECENT)' >/dev/null 2>&1; then echo "$$name"; break; fi; done)

# Minutes of `make soak` and `make soak-live`.
SOAK ?= 60

# Two quiets leave only errors: pip's warnings speak of the reader's own pip configuration.
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-input

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(INSTALLED) $(JAVA_HOME_FILE) $(COMPILED) ## Create .venv with the nearcast command and find or fetch a Java runtime

demo: setup ## Run the demonstration
	$(BIN)/nearcast demo

test: setup ## Run every test
	$(BIN)/python -m pytest -n auto

check: setup ## Lint, check the format, the types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_imports.py

bench: setup ## Measure the language, as JSON
	$(BIN)/nearcast bench language --json

audit: setup ## Ask the advisory database about every pinned version; needs the internet
	@$(BIN)/python -m venv $(VENV)/audit
	@$(VENV)/audit/bin/python -m pip install -qq --disable-pip-version-check --no-input pip-audit \
		|| { echo "error: pip-audit cannot be fetched; without the internet, tests/test_dependencies.py is the audit" >&2; exit 1; }
	$(VENV)/audit/bin/python -m pip_audit --no-deps --disable-pip -r requirements.txt

soak: setup ## Have strangers at every door, then look for disagreements with fresh random tests, for SOAK=60 minutes
	@$(BIN)/python tools/soak.py $(SOAK)

soak-live: setup ## Load the live broker for SOAK=60 minutes, and see that memory, latency and files do not grow
	@$(BIN)/python tools/soak_live.py $(SOAK)

clean: ## Remove .venv, builds and caches
	rm -rf $(VENV) build dist src/*.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests tools -type d -name __pycache__ -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml requirements.txt | $(BIN)/python
	$(PIP_INSTALL) -r requirements.txt
	$(PIP_INSTALL) --no-deps --no-build-isolation -e .
	$(BIN)/python -m pip check -q --disable-pip-version-check
	@touch $@

$(JAVA_HOME_FILE): requirements-java.txt tools/java_runtime.py | $(INSTALLED)
	@$(BIN)/python tools/java_runtime.py

# Else the first broker would do it, which has others wait.
$(COMPILED): | $(INSTALLED)
	@echo "compiling what is to be fast, once; that takes a minute or so"
	@$(BIN)/python -m nearcast.broker.warming
	@touch $@

$(BIN)/python:
	@python="$(PYTHON)"; \
	fail() { echo "error: $$1" >&2; exit 1; }; \
	[ -n "$$python" ] && "$$python" -c '$(IS_RECENT)' >/dev/null 2>&1 \
		|| fail "nearcast needs Python 3.11 or newer$${python:+, and $$python is not}; name one with: make setup PYTHON=/path/to/python3"; \
	"$$python" -c 'import ensurepip, venv' >/dev/null 2>&1 \
		|| fail "$$python cannot create environments with pip; on Debian or Ubuntu: apt install python3-venv"; \
	echo "$$python -m venv $(VENV)"; \
	"$$python" -m venv $(VENV)
