# For developers; using qubonn needs none of this.
BIN ?= .venv/bin

.PHONY: setup check format test lint measures docs playground
setup:            ## a virtual environment with everything the checks need
	python3 -m venv .venv
	$(BIN)/python -m pip install -q -e '.[dev]'

check: lint test  ## everything that must hold before a change is sent

lint:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test:
	$(BIN)/python -m pytest

measures:         ## the size of the source, its tests, names and imports; fails above the limits
	$(BIN)/python tools/measures.py --road

format:
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

playground:       ## build and test the page of  qubonn playground;  needs Node.js, and Chromium for its tests
	cd playground && npm ci --silent && npm run --silent build
	.ci/playground

docs:             ## the site in site/; needs  pip install -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
