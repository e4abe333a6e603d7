"""A wall clock that is set back, or was ahead, holds up nothing that is stored or waits."""

from __future__ import annotations

import json

import pytest
from support.sample_events import dataset, event

from dh_bridge import Settings
from dh_bridge.catalog.store import Catalog
from dh_bridge.errors import SinkError
from dh_bridge.ledger import Ledger
from dh_bridge.openlineage.read import read_events
from dh_bridge.options import Options
from dh_bridge.sinks.base import Delivery

DAY = 86_400
NOW = 1_796_000_000


class Place:
    """A sink that is down, or takes all; ``asked`` counts the batches."""

    name = "place"

    def __init__(self):
        self.error, self.asked, self.proposals = None, 0, []

    def emit(self, proposals):
        self.asked += 1
        if self.error is not None:
            raise self.error
        self.proposals += proposals
        return Delivery(len(proposals), [])


class Clock:
    """Wall time and ticks of a test."""

    def __init__(self):
        self.wall, self.ticks = float(NOW), 0.0

    def passes(self, seconds):
        self.wall += seconds
        self.ticks += seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def opened(clock):
    with Catalog(":memory:") as file:

        def made(place, **settings):
            chosen = Options(Settings(datahub_version="1.7", **settings), is_stateful=True)
            return Ledger(file, chosen, place, clock=lambda: clock.wall, monotonic_clock=lambda: clock.ticks)

        yield made


def events(tmp_path, *stated):
    file = tmp_path / "events.ndjson"
    file.write_text("".join(json.dumps(one) + "\n" for one in stated))
    return list(read_events([str(file)]))


def test_delivery_continues_after_the_clock_is_set_back(opened, clock, tmp_path):
    place = Place()
    place.error = SinkError("down", retryable=True)
    ledger = opened(place)
    ledger.process_and_deliver(events(tmp_path, event(outputs=[dataset("d.s.a")])))
    assert place.asked == 1
    clock.wall -= DAY
    place.error = None
    assert ledger.relay.deliver_if_due().delivered_count == 0
    clock.passes(6)
    assert ledger.relay.deliver_if_due().delivered_count > 0


def test_retry_after_is_respected_and_capped(opened, clock, tmp_path):
    place = Place()
    place.error = SinkError("busy", retryable=True)
    place.error.retry_after = 400.0
    ledger = opened(place)
    ledger.process_and_deliver(events(tmp_path, event(outputs=[dataset("d.s.a")])))
    clock.passes(399)
    ledger.relay.deliver_if_due()
    assert place.asked == 1
    clock.passes(2)
    place.error.retry_after = 1e9
    ledger.relay.deliver_if_due()
    assert place.asked == 2
    clock.passes(3601)
    ledger.relay.deliver_if_due()
    assert place.asked == 3


def test_new_entity_limit_lasts_an_hour_if_the_clock_is_set_back(opened, clock, tmp_path):
    place = Place()
    ledger = opened(place, max_new_entities_per_hour=4)
    ledger.process_and_deliver(events(tmp_path, event(outputs=[dataset(f"d.s.t{number}") for number in range(9)])))
    assert ledger.relay.outbox.count()[0] > 0
    clock.wall -= 300 * DAY
    for _ in range(4):
        clock.passes(3601)
        ledger.relay.deliver()
    assert ledger.relay.outbox.count()[0] == 0


def test_aspects_that_were_sent_in_the_future_are_refreshed(opened, clock, tmp_path):
    place = Place()
    ledger = opened(place)
    start, end = (event(kind, outputs=[dataset("d.s.a")]) for kind in ("START", "COMPLETE"))
    clock.wall += 300 * DAY
    ledger.process_and_deliver(events(tmp_path, start))
    clock.wall -= 300 * DAY
    place.proposals.clear()
    ledger.process_and_deliver(events(tmp_path, end))
    assert "dataJobInfo" in {one.aspect_name for one in place.proposals}
