"""In parts as with a ledger: the same catalogue, but for what only a ledger may say (docs/spark.md).

A ledger knows that nothing came before; a batch does not. So the ledger alone writes stubs of parents that sent no events, it
alone lets a run have its type from those above it, and it alone gives the run of a Spark application the inputs, outputs and totals
of its operations. In an empty catalogue, runs without their START are the same as with a ledger.
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


SUMMED_ASPECTS = {"dataProcessInstanceInput", "dataProcessInstanceOutput"}
SUMMED_PROPERTIES = ("openlineage.inputs.", "openlineage.outputs.")


def comparable_lines(lines, applications):
    """Return the lines of a dump without what only a ledger knows: types of runs, and sums of the run ids ``applications``."""
    found = set()
    for line in lines:
        row = json.loads(line)
        is_application = row["entityUrn"].rpartition(":")[2] in applications
        if is_application and row["aspectName"] in SUMMED_ASPECTS:
            continue
        if row["aspectName"] == "dataProcessInstanceProperties":
            properties = row["aspect"]["json"]
            properties.pop("type", None)
            for name in [*properties["customProperties"]] if is_application else ():
                if name.startswith(SUMMED_PROPERTIES):
                    del properties["customProperties"][name]
        found.add(json.dumps(row, sort_keys=True))
    return found


def beyond(raws):
    """Return the lines that a batch has and the ledger has not, and the other way round, but for what is said above."""
    parsed = [parse_event(raw, f"e[{position}]") for position, raw in enumerate(raws)]
    applications = {event.run_id for event in parsed if b'"APPLICATION"' in bytes(event.job_facets.get("jobType", b""))}
    batch = comparable_lines(dumped(in_parts(raws, SETTINGS)[0]), applications)
    ledger = comparable_lines(catalogue(parsed, chosen=SETTINGS), applications)
    return batch - ledger, sorted(ledger - batch)


def test_producer_examples_end_as_with_a_ledger():
    assert beyond([one.raw for one in examples()]) == (set(), [])


@needs_corpus
def test_corpus_ends_as_with_a_ledger():
    assert beyond([one.raw for one in corpus()]) == (set(), [])


@pytest.mark.parametrize("block", range(3))
def test_generated_runs_end_as_with_a_ledger(block):
    found = {i: beyond(sent(group(SEED, i))) for i in range(block * 30, block * 30 + 30)}
    assert {i: lines for i, lines in found.items() if lines != (set(), [])} == {}


def test_run_without_a_start_is_written_as_with_a_ledger():
    assert beyond(sent([event("COMPLETE")])) == (set(), [])
