from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _servers_are_shut_down():
    """Shut down what the case ``rest`` of the contract has started."""
    from support.sink_contract import SERVERS  # noqa: PLC0415 - where pytest finds it

    yield
    while SERVERS:
        SERVERS.popitem()[1].close()


@pytest.fixture
def naps(monkeypatch):
    """Return the pauses of the REST sink, in seconds; nobody waits for them."""
    taken: list[float] = []
    monkeypatch.setattr("dh_bridge.sinks.rest.connection.sleep", taken.append)
    return taken
