"""Which of what an event lists is a dataset."""

from __future__ import annotations

from support.facet_cases import facet, translate_events
from support.sample_events import event

CLIENT = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/client/python"
HAMILTON = {"producer": CLIENT, "namespace": "shop", "job": "features"}
UNTOLD = {"namespace": "shop", "name": "--UNKNOWN--", "facets": {"storage": facet(storageLayer="FileSystem")}}
FILE = {"namespace": "shop", "name": "/data/features.csv"}


def test_hamilton_default_name_is_no_dataset():
    """Every loader and saver without a file or a table is called so: it would join jobs that share nothing."""
    found = translate_events(
        event("RUNNING", inputs=[UNTOLD], outputs=[UNTOLD], **HAMILTON),
        event("RUNNING", outputs=[FILE], **HAMILTON),
        event("COMPLETE", **HAMILTON),
        report=True,
    )
    assert {urn.partition("unknown,")[2] for urn in found.entities("dataset")} == {"shop//data/features.csv,PROD)"}
    assert found.outcomes()["$.outputs[0].facets.storage.storageLayer"] == ("dropped", "phantom")
