# Two commands do everything on a fresh machine: `make run` and `make test`.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
# In some environments Python may not keep what it has compiled: each of the tests' thousand processes would compile
# all our modules.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3.11
CACHE ?= $(or $(STREAMAPP_CACHE),$(HOME)/.cache/streamapp)
# Third-party packages are installed once per set of pins, outside the checkout; .venv only points there.
PINS := $(shell (cat constraints.txt; sed -n '/^dependencies/,/^.project.scripts/p' pyproject.toml) | sha256sum | cut -c1-16)
DEPS := $(CACHE)/python-$(PINS)
RUN := .venv/bin/python
# Tests run in several processes; unit tests wait for half of their time.
CORES := $(shell getconf _NPROCESSORS_ONLN)
PARALLEL := --numprocesses=$(CORES) --dist=loadscope
UNIT_PARALLEL := --numprocesses=$(shell expr 2 \* $(CORES)) --dist=worksteal
CODE := core systems runtime operator cli api images tests benchmarks examples tools hatch_build.py
NATIVE := systems/streamapp_systems/native

FLIGHTS := examples/flights
DATA := $(FLIGHTS)/data

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: .venv/ready java $(DATA)/ready ## Run the flights example on local Spark, from nothing
	@.venv/bin/streamapp run $(FLIGHTS)/app.yaml --fresh
	@.venv/bin/streamapp plan $(FLIGHTS)/app.yaml --output mermaid > $(FLIGHTS)/out/plan.mmd
	@$(RUN) $(FLIGHTS)/findings.py

.PHONY: test
test: .venv/ready $(DATA)/ready ## Run every check and every test that this machine can run, and say what it can't
	@echo "== checks and unit tests, side by side; each prints when it is through"
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=recurse lint type unit
	@echo "== integration tests and tests on Kubernetes, side by side; each tier prints when it is through"
	@found=$$($(RUN) -m tools.machine); targets=$$(head -1 <<< "$$found"); \
	  [ -z "$$targets" ] || $(MAKE) --no-print-directory --jobs=2 --output-sync=recurse $$targets; \
	  tail -n +2 <<< "$$found"

.PHONY: unit
unit: .venv/ready $(DATA)/ready ## Run the fast tests (no JVM)
	@echo "== unit tests"
	@$(RUN) -m pytest tests/unit $(UNIT_PARALLEL) $(PYTEST_ARGS)

OLDER_SPARK := $(addprefix tests/integration/test_,flights_on_spark.py spark_host.py spark_rpc.py spark_settings.py \
  worker_daemon.py driver_jvm.py) -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning

.PHONY: integration
integration: .venv/ready java $(DATA)/ready ## Run the tests with real Spark and Kafka
	@echo "== Kafka's jars and classes (made once; kept in $(CACHE))"
	@$(RUN) -m tools.kafka.prepare
	@$(RUN) -m tools.chromium
	@echo "== integration tests"
	@$(RUN) -m pytest tests/integration $(PARALLEL) $(PYTEST_ARGS)
	@echo "== tests on an older release of Spark, whose own code leaves sockets open"
	@PYTHONPATH=$$($(RUN) -m tools.older_spark) $(RUN) -m pytest $(OLDER_SPARK) $(PARALLEL) $(PYTEST_ARGS)

.PHONY: stores
stores: .venv/ready ## Run the tests with a real S3 server, a real PostgreSQL and a real catalog of Iceberg
	@echo "== the S3 server (built once, about 2 minutes; kept in $(CACHE))"
	@if command -v go >/dev/null; then $(RUN) -m tools.object_store; fi
	@$(RUN) -m tools.postgresql
	@echo "== tests on an S3 server, PostgreSQL and a catalog of Iceberg"
	@$(RUN) -m pytest tests/stores $(PYTEST_ARGS)

