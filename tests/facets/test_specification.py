"""The specification's own single-facet documents: each is read, and no leaf of any is lost."""

from __future__ import annotations

import json

import pytest
from support.facet_cases import DOCUMENTS as SPEC_DOCUMENTS
from support.facet_cases import dataset_event, job_event, orders, pair, totals, translate_events
from support.public_data import needs_spec

DOCUMENTS = sorted(path.relative_to(SPEC_DOCUMENTS).as_posix() for path in SPEC_DOCUMENTS.glob("*/*.json"))
#: What may become of a leaf of a sound facet without being stored.
FINE = (
    "envelope",
    "duplicate-of:",
    "no-field:branches of a union have no names and no order",
    "empty",
    "no-field:the default of",
    "no-field:placeholder owner",
    "policy:tags.exclude",
    "secret",
)


@needs_spec
def test_documents_are_there():
    assert len(DOCUMENTS) >= 46


def events(document, facets):
    """Return the events that carry the facets of a document where its schema attaches them; a dataset's in two roles."""
    folder, _, name = document.partition("/")
    of_dataset = folder.endswith("DatasetFacet") or name == "dataset-to-dataset.json"
    if not of_dataset:
        part = "run" if folder.endswith("RunFacet") else "job"
        found = [pair(inputs=[orders()], outputs=[totals()], **{part: facets})]
        return found if part == "run" else [*found, [job_event(inputs=[orders()], outputs=[totals()], job=facets)]]
    if "InputDataset" in folder or folder == "BaseSubsetDatasetFacet":
        return [pair(inputs=[orders(inputFacets=facets)], outputs=[totals()])]
    if "OutputDataset" in folder:
        return [pair(inputs=[orders()], outputs=[totals(outputFacets=facets)])]
    return [pair(inputs=[orders()], outputs=[totals(facets=facets)]), [dataset_event(totals(facets=facets))]]


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_no_leaf_of_the_specification_s_documents_is_lost(document, profile):
    facets = json.loads((SPEC_DOCUMENTS / document).read_text(encoding="utf-8"))
    lost = {}
    for sent in events(document, facets):
        found = translate_events(sent, report=True, datahub_version=profile)
        for path, (outcome, why) in found.outcomes().items():
            if "acets." in path and outcome == "dropped" and not str(why).startswith(FINE):
                lost[path] = why
    assert lost == {}
