"""In parts as in one where a run of another part says what is temporary (setting ``temporary``)."""

from __future__ import annotations

import pytest
from support.partitions import dumped, in_parts
from support.sample_events import dataset, event
from support.sample_events import packed as sent

from dh_bridge import Bridge, Settings

STATED = {"datasetType": {"datasetType": "TABLE", "subType": "TEMPORARY"}}
#: (reads, writes, what it calls temporary) of each run
HISTORY = [("ab", "x", "x"), ("x", "y", ""), ("cy", "d", ""), ("yq", "e", "y"), ("d", "f", "")]


def run(number, reads, writes, stated):
    sides = (
        [dataset(f"d.s.{name}", facets=STATED if name in stated else {}) for name in names] for names in (reads, writes)
    )
    inputs, outputs = sides
    key = f"018cc251-f400-734d-88b3-{number:012}"
    return event(
        "COMPLETE", f"2026-10-{number:02}T10:00:00Z", run=key, job=f"etl.j{number}", inputs=inputs, outputs=outputs
    )


@pytest.mark.parametrize("mode", ["drop_edges", "collapse"])
@pytest.mark.parametrize("parts", [1, 2, 5])
def test_temporary_mark_applies_across_partitions(mode, parts):
    settings = Settings(temporary={"dataset_type": mode}, datahub_version="1.7")
    raws = sent([run(number, *output) for number, output in enumerate(HISTORY, 1)])
    whole = dumped(Bridge(settings).translate(raws).proposals)
    assert dumped(in_parts(raws, settings, parts=parts)[0]) == whole
    edges = [line for line in whole if b'"dataJobInputOutput"' in line]
    assert len(edges) == (5 if mode == "collapse" else 4)
    assert not any(b"d.s.x," in line or b"d.s.y," in line for line in edges)