.PHONY: light
light: .venv/ready ## Run the tests with a real Kubernetes API server (no nodes)
	@echo "== Kubernetes' programs and those that check manifests (built once, about 10 minutes; kept in $(CACHE))"
	@if command -v go >/dev/null; then $(RUN) -m tools.cluster binaries >/dev/null; fi
	@echo "== tests on an API server"
	@$(RUN) -m pytest tests/cluster $(PYTEST_ARGS)

.PHONY: e2e
e2e: .venv/ready java $(DATA)/ready ## Run the tests on a real cluster (KUBECONFIG names one; else it is made here)
	@echo "== the cluster's node image (made once, about 5 minutes; kept in $(CACHE))"
	@if [ -z "$${KUBECONFIG:-}" ] && $(RUN) -m tools.cluster check; then $(RUN) -m tools.cluster prepare; fi
	@echo "== tests on a cluster"
	@$(RUN) -m pytest tests/e2e $(PYTEST_ARGS)

.PHONY: lint
lint: .venv/ready ## Check style and the layers
	@echo "== ruff and import-linter"
	@$(DEPS)/bin/ruff check $(wildcard $(CODE))
	@$(DEPS)/bin/ruff format --check --diff $(wildcard $(CODE))
	@$(RUN) -c 'from importlinter.cli import lint_imports_command; lint_imports_command(["--no-logo"])'
	@$(RUN) tools/crds.py --check
	@$(RUN) tools/call_types.py --check

.PHONY: type
type: .venv/ready ## Check the types (mypy, strict)
	@echo "== mypy"
	@$(RUN) -m mypy
	@$(RUN) -m mypy --namespace-packages --explicit-package-bases $(addprefix -p tools.,chromium cluster debian_package iceberg_catalog images kafka machine native_library object_store older_spark postgresql release scratch site unused)
	@$(RUN) -m mypy images hatch_build.py

.PHONY: fmt
fmt: .venv/ready ## Format the code and fix what can be fixed
	@$(DEPS)/bin/ruff check --fix-only --quiet $(wildcard $(CODE))
	@$(DEPS)/bin/ruff format --quiet $(wildcard $(CODE))

# What keeps the cores busy runs in several processes; the others measure, or wait for seconds that pass.
SOAK_CORES := tests/unit/apps/test_differential.py tests/unit/simulation $(addprefix tests/unit/native/test_,json_decoding.py \
  avro_programs.py proto_programs.py)
SOAK_KAFKA := $(addprefix tests/integration/kafka/test_,soak.py supervision.py side_inputs.py late_end_of_transaction.py \
  outages.py replicated_brokers.py apps.py nexmark.py registered_values.py)
SOAK := $(SOAK_KAFKA) $(addprefix tests/integration/test_,side_input_kills.py kills.py growing_kills.py) \
  tests/stores/test_database_runs.py tests/stores/test_spark_output.py \
  tests/cluster/test_operator_deaths.py tests/cluster/test_operator_scale.py tests/e2e/test_apps.py tests/e2e/soak_cluster.py

.PHONY: soak
soak: .venv/ready java $(DATA)/ready ## Run the long versions of the sampled tests (about five hours on two cores)
	@export STREAMAPP_KILL_RUNS=50 STREAMAPP_SOAK_KILLS=100 STREAMAPP_ZOMBIE_SECONDS=30 STREAMAPP_OPERATOR_ALL_ACTIONS=1 \
	  STREAMAPP_OPERATOR_IDLE_SECONDS=300 STREAMAPP_UNDISTURBED_SECONDS=120 STREAMAPP_DIFFERENTIAL_SEEDS=500 \
	  STREAMAPP_LATE_COMMITS=3000 STREAMAPP_OUTAGES=17,30,120 STREAMAPP_BROKER_OUTAGES=8 \
	  STREAMAPP_SIMULATION_SCHEDULES=10000 STREAMAPP_CLUSTER_SOAK_MINUTES=30 STREAMAPP_NEXMARK_SEEDS=3 \
	  STREAMAPP_FUZZED_JSON=2000 STREAMAPP_FUZZED_BINARY=20000; failed=0; \
	  $(RUN) -m pytest $(SOAK_CORES) $(UNIT_PARALLEL) $(PYTEST_ARGS) || failed=1; \
	  $(RUN) -m pytest $(SOAK) $(PYTEST_ARGS) || failed=1; \
	  exit $$failed

