# A developer's whole interface. `make demo` and `make test` set everything up in .venv by themselves;
# they need Python >= 3.11, make and a C compiler.

VENV   ?= .venv
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
            command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' && { echo $$p; break; }; done)
BIN     = $(VENV)/bin
JOBS   ?= 2
ARGS   ?=
NATIVE  = $(wildcard core/native/*.py core/native/*/*.[chS] core/native/*/*.def)
C_FILES = $(shell find core/native bench -name '*.[ch]' -not -path '*/cases/*' 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help demo test lint native bench docs clean ci-deps

help: ## show this help
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## run a small Snakemake workflow and show what provio finds in it
	@rm -rf build/demo && mkdir -p build
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/provio demo --directory build/demo $(ARGS)

test: $(VENV)/.dev ## run all tests (ARGS='-k word' for some)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n $(JOBS) -m 'not serial' $(ARGS)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -m serial $(ARGS)

lint: $(VENV)/.dev ## check style, types, directions of imports, C format, changelog
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	clang-format --dry-run -Werror $(C_FILES)
	$(BIN)/python changelog.d/check.py

native: $(VENV)/.venv ## compile the C parts into the source tree
	$(BIN)/python core/native/build.py

bench: $(VENV)/.dev ## measure overhead and sealing (minutes; nothing else should run)
	$(BIN)/python bench/run.py $(ARGS)

docs: $(VENV)/.dev ## write the reference pages that are generated from the code
	$(BIN)/python docs/generate.py

clean: ## remove what was built, and .venv
	rm -rf $(VENV) build dist core/src/provio/_native .mypy_cache .ruff_cache .pytest_cache .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

ci-deps: ## install Debian packages that the full test suite needs (as root or with sudo)
	.ci/deps

$(VENV)/.venv:
	@test -n "$(PYTHON)" || { echo "provio needs Python >= 3.11; none of python3, python3.11 .. python3.14 is"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { echo "hint: on Debian and Ubuntu: apt install python3-venv"; rm -rf $(VENV); exit 1; }
	@touch $@

$(VENV)/.demo: $(VENV)/.venv pyproject.toml hatch_build.py $(NATIVE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[demo]'
	@touch $@

$(VENV)/.dev: $(VENV)/.venv pyproject.toml hatch_build.py $(NATIVE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.demo
