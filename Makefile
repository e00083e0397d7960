# `make` alone lists what there is. Every target works from a fresh clone without another before it.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo peers test soak score check bench fuzz lock clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 20

setup: $(READY) ## a .venv with the locked packages, and Kafka's verified jars
	@$(BIN)/python -m infra.kafka.setup

$(READY): requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@echo "installing the locked packages into $(VENV) (about 1 GB)"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $(READY)

demo: setup ## the whole line on this machine: make demo ARGS="--seconds 120 --exit"
	@$(BIN)/lockstep demo $(ARGS)

peers: setup ## build the test servers of other projects: a gNMI target in Go
	@$(BIN)/python -m infra.peers.build

test: setup ## every test: make test ARGS="tests/streams -k memory"
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

soak: setup ## outages in full length: 13 minutes
	@$(BIN)/python -m pytest -m soak $(ARGS)

score: setup ## the whole library of scenarios, against what is asked: make score ARGS="--json"
	@$(BIN)/lockstep score tests/scenarios --accept $(ARGS)

check: setup ## ruff, mypy strict over everything, import rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q tests/test_house.py

bench: setup ## speed, as ratios to a peer or a floor measured in the same run
	@$(BIN)/python -m tests.bench $(ARGS)

fuzz: setup ## damaged bytes into every parser: make fuzz ARGS="--each 60 dcgm"
	@$(BIN)/python -m tests.fuzz $(ARGS)

lock: ## resolve requirements.lock anew from pyproject.toml
	@test -x $(BIN)/uv || { $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet uv; }
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
	  --python-version 3.11 --extra dev pyproject.toml --output-file requirements.lock

clean: ## remove the virtual environment, caches and local state
	@if [ -x $(BIN)/lockstep ]; then $(BIN)/lockstep kafka stop || true; fi
	@rm -rf $(VENV) .lockstep .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