.PHONY: kafka
kafka: .venv/ready java ## Run a Kafka broker on the loopback interface until Ctrl-C (PORT=9092 for a fixed port; REGISTRY=8081 adds a schema registry)
	@$(RUN) -m tools.kafka --port $(or $(PORT),0) $(if $(REGISTRY),--registry $(REGISTRY))

.PHONY: cluster
cluster: .venv/ready ## Run Kubernetes with 4 nodes on this machine
	@$(RUN) -m tools.cluster up

.PHONY: cluster-delete
cluster-delete: .venv/ready ## Remove that cluster
	@$(RUN) -m tools.cluster down

.PHONY: images
images: .venv/ready ## Make the operator's and the runtime's image; a cluster that runs gets them
	@$(RUN) -m tools.images

.PHONY: site
site: .venv/ready ## Build the documentation as a site, into build/site
	@NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict
	@echo "build/site/index.html; to search in it, serve it: python3 -m http.server --directory build/site"

.PHONY: release
release: .venv/ready ## Make what a release publishes, into dist/
	@$(RUN) -m tools.release $(RELEASE_ARGS)

.PHONY: crds
crds: .venv/ready ## Write the CustomResourceDefinition and the types of calls in Python from the spec models
	@$(RUN) tools/crds.py
	@$(RUN) tools/call_types.py

.PHONY: bench
bench: .venv/ready java $(DATA)/ready ## Measure what must be fast (minutes)
	@$(RUN) -m benchmarks

.PHONY: data
data: $(DATA)/ready ## Fetch the flights data

.PHONY: clean
clean: ## Remove what was made in this checkout (the cache stays)
	@rm -rf .venv $(NATIVE)/streamapp_native.so build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache $(DATA) $(FLIGHTS)/out $(FLIGHTS)/.streamapp \
	  examples/lake/landing examples/lake/tables examples/lake/.streamapp examples/nexmark/data examples/nexmark/out examples/nexmark/queries/.streamapp
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: cache-prune
cache-prune: .venv/ready ## Remove what is in the cache and was not used for 30 days
	@$(RUN) -m tools.unused

.PHONY: java
java:
	@command -v java >/dev/null || { echo "Spark needs a Java runtime (17 or newer): e.g. apt-get install openjdk-17-jre-headless" >&2; exit 1; }

$(DATA)/ready: $(FLIGHTS)/fetch.py .venv/ready
	@$(RUN) $(FLIGHTS)/fetch.py --cache $(CACHE) --into $(DATA)
	@touch $@

$(DEPS)/ready:
	@echo "== installing the pinned packages (once, about a minute; kept in $(CACHE))"
	@command -v $(PYTHON) >/dev/null || { echo "StreamApp needs $(PYTHON) on the PATH; set PYTHON=... to use another 3.11+" >&2; exit 1; }
	@mkdir -p $(CACHE)
	@tools/install.sh $(PYTHON) $(DEPS)

.PHONY: used
used:
	@touch -c $(DEPS) 2>/dev/null || true

$(NATIVE)/streamapp_native.so: $(wildcard $(NATIVE)/*.[ch] $(NATIVE)/compilation.py) | $(DEPS)/ready
	@STREAMAPP_CACHE=$(CACHE) PYTHONPATH=systems $(DEPS)/bin/python -m tools.native_library

.venv/ready: $(DEPS)/ready pyproject.toml | used $(NATIVE)/streamapp_native.so
	@echo "== making .venv"
	@tools/link.sh $(PYTHON) $(DEPS) .venv
	@touch $@
