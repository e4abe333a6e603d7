"""The real parts as fixtures: ``kafka`` and ``registry``, one of each for the whole run, ``own_broker`` and ``own_registry``
for tests that end them. A test that takes one is marked ``kafka``.

Java and the jars are fetched when they are not here; where they cannot be had, the tests say why and are skipped, except in CI
(the variable ``CI``), where that is a failure.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from realparts.jars import KAFKA, REGISTRY, Jars, NoJarsError, fetched
from realparts.java import NoJavaError, java
from realparts.process import shared

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from realparts.kafka import Broker, Kafka
    from realparts.process import Program
    from realparts.registry import OwnRegistry, Registry


def need_parts(*jars: Jars) -> None:
    """Fetch Java's parts (all that are named, else broker and registry); skip when they cannot be had, fail in CI."""
    try:
        java()
        for one in jars or (KAFKA, REGISTRY):
            fetched(one)
    except (NoJavaError, NoJarsError) as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def parts_folder(tmp_path_factory: pytest.TempPathFactory, worker: str | None) -> Path:
    """Return a folder that all processes of this run share."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if worker else base) / "realparts"


@pytest.fixture(scope="session")
def worker() -> str | None:
    """Return the name of this process among those of pytest-xdist, None when it is the only one."""
    return os.environ.get("PYTEST_XDIST_WORKER")


@pytest.fixture(scope="session")
def java_parts() -> None:
    """See to it that Java and the jars of both are here."""
    need_parts()


@pytest.fixture(scope="session")
def kafka(parts_folder: Path) -> Iterator[Kafka]:
    """Return the broker of this run; give every test topics of its own (``kafka.topic()``)."""
    from realparts.kafka import Broker, Kafka  # noqa: PLC0415 - confluent-kafka takes its time

    def start(folder: Path) -> tuple[Program, dict[str, str]]:
        broker = Broker(folder)
        broker.start()
        assert broker.program is not None
        return broker.program, {"bootstrap": broker.bootstrap, "safe": broker.safe, "authority": broker.authority}

    need_parts(KAFKA)
    with shared(parts_folder / "kafka", start) as stated:
        yield Kafka(**stated)


@pytest.fixture(scope="session")
def registry(parts_folder: Path) -> Iterator[Registry]:
    """Return the schema registry of this run; give every test subjects of its own."""
    from realparts.registry import OwnRegistry, Registry  # noqa: PLC0415 - as above

    def start(folder: Path) -> tuple[Program, dict[str, str]]:
        own = OwnRegistry(folder)
        own.start()
        assert own.program is not None
        return own.program, {"url": own.url}

    need_parts(REGISTRY)
    with shared(parts_folder / "registry", start) as stated:
        yield Registry(stated["url"])


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Broker]:
    """Return a broker that this test may kill and start again."""
    from realparts.kafka import Broker  # noqa: PLC0415 - as above

    need_parts(KAFKA)
    broker = Broker(tmp_path / "kafka")
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()


@pytest.fixture
def own_registry(tmp_path: Path) -> Iterator[OwnRegistry]:
    """Return a registry that this test may kill and start again."""
    from realparts.registry import OwnRegistry  # noqa: PLC0415 - as above

    need_parts(REGISTRY)
    own = OwnRegistry(tmp_path / "registry")
    try:
        own.start()
        yield own
    finally:
        own.kill()
