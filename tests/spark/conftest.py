"""One small Spark for all tests of this folder; they run in one worker of xdist."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import pytest
from pyspark import SparkContext
from realparts.jars import SPARK_KAFKA, NoJarsError, fetched
from realparts.java import NoJavaError
from support.partitions import dumped

from dh_bridge import Bridge, Settings
from dh_bridge.datahub.proposal import Payload, Proposal
from dh_bridge.datahub.validation import Validator
from dh_bridge.spark.session import session as start

SMALL = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}
"""Queries over a handful of rows: compiling and re-planning them would take longer than running them."""

DISTUTILS = "distutils Version classes are deprecated"
"""PySpark 3.5 compares the versions of pandas and pyarrow with them."""


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/spark" in str(item.path):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17 on the PATH"))
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings(f"ignore:{DISTUTILS}:DeprecationWarning"))


def connector():
    """Return the setting that brings Spark's Kafka connector along; nothing where it cannot be had, as its tests then say."""
    try:
        return {"spark.jars": ",".join(map(str, sorted(fetched(SPARK_KAFKA).glob("*.jar"))))}
    except (NoJavaError, NoJarsError):
        return {}


@pytest.fixture(autouse=True)
def no_other_session():
    """Fail a test that starts a Spark of its own: those behind it would get that one, without the connector."""
    before = SparkContext._active_spark_context
    yield
    after = SparkContext._active_spark_context
    assert after is before, "the test started Spark; let it ask for the fixture `session`"


@pytest.fixture(scope="session")
def session(tmp_path_factory):
    found = start(
        master="local[2]",
        name="tests",
        conf={
            "spark.driver.memory": "2g",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.log.level": "ERROR",
            **SMALL,
            **connector(),
            "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        },
    )
    yield found
    found.stop()


@pytest.fixture
def refusing():
    """Return what makes of a step one whose schemas refuse an aspect: no event comes to what they really refuse."""

    def of(step, aspect):
        class Refusing(step):  # of a function, so that it travels to the workers as it is
            @property
            def bridge(self):
                found = Bridge(Settings.model_validate_json(self.settings))
                real = found.options.profile
                without = SimpleNamespace(
                    name=real.name, has_aspect=lambda entity, name: name != aspect and real.has_aspect(entity, name)
                )
                found.options.validator = Validator(without)
                return found

        return Refusing

    return of


@pytest.fixture
def held():
    """Return what a catalogue holds after rows of proposals."""

    def after(rows):
        return dumped(
            [
                Proposal(
                    row.entity_type, row.entity_urn, row.change_type, row.aspect_name, Payload(json.loads(row.aspect))
                )
                for row in rows
            ]
        )

    return after
