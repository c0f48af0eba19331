# make run and make test are all that a newcomer needs: both make their environment first.
#
#   PYTHON=python3.12   the Python to make the environment with (else the newest on the PATH)
#   VENV=.venv          where the environment is
#   ARGS='-k tidy'      more arguments for tests, benchmarks and soak
#   JOBS=1              how many processes run the tests (else one per core, at most 8)
#   POINTS=1000         how often soak kills a writer of the record of use
#   FUZZ_SECONDS=3600   how long soak attacks each of the four doors

PYTHON ?=
VENV ?= .venv
ARGS ?=
JOBS ?= logical

# The tests start Python many times: without compiled files a start takes 0.8 s, not 0.2 s.
export PYTHONDONTWRITEBYTECODE :=

python := $(VENV)/bin/python
installed := $(VENV)/.installed
pytest := $(python) -m pytest -n $(JOBS) --maxprocesses 8 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup run test test-live test-exhaustive test-all check format docs bench bench-sim bench-live soak soak-live clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' Makefile

setup: $(installed) ## make the environment, nothing else
	@echo "$(VENV) is ready"

run: $(installed) ## show what Fairlead says about the worked examples
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" examples/run.sh

test: $(installed) ## run the tests, without those of the next two lines
	@$(pytest) -m 'not exhaustive and not live' $(ARGS)
	@echo "left out: the tests on a real Kubernetes control plane (make test-live)"

test-live: $(installed) ## run the tests on a real Kubernetes control plane, built at the first time
	@nice $(python) tools/k8s/build.py >/dev/null || [ $$? -eq 3 ]
	@$(python) -m pytest -m live $(ARGS) tests/live

test-exhaustive: $(installed) ## compare shortcuts with the plain way, and fuzz for long
	@$(pytest) -m 'exhaustive and not live' $(ARGS)

test-all: ## run the tests with every supported Python of this machine
	@tools/find_pythons.sh --everywhere | while read -r version path; do \
		echo "== Python $$version"; \
		$(MAKE) --no-print-directory test VENV=.venv-$$version PYTHON="$$path" </dev/null || exit 1; \
	done

check: $(installed) ## check format, lint, types and layers
	@$(python) -m ruff format --check .
	@$(python) -m ruff check .
	@$(python) -m mypy
	@$(VENV)/bin/lint-imports --no-logo

format: $(installed) ## put the code into its form and mend what can be mended
	@$(python) -m ruff format .
	@$(python) -m ruff check --fix .

docs: $(installed) ## write what the commands in the docs really print into the docs
	@$(python) -m pytest tests/test_docs.py --refresh-docs

bench: $(installed) ## measure against the goals
	@$(python) -m bench $(ARGS)

bench-sim: $(installed) ## measure one long simulation, for minutes; ARGS='--policy kai --days 3'
	@$(python) -m bench.simulated_month $(ARGS)

bench-live: $(installed) ## measure beside kube-scheduler, for an hour; ARGS='backlog --rounds 1'
	@$(python) -m bench.live $(ARGS)

soak: $(installed) ## look for preemptions without end, kill writers and attack the doors, for hours
	@$(python) -m tests.store.crashes --points $(or $(POINTS),1000)
	@for door in manifests plans store http; do \
		$(python) -m tests.fuzz.$$door --seconds $(or $(FUZZ_SECONDS),3600) || exit 1; \
	done
	@$(python) -m tests.policy.kueue.loops --worlds 10000000 --jobs 2 $(ARGS)

soak-live: $(installed) ## try every fault at every write of a live scheduler, for hours; ARGS='--seed 7'
	@$(python) tools/k8s/build.py
	@$(python) -m tests.live.faults.campaign $(ARGS)

clean: ## remove the environments and all caches
	rm -rf .venv .venv-* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

$(installed): pyproject.toml constraints.txt tools/setup.sh tools/find_pythons.sh
	@tools/setup.sh "$(VENV)" "$(PYTHON)"
	@touch $@
