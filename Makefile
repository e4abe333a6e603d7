# `make demo` and `make test` need Python 3.10 or newer and nothing else; pip asks the index that the machine is set to.

SHELL := bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
LOCK := constraints.txt
# Of two cores: one worker runs Spark, and mostly waits for it.
WORKERS ?= 3
LOG := out/pytest.log
AIRFLOW := .venv-airflow
AIRFLOW2 := .venv-airflow2
SPARK35 := .venv-spark35
SPARK43 := .venv-spark43
ENVIRONMENTS := $(patsubst %,%/.ready,$(AIRFLOW) $(AIRFLOW2) $(SPARK35) $(SPARK43))

# Containers often set it: each process of a test would compile all that it imports again.
unexport PYTHONDONTWRITEBYTECODE

# Both variables: pip before 25.3 reads the first when it builds our package, later ones read the second.
PIP := -m pip install --quiet --disable-pip-version-check
INSTALL := PIP_CONSTRAINT=$(LOCK) PIP_BUILD_CONSTRAINT=$(LOCK) $(BIN)/python $(PIP)

# $(call install_many,ENVIRONMENT,CONSTRAINTS,PACKAGES): uv takes seconds for many packages where pip takes minutes; where uv does
# not reach the index that pip is set to, pip installs them.
define install_many
	@$(BIN)/uv pip install --quiet --python $(1)/bin/python --constraint $(2) --build-constraint $(LOCK) $(3) 2> $(1)/uv.log || \
		PIP_CONSTRAINT=$(2) PIP_BUILD_CONSTRAINT=$(LOCK) $(1)/bin/python $(PIP) $(3)
endef

.PHONY: help demo test check slow slow-e2e browser e2e faults bench bench-profile bench-proposals bench-ledger bench-delivery bench-kafka bench-serve bench-log bench-queries bench-ledger-queries bench-console bench-spark bench-spark-stream golden docs lock clean

help:  ## say what there is
	@sed -n 's/^\([a-z0-9-]*\):.*## /make \1 \t/p' Makefile | expand -t 22

demo: $(VENV)/.light  ## translate the events of examples/ into out/demo.db and show what came of them
	@$(BIN)/dh-bridge demo

test: check  ## run all checks and the tests, but those of `make slow` and `make e2e`; pytest's summary comes last
	@mkdir -p $(dir $(LOG))
	@set -o pipefail; $(BIN)/python -m pytest -n $(WORKERS) -m "not slow and not spark" --cov --cov-report= | tee $(LOG)
	@echo "branch coverage of the translation"
	@$(BIN)/coverage report --omit "src/dh_bridge/datahub/*" --fail-under 95
	@echo "branch coverage of dh_bridge.datahub"
	@$(BIN)/coverage report --include "src/dh_bridge/datahub/*" --fail-under 95
	@tail -n 1 $(LOG)

check: $(VENV)/.dev  ## run the checks alone: format, lint, types, imports
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

slow: $(VENV)/.dev browser  ## run the tests that take seconds each: Spark, faults, the console in a browser, every field of every golden event (9 minutes)
	@$(BIN)/python -m pytest -n $(WORKERS) -m "slow or spark"

# Real Airflows and Sparks mostly wait: the other slow tests run meanwhile.
slow-e2e: $(VENV)/.dev browser $(ENVIRONMENTS)  ## run the tests of `make slow` and `make e2e` in one session, as CI does (make -j2 slow-e2e)
	@$(BIN)/python -m pytest -n $(WORKERS) -o "python_files=test_*.py e2e_*.py" -m "slow or spark"

# Debian's Chromium, for the tests of the console. Elsewhere they are skipped, and the reason names the remedy.
browser:  ## install Chromium for the tests of the console, where apt-get can
	@command -v chromium > /dev/null || test -n "$$TESTS_CHROMIUM" || \
		if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
			echo "installing Chromium"; mkdir -p out; \
			{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium; } > out/chromium.log 2>&1 || \
				{ tail -n 5 out/chromium.log >&2; exit 1; }; \
		else echo "no Chromium: the tests of the console are skipped (Debian: apt-get install chromium)"; fi

