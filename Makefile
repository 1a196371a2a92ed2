# Two commands: `make run` and `make test`. Everything lives in .venv. What pip cannot bring (python3-venv, and for tests a
# browser and PgBouncer) is installed with apt-get where it is missing and nobody has to be asked, and that is said.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help run test attack lint messages lock bench cluster soak conformance-agents clean

PORT ?= 8000
DIR ?=
NODES ?= 2
MINUTES ?= 15
PYTHON ?= $(shell for p in python3 python3.15 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV_PACKAGE = $(shell $(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-input
# The project's own files are used in place (editable); its build tools are in the lock file like everything else.
PYTEST = PYTHONDONTWRITEBYTECODE= PYTEST_ADDOPTS="-n $$($(BIN)/python -c 'import os; print(os.cpu_count() + 2)') \
	--dist loadfile --no-loadscope-reorder -rfEs $$PYTEST_ADDOPTS" $(BIN)/python -m pytest
PROJECT := $(PIP) --no-deps --no-build-isolation --editable .

# What has no wheel for this Python or machine, from a wheel for another.
OTHER_WHEELS := $(BIN)/python -m tests.other_wheels

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /make \1: /p' Makefile

run: .venv/run.stamp ## start the hub with a demo space; DIR=path/with/AGENTS.md shows your files, PORT=8000
	@exec $(BIN)/memoryhub up --demo-at-first --port $(PORT) $(if $(DIR),"$(DIR)")

test: .venv/test.stamp ## run the tests, browser tests included; PYTEST_ADDOPTS is honoured
	@$(BIN)/python -m tests.chromium
	@$(BIN)/python -m tests.pgbouncer
	@$(PYTEST) -m "not attack"

attack: .venv/test.stamp ## attack it at full size: hostile texts, fuzzers, slow clients (make test: a sample of each)
	@$(PYTEST) -m attack

lint: .venv/test.stamp ## check format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/djangofmt --quiet --check templates
	$(BIN)/mypy

messages: .venv/test.stamp ## bring the catalogues of languages up to date with the source, and compile them
	$(BIN)/python -m tests.messages

cluster: .venv/test.stamp ## start NODES=2 hubs on one PostgreSQL with a replica and PgBouncer, until Ctrl-C
	@exec $(BIN)/python -m tests.cluster --nodes $(NODES)

soak: .venv/test.stamp ## agents and people at work on a cluster while things break, MINUTES=15 long; SEED=… repeats a plan
	@$(BIN)/python -m tests.pgbouncer
	@$(BIN)/python -m tests.soak --minutes $(MINUTES) --nodes $(NODES) $(if $(SEED),--seed $(SEED))

bench: .venv/test.stamp ## measure what docs/develop/performance.md tells, into docs/develop/results.md; GROWTH=1: with ever more in it
	$(BIN)/python -m tests.bench --write $(if $(GROWTH),growth)

conformance-agents: .venv/test.stamp ## compare contexts of coding agents with the real programs (fetched by npm and pip)
	$(BIN)/python -m tests.conformance.coding_agents
	$(BIN)/python -m tests.conformance.coding_agents.hooks
	$(BIN)/python -m tests.conformance.coding_agents.hermes_words

lock: .venv/test.stamp ## pin the newest allowed versions of everything, with hashes
	$(PIP) uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
		--python-version 3.11 --extra mcp --group build pyproject.toml --output-file requirements.lock
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
		--python-version 3.11 --all-extras --group test --constraint requirements.lock pyproject.toml \
		--output-file requirements-test.lock

clean: ## remove the environment and caches (never the hub's data)
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	@[ -n "$(PYTHON)" ] || { echo "memoryhub needs Python 3.11 or newer: install it, or say PYTHON=/path/to/python." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || $(PYTHON) -m tests.apt $(VENV_PACKAGE) "for .venv" || { \
		echo "$(PYTHON) cannot make virtual environments (Debian, Ubuntu: apt install $(VENV_PACKAGE))." >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

.venv/run.stamp: requirements.lock pyproject.toml | .venv/bin/python
	@echo "Installing memoryhub and what it needs into .venv …"
	@$(PIP) --require-hashes -r requirements.lock
	@$(OTHER_WHEELS)
	@$(PROJECT)
	@touch $@

.venv/test.stamp: requirements-test.lock pyproject.toml | .venv/bin/python
	@echo "Installing memoryhub, what it needs and the test tools into .venv …"
	@$(PIP) --require-hashes -r requirements-test.lock
	@$(OTHER_WHEELS)
	@$(PROJECT)
	@touch $@ .venv/run.stamp
