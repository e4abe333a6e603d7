"""A pipeline into memory, with a clock that goes on by a second and a half each time that it is read."""

from __future__ import annotations

import itertools
import sys

import pytest
from support.oracles import apache_finding, fastavro_finding, sdk_finding

from dh_bridge import Settings
from dh_bridge.datahub.profiles import profile
from dh_bridge.sdk import Pipeline, pipeline
from dh_bridge.sinks.memory import MemorySink

START = 1_700_000_000_000
STEP = 1_500


@pytest.fixture(autouse=True)
def _main_has_a_file(monkeypatch):
    """PySpark, which Great Expectations imports, takes a main module without a file for a doctest and leaves; xdist's has none."""
    monkeypatch.setattr(sys.modules["__main__"], "__file__", __file__, raising=False)


@pytest.fixture(autouse=True)
def _owing(monkeypatch):
    """What a test does not send is not sent when pytest ends."""
    monkeypatch.setattr(pipeline, "_unsent_pipelines", set())


class RecordedPipeline:
    """A pipeline and what it sent, for the oldest version unless the settings name another."""

    def __init__(self, *, step=STEP, sink=None, **settings):
        self.sink = MemorySink() if sink is None else sink
        ticks = itertools.count(START * 1_000_000, step * 1_000_000)
        self.pipeline = Pipeline(
            Settings(**{"datahub_version": "0.15.0", **settings}), sink=self.sink, clock=lambda: next(ticks)
        )
        self.profile = profile(settings.get("datahub_version") or "0.15.0")

    def aspects(self, urn, name):
        """Return every value of an aspect of an entity, in the order in which they were sent."""
        found = [one for one in self.sink.proposals if one.entity_urn == urn and one.aspect_name == name]
        return [one.value for one in found]

    def last(self, urn, name):
        return self.aspects(urn, name)[-1]

    def assert_sound(self):
        """Let the oracles judge every aspect that is written whole."""
        for one in self.sink.proposals:
            if one.change_type == "UPSERT":
                for ask in (fastavro_finding, apache_finding, sdk_finding):
                    assert ask(one.entity_type, one.aspect_name, one.value, self.profile) is None


@pytest.fixture
def record_pipeline():
    return RecordedPipeline