e2e: $(VENV)/.dev $(ENVIRONMENTS)  ## let real Airflows, 3 and 2.10, call our callbacks, and PySpark 3.5 and 4.3 translate (5 minutes)
	@$(BIN)/python -m pytest tests/airflow/e2e_airflow.py tests/spark/e2e_spark35.py tests/spark/e2e_lake_tables.py tests/spark/e2e_spark43.py tests/spark/e2e_py_files.py -p no:randomly -n $(WORKERS)

# The long form of what the suite tests in short. Each number can be another: make faults FAULTS="TESTS_KILLS=10 TESTS_STREAM=50000".
faults: $(VENV)/.dev  ## fail in every way for long: servers down, full disks, 100 kills, attacks, an hour of load, a million spoilt events (two hours; FAULTS="...")
	@env TESTS_FAULTS=long TESTS_KILLS=100 TESTS_SEEDS=3 TESTS_SPOILT=20000 TESTS_STREAM=1000000 $(FAULTS) \
		$(BIN)/python -m pytest -p no:randomly -n 0 \
		tests/faults tests/receiver/test_attacks.py tests/receiver/test_accept_first.py tests/sinks/test_sink_kafka_faults.py tests/test_corpus.py

bench: $(VENV)/.dev  ## measure speed and memory, side by side with acryl-datahub (ARGS="--memory 1G")
	@$(BIN)/python benchmarks/run.py $(ARGS)

bench-profile: $(VENV)/.dev  ## show which functions take most of the time of `make bench`
	@$(BIN)/python benchmarks/hot_functions.py $(ARGS)

bench-proposals: $(VENV)/.dev  ## count what is sent with and without a ledger
	@$(BIN)/python benchmarks/proposals.py $(ARGS)

bench-ledger: $(VENV)/.dev  ## measure a ledger over a million events of 100,000 runs (half an hour; ARGS="--events 100000")
	@$(BIN)/python benchmarks/ledger.py $(ARGS)

bench-delivery: $(VENV)/.dev  ## measure delivery, side by side with acryl-datahub
	@$(BIN)/python benchmarks/delivery.py $(ARGS)

bench-kafka: $(VENV)/.dev  ## measure delivery into a real Kafka, side by side with acryl-datahub
	@$(BIN)/python benchmarks/kafka_rates.py $(ARGS)

bench-serve: $(VENV)/.dev  ## measure events over HTTP, from some senders at a time
	@$(BIN)/python benchmarks/receiving.py $(ARGS)

bench-console: $(VENV)/.dev browser  ## measure the console on a large catalogue in Chromium (10 minutes, 5 GB of disk; ARGS="--runs 10000 --datasets 1000")
	@$(BIN)/python benchmarks/console.py $(ARGS)

bench-log: $(VENV)/.dev  ## measure the event log: appends, merges, replay, and `dh-bridge serve` with and without it
	@$(BIN)/python benchmarks/event_log.py $(ARGS)

bench-spark: $(VENV)/.dev  ## measure batches on Spark beside a plain loop (ARGS="--counts 10000 --cores 2")
	@$(BIN)/python benchmarks/spark.py $(ARGS)

bench-spark-stream: $(VENV)/.dev  ## measure the seconds of a stream's small batches on Spark (4 minutes)
	@$(BIN)/python benchmarks/spark_stream.py $(ARGS)

bench-queries: $(VENV)/.dev  ## measure the first page of each query, up to a million runs (5 minutes, 5 GB of disk; ARGS="--runs 10000")
	@$(BIN)/python benchmarks/queries.py $(ARGS)

bench-ledger-queries: $(VENV)/.dev  ## measure the first page of each query on a ledger (2 minutes; ARGS="--jobs 1000")
	@$(BIN)/python benchmarks/ledger_queries.py $(ARGS)

