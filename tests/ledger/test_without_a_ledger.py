"""State mode *none* against the ledger: each event by itself writes a part of the folded catalogue, in any order."""

from __future__ import annotations

import random

import msgspec
import pytest
from support.generated_runs import group
from support.ledger_batches import catalogue, read

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.delivery import wrap_sink
from dh_bridge.sinks.catalog import CatalogSink

SEED = 2026
_REPLACED = ("customProperties", "typeNames")  # by a later facet, whole
_POINTS = ("dataProcessInstanceRunEvent", "operation", "datasetProfile", "assertionRunEvent")


def facts(lines):
    """Return what a dump says, without the values that later facts change: entities, fields, members of lists, points."""
    found = set()
    for line in lines:
        one = msgspec.json.decode(line)
        value = one["aspect"]["json"]
        point = (value["timestampMillis"], str(value["partitionSpec"])) if one["aspectName"] in _POINTS else ()
        found.update((one["entityUrn"], one["aspectName"], *point, *path) for path in paths(value))
    return found


def paths(value):
    """Yield the path of each leaf; of a list its members, by what they name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in _REPLACED:
                continue
            yield from ((key, *rest) for rest in paths(inner)) if inner not in ({}, []) else [(key,)]
    elif isinstance(value, list):
        for inner in value:
            yield (msgspec.json.encode(inner, order="sorted"),) if not isinstance(inner, dict) else (named(inner),)
    else:
        yield ()


def named(member):
    keys = ("destinationUrn", "dataset", "tag", "owner", "fieldPath")
    return next((member[key] for key in keys if key in member), "[]")


def one_by_one(events, bridge):
    with Catalog(":memory:") as catalog:
        for event in events:
            assert catalog.apply(bridge.translate([event]).proposals).failures == []
        return list(dump_catalog(catalog))


@pytest.mark.parametrize("block", range(3))
def test_single_events_write_a_part_of_the_merged_catalogue(block):
    chosen = Settings(
        datahub_version="1.7", schema={"write": "never"}
    )  # columns: the last schema counts, not their union
    bridge = Bridge(chosen)
    for i in range(block * 5, block * 5 + 5):
        events = read(group(SEED, i))
        if any(b"COMPLETE_SNAPSHOT" in event.raw for event in events):
            continue  # an event by itself cannot know which inputs a later snapshot leaves out
        folded = facts(catalogue(events, chosen=chosen))
        chance = random.Random(i)  # noqa: S311 - reproducible, not secret
        for _ in range(5):
            chance.shuffle(events)
            assert facts(one_by_one(events, bridge)) - folded == set()


RUN_ASPECTS = ("dataProcessInstanceProperties", "dataProcessInstanceRelationships")


def run_leaves(lines):
    """Return each leaf of the properties and relationships of runs, custom properties too, without its value."""
    found = set()
    for line in lines:
        one = msgspec.json.decode(line)
        if one["aspectName"] in RUN_ASPECTS:
            value = one["aspect"]["json"]
            custom = value.pop("customProperties", {})
            found.update((one["entityUrn"], one["aspectName"], *path) for path in paths(value))
            found.update((one["entityUrn"], "customProperties", name) for name in custom)
    return found


@pytest.mark.parametrize("block", range(3))
def test_state_read_merges_in_any_order_without_loss(block):
    chosen = Settings(datahub_version="1.7", schema={"write": "never"})
    bridge = Bridge(chosen)
    for i in range(block * 5, block * 5 + 5):
        events = read(group(SEED, i))
        if any(b"COMPLETE_SNAPSHOT" in event.raw for event in events):
            continue
        folded = facts(catalogue(events, chosen=chosen))
        chance = random.Random(i)  # noqa: S311 - reproducible, not secret
        ends = []
        for _ in range(5):
            chance.shuffle(events)
            with Catalog(":memory:") as target:
                before = set()
                for event in events:
                    sink = wrap_sink(CatalogSink(target), chosen)  # as a new process for each event
                    assert sink.emit(bridge.translate([event]).proposals).failures == []
                    leaves = run_leaves(dump_catalog(target))
                    assert before <= leaves
                    before = leaves
                assert facts(dump_catalog(target)) - folded == set()
            ends.append(before)
        assert ends == [ends[0]] * len(ends)
