"""In parts as with a ledger: the same catalogue, but for what only a ledger may say (docs/spark.md).

A ledger knows that nothing came before; a batch does not. So the ledger alone writes stubs of parents that sent no events, and it
alone lets a run have its type from those above it. In an empty place, runs without their START are the same as with a ledger.
"""

from __future__ import annotations

import json

import pytest
from support.generated_runs import group
from support.ledger_batches import catalogue
from support.partitions import SEED, dumped, in_parts
from support.public_data import needs_corpus
from support.sample_events import corpus, event, examples
from support.sample_events import packed as sent

from dh_bridge import Settings
from dh_bridge.openlineage.parsing import parse_event

SETTINGS = Settings(datahub_version="1.7", ledger={"implied_parents": False})


def without_type(line):
    """Return a line of a dump without the type of a run, which a ledger knows from the runs above, too."""
    told = json.loads(line)
    if told["aspectName"] == "dataProcessInstanceProperties":
        told["aspect"]["json"].pop("type", None)
    return json.dumps(told, sort_keys=True)


def beyond(raws):
    """Return the lines that a batch has and the ledger has not, and the other way round, but for what is said above."""
    parsed = [parse_event(raw, f"e[{position}]") for position, raw in enumerate(raws)]
    batch = set(map(without_type, dumped(in_parts(raws, SETTINGS)[0])))
    ledger = set(map(without_type, catalogue(parsed, chosen=SETTINGS)))
    return batch - ledger, sorted(ledger - batch)


def test_what_producers_sent_ends_as_with_a_ledger():
    assert beyond([one.raw for one in examples()]) == (set(), [])


@needs_corpus
def test_the_corpus_ends_as_with_a_ledger():
    assert beyond([one.raw for one in corpus()]) == (set(), [])


@pytest.mark.parametrize("block", range(3))
def test_generated_runs_end_as_with_a_ledger(block):
    found = {i: beyond(sent(group(SEED, i))) for i in range(block * 30, block * 30 + 30)}
    assert {i: lines for i, lines in found.items() if lines != (set(), [])} == {}


def test_a_run_without_a_start_is_written_as_with_a_ledger():
    assert beyond(sent([event("COMPLETE")])) == (set(), [])
