"""debug (run): bulk without lineage."""

from __future__ import annotations

import hashlib
import json

from support.facet_cases import DPI, facet, of_run


def test_debug_facet_is_reduced_to_hash_and_size():
    body = facet(packages=[{"name": "x", "version": "1"}] * 100)
    found = of_run("debug", body, report=True)
    raw = json.dumps(body, separators=(",", ":")).encode()
    properties = found.properties(DPI)
    assert properties["debug.sha256"] == hashlib.sha256(raw).hexdigest()
    assert properties["debug.bytes"] == str(len(raw))
    assert not any(key.startswith("debug.pack") for key in properties)
    assert found.outcomes()["$.run.facets.debug.packages[7].name"] == ("dropped", "bulk")
