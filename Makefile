# `make demo` and `make test` set up .venv themselves, with uv where it is installed, else with venv and pip.
.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-all chainlit mcp-servers soak fuzz lint docs build ci clean

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
WORKERS ?= 2
# As of `memory-context demo --host`, and the name of its extra.
HOST ?= autogen
FUZZED := $(wildcard $(addprefix tests/test_,$(addsuffix .py,\
	analyzer arguments codecs describe display excerpt filenames items keys pages parsers parts \
	policy reading redaction redaction_of_records refs replay replay_files rows scopes tokens)))
# Without bytecode each of the hundreds of processes that tests start would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE
export MEMORY_CONTEXT_TEST_MCP_SERVERS ?= $(abspath $(VENV)-mcp-servers)
export MEMORY_CONTEXT_TEST_CHAINLIT ?= $(abspath $(VENV)-chainlit)/bin/chainlit

ifdef UV
CREATE = $(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
INSTALL = $(UV) pip install --quiet --python $(BIN)/python
else
CREATE = $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
INSTALL = $(BIN)/python -m pip install --quiet
endif

help: ## say what there is
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	$(CREATE)

$(VENV)/demo-$(HOST): pyproject.toml | $(BIN)/python
	$(INSTALL) -e '.[demo,$(HOST)]'
	@touch $@

$(VENV)/test: pyproject.toml | $(BIN)/python
	$(INSTALL) -e '.[agent-framework,demo,langchain]' --group test
	@touch $@

$(VENV)/lint: pyproject.toml $(VENV)/test | $(BIN)/python
	$(INSTALL) --group lint
	@touch $@

# Beside the other environment, because they do not go together.
$(VENV)-chainlit/app: pyproject.toml
	$(PYTHON) -m venv $(VENV)-chainlit
	$(VENV)-chainlit/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)-chainlit/bin/python -m pip install --quiet -e '.[autogen]' --group chainlit
	@touch $@

# Servers and a client of others, which `memory-context wrap` is tried with.
$(VENV)-mcp-servers/app: pyproject.toml
	$(PYTHON) -m venv $(VENV)-mcp-servers
	$(VENV)-mcp-servers/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)-mcp-servers/bin/python -m pip install --quiet --group mcp-servers
	npm install --silent --no-audit --no-fund --prefix $(VENV)-mcp-servers $(addprefix @modelcontextprotocol/,\
		server-everything@2026 server-filesystem@2026 server-memory@2026 inspector@0.15)
	@touch $@

demo: $(VENV)/demo-$(HOST) ## run an agent on this machine's own data, without a key or a server; HOST=langchain, HOST=agent-framework
	$(BIN)/memory-context demo --host $(HOST)

test: $(VENV)/test ## run the test suite, a real PostgreSQL included
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope -m 'not long and not soak'

test-long: $(VENV)/test $(VENV)-chainlit/app $(VENV)-mcp-servers/app ## run what `make test` leaves out: crashes, faults, load, upgrades
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope -m 'long and not soak' --hypothesis-profile=long

test-all: $(VENV)/test $(VENV)-chainlit/app $(VENV)-mcp-servers/app ## run both at once, and try each property on more examples
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope -m 'not soak' --hypothesis-profile=long

chainlit: $(VENV)-chainlit/app ## set up Chainlit for the app of examples/chainlit, which the long suite runs in a browser

mcp-servers: $(VENV)-mcp-servers/app ## set up the MCP servers of others that the long suite wraps; takes npm

soak: $(VENV)/test ## run the tests that take hours
	$(BIN)/python -m pytest -m soak --hypothesis-profile=fuzz

# These take no database.
fuzz: $(VENV)/test ## try the properties of text and conversations on examples that were never tried
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope -m 'not long' --hypothesis-profile=fuzz $(FUZZED)

lint: $(VENV)/lint ## ruff, mypy, pyright, import-linter
	$(BIN)/ruff check src tests benchmarks examples notebooks hatch_build.py
	$(BIN)/ruff format --check src tests benchmarks examples notebooks hatch_build.py
	$(BIN)/mypy
	$(BIN)/pyright --project pyproject.toml --pythonpath $(BIN)/python
	$(BIN)/lint-imports

# Beside the other environment: nothing of it is needed there.
$(VENV)-docs/site: pyproject.toml
	$(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)-docs/bin/python -m pip install --quiet --group docs
	@touch $@

docs: $(VENV)-docs/site ## render the documentation into build/site; a link that leads nowhere, or to another host's files, is an error
	rm -rf build/pages build/site && mkdir -p build/pages
	cp -r docs notebooks examples *.md LICENSE build/pages
	NO_MKDOCS_2_WARNING=1 $(VENV)-docs/bin/mkdocs build --strict --quiet
	! grep -rnoE '<(script|link|img|iframe)[^>]+(src|href)="?(https?:)?//[^" >]+' build/site --include=*.html

build: ## build wheel and sdist into dist/; PROJECT_URL=https://… gives them the project's address
	$(PYTHON) -m venv $(VENV)-build
	$(VENV)-build/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)-build/bin/python -m pip install --quiet --group build
	rm -rf dist
	$(VENV)-build/bin/python -m build --outdir dist .

clean: ## remove environments and what was built
	rm -rf .venv* dist build
