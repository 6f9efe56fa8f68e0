# Every target makes what it needs: on a fresh machine with Python 3.11, `make demo` or `make test` is the first command.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
TABLE ?= experiments/demo.yaml
SEEDS ?= 0
HOURS ?= 1
BRANCH ?= main
JOBS ?= 2
# every core; worksteal keeps the tests of a file together, which share what they make, until a worker has nothing to do
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup demo test quick changed test-slow wheel-test test-slurm soak reproduce docs lint format types bench notebooks strip pictures release clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/ready  ## virtual environment in .venv with the versions of constraints.txt

$(VENV)/ready: pyproject.toml constraints.txt
	@echo "Installing into $(VENV): several GB, a few minutes"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev]" -c constraints.txt
	touch $@
	@echo "Installed. For the commands of the pages, first: source $(BIN)/activate"

demo: setup  ## two schemes beside their controls: train, test, print (minutes; SEEDS=0,1,2 for three seeds, TABLE=FILE)
	$(BIN)/python -m lit_video fit --config $(TABLE) --seeds $(SEEDS) --jobs $(JOBS)

test: lint  ## lint, types and all tests that are not slow
	$(MAKE) --no-print-directory -j2 types quick

quick: setup
	$(PYTEST) -rs

changed: setup  ## the tests nearest to what differs from BRANCH=main, for a minute at most
	$(BIN)/python -m tests.changed $(BRANCH)

test-slow: setup  ## the tests that take minutes
	$(PYTEST) -m slow

wheel-test: setup  ## the wheel in a fresh environment of PYTHON=python3.13, run-time dependencies only (downloads, 6 GB)
	WHEEL_PYTHON=$(PYTHON) $(BIN)/python -m pytest -n 0 -m wheel tests/test_wheel.py

test-slurm: setup  ## rows on a real Slurm of two nodes, started here (apt-get install -y slurm-wlm munge)
	$(BIN)/python -m pytest -m slurm -rs tests/launching

soak: setup  ## runs under faults for HOURS=1, JOBS=2 at a time: docs/faults.md (root, for full and read-only disks)
	$(BIN)/python -m benchmarks.soak --hours $(HOURS) --jobs $(JOBS) --write

notebooks: setup  ## run the notebooks top to bottom
	$(PYTEST) -m 'slow or not slow' tests/test_notebooks.py

strip: setup  ## take outputs out of the notebooks, as they are kept
	$(BIN)/python notebooks/strip_outputs.py notebooks/*.ipynb || true

docs: $(VENV)/docs_ready build/results.html  ## README, docs/, API, results, notebooks as a site in site/ (nothing is fetched when read)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "wrote site/; with search: $(BIN)/python -m http.server -d site"

reproduce: setup  ## REPRODUCE.md and docs/results from the packed runs (check only: python -m benchmarks.papers --check)
	$(BIN)/python -m benchmarks.papers

pictures: setup  ## run the notebooks for the pictures that docs shows in them (minutes)
	$(BIN)/python docs/scripts/run_notebooks.py

build/results.html: $(wildcard benchmarks/results/*.tar.xz) | $(VENV)/ready
	mkdir -p build
	$(BIN)/python -m lit_video report benchmarks/results -o $@

$(VENV)/docs_ready: $(VENV)/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[docs]" -c constraints.txt
	touch $@

lint: setup  ## ruff and the layers of packages, without changing anything
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

format: setup  ## let ruff fix and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: setup  ## strict type check
	$(BIN)/mypy

bench: setup  ## time and memory of every scheme beside other packages' models, then of the mixing layer alone
	$(BIN)/python -m benchmarks.model
	$(BIN)/python -m benchmarks.mixing

VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' lit_video/__init__.py)

release: test test-slow  ## the tested wheel of a clean tree in dist/, and a tag of its version
	@test -z "$$(git status --porcelain)" || { echo "uncommitted changes: git status"; exit 1; }
	@grep -qx "version: $(VERSION)" CITATION.cff || { echo "CITATION.cff has another version than $(VERSION)"; exit 1; }
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .
	git tag -a v$(VERSION) -m "lit_video $(VERSION)"

clean:  ## remove the environment and caches; runs/ stays
	rm -rf $(VENV) .import_linter_cache .mypy_cache .ruff_cache .pytest_cache *.egg-info build site