golden: $(VENV)/.dev  ## write the golden events of tests/golden/samples.yaml, and the proposals of all golden events; read the difference
	@$(BIN)/python tools/golden_events.py
	@$(BIN)/python -m pytest tests/golden -q -n 0 -p no:randomly --update-golden

docs: $(VENV)/.dev  ## write the pages that are made of code and data, and build the site into out/site (Python 3.11 or newer)
	@$(BIN)/python tools/generate_docs.py
	@$(BIN)/python tools/captures.py
	@$(BIN)/python tools/lineage_picture.py
	@$(BIN)/python tools/build_site.py

lock: $(VENV)/.light  ## refresh constraints.txt, which pins what both commands install
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.10 --upgrade --quiet \
		--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --output-file $(LOCK)
	@$(BIN)/uv pip compile examples/airflow/requirements.in pyproject.toml --universal --python-version 3.10 --upgrade --quiet \
		--no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock" \
		--output-file examples/airflow/requirements.txt
	@$(BIN)/uv pip compile examples/airflow/requirements2.in pyproject.toml --universal --python-version 3.10 --upgrade --quiet \
		--exclude-newer 2025-03-15 --no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock" \
		--output-file examples/airflow/requirements2.txt

clean:  ## remove what the commands made, the virtual environment too
	rm -rf $(VENV) $(AIRFLOW) $(AIRFLOW2) $(SPARK35) $(SPARK43) .jars out build dist .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks examples tools -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: what is installed stays so until pyproject.toml or the lock changes.
$(VENV)/.light: pyproject.toml $(LOCK) | $(BIN)/python
	@echo "installing dh-bridge into $(VENV)"
	@$(INSTALL) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml $(LOCK) | $(BIN)/uv
	@echo "installing dh-bridge and what its checks need into $(VENV)"
	$(call install_many,$(VENV),$(LOCK),-e '.[dev]')
	@touch $@ $(VENV)/.light

# Airflow in environments of its own, with all its packages pinned (170 of 3, 140 of 2.10).
define airflow
	@echo "installing Airflow into $(@D)"
	@$(BIN)/python -m venv $(@D)
	$(call install_many,$(@D),$<,--no-deps -r $<)
	@PIP_CONSTRAINT=$(LOCK) PIP_BUILD_CONSTRAINT=$(LOCK) $(@D)/bin/python $(PIP) --no-deps -e .
	@touch $@
endef

$(AIRFLOW)/.ready: examples/airflow/requirements.txt pyproject.toml | $(BIN)/uv
	$(airflow)

$(AIRFLOW2)/.ready: examples/airflow/requirements2.txt pyproject.toml | $(BIN)/uv
	$(airflow)

# The oldest and the newest PySpark beside the locked one, with no more than what the extra asks for (4.3: and Spark Connect).
define spark
	@echo "installing PySpark into $(@D)"
	@$(BIN)/python -m venv $(@D)
	@{ grep -v -e '^pyspark==' -e '^py4j==' $(LOCK); cat $(filter %.txt,$(filter-out $(LOCK),$^)); } > $(@D)/constraints.txt
	$(call install_many,$(@D),$(@D)/constraints.txt,-e '.[spark]' $(SPARK_PACKAGES))
	@touch $@
endef

$(SPARK35)/.ready: pyproject.toml $(LOCK) tests/spark/spark35.txt | $(BIN)/uv
	$(spark)

$(SPARK43)/.ready: SPARK_PACKAGES := 'pyspark[connect]'
$(SPARK43)/.ready: pyproject.toml $(LOCK) tests/spark/spark43.txt | $(BIN)/uv
	$(spark)

$(BIN)/uv: | $(BIN)/python
	@$(BIN)/python $(PIP) uv

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "Python 3.10 or newer is needed: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "this Python cannot make virtual environments (Debian: apt install python3-venv)" >&2; exit 1; }
