"""For all tests: nothing is written into the user's home, and nothing is sent to anybody's telemetry."""

from __future__ import annotations

import gc
import os
import re
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import hypothesis
import pytest
from realparts.process import free_port

pytest_plugins = ["realparts.fixtures"]

hypothesis.settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
hypothesis.settings.load_profile("untimed")

_REAL = "TESTS_REAL_HOME"  # workers of xdist start with what their parent has set
_TESTS = Path(__file__).parent
#: Branches are counted by the quick tests of the translation and of datahub; to trace all others would double their time.
_COUNTED = {
    "aggregate", "assertions", "columns", "datahub", "facet_support", "facets", "golden", "identity", "lineage", "model", "naming",
    "render", "report", "state_codec", "value_maps", "test_closing.py", "test_hostile_texts.py", "test_options.py", "test_pipeline.py",
    "test_tombstones.py",
}  # fmt: skip
#: Tests that wait for Spark or Airflow: workers begin with them, and run the others beside them.
_WAITING = re.compile(r"tests/spark/|.*/e2e_")
#: Tests whose programs start Spark themselves: any worker runs them beside the tests that share a session.
_OWN_SPARK = {"tests/spark/test_lake_tables.py", "tests/spark/test_spark_connect.py"}
#: Files of tests that take seconds each: whoever is free takes one of them. They come last, and fill what is left.
_SPREAD = {
    "tests/cli/test_damaged_files.py",
    "tests/faults/test_faults_kafka.py",
    "tests/faults/test_faults_process.py",
    "tests/faults/test_faults_rest.py",
    "tests/ledger/test_ledger_orders.py",
    "tests/partitioned/test_related_runs.py",
    "tests/partitioned/test_partitioned.py",
    "tests/sinks/test_sink_kafka_faults.py",
    "tests/test_console_blocks.py",
    "tests/test_corpus.py",
    "tests/test_orders.py",
    "tests/test_packaging.py",
    "tests/report/test_report_truth.py",
}


def pytest_configure(config):
    home = tempfile.mkdtemp(prefix="dh_bridge_home_")
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    os.environ.setdefault(_REAL, os.environ.get("HOME", ""))
    # acryl-datahub writes ~/.datahub when it is imported, and would report its use.
    os.environ |= {"HOME": home, "DATAHUB_TELEMETRY_ENABLED": "false"}


def pytest_collection_modifyitems(config, items):
    for item in items:
        slow = item.get_closest_marker("slow")
        if slow or item.path.relative_to(_TESTS).parts[0] not in _COUNTED:
            item.add_marker("no_cover")
    if hasattr(config, "workerinput"):  # of xdist
        sizes = Counter(_work_unit(item.nodeid) for item in items)
        items.sort(key=lambda item: (not _WAITING.match(item.nodeid), -sizes[_work_unit(item.nodeid)]))


def _work_unit(nodeid):
    """Return the name of the tests that one worker gets together.

    A whole file, as its tests share what they read. All tests of Spark that share a session, which starts once for each worker. Each Airflow.
    """
    file = nodeid.partition("::")[0]
    if file.startswith("tests/spark/test_") and file not in _OWN_SPARK:
        return "tests/spark"
    if file.endswith("e2e_airflow.py"):
        return f"{file} {'2' if '[airflow2' in nodeid else '3'}"
    return nodeid if file in _SPREAD else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 - not there without xdist

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return _work_unit(nodeid)

    config.option.loadscopereorder = False  # the items are in order
    return Scheduler(config, log)


@pytest.fixture
def real_home():
    """Return the home that pip's settings stand in."""
    return os.environ[_REAL]


@pytest.fixture
def uncollected():
    """Let things go by the count of who holds them alone, as the garbage collector comes by seldom in our processes."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def nobody():
    """Return an address at which nobody listens."""
    return f"127.0.0.1:{free_port()}"
