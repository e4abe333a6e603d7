"""What DataHub can patch: for each aspect its shape, the value a first patch starts from, and what it cannot do without.

Source: the templates of DataHub's entity-registry (AspectTemplateEngine). Where they stamp the present time, ours takes the
Avro default (time 0, ``urn:li:corpuser:unknown``), so that equal patches give equal aspects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.catalog.fine_grained import FineGrained
from dh_bridge.catalog.patch_layout import Elements, Record, Shape, Words

if TYPE_CHECKING:
    from collections.abc import Mapping

_EDGES = Elements("destinationUrn")
_TAGS = Elements("tag")
_TERMS = Elements("urn")
STAMP = {"time": 0, "actor": "urn:li:corpuser:unknown"}


class Template(Record):
    """An aspect's shape, with ``default`` (the empty aspect) and ``required`` (fields that no default can give)."""

    def __init__(
        self, default: Mapping[str, Any] | None = None, required: tuple[str, ...] = (), **fields: Shape
    ) -> None:
        super().__init__(**fields)
        self.default: Mapping[str, Any] = default or {}
        self.required = frozenset(required)

    def without_emptied(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the aspect without the arrays that a patch has emptied, those that it must have put back."""
        default = self.default
        for field in self.fields:
            if field not in default and not value.get(field, True):
                del value[field]
        return {**default, **value}

    def keyed(self, keys: Mapping[str, list[str]]) -> Template:
        """Return the template with other keys for some arrays: a patch may name its own (``arrayPrimaryKeys``)."""
        fields = {**self.fields, **{field: Elements(*names) if names else Words() for field, names in keys.items()}}
        return Template(self.default, tuple(self.required), **fields)


TEMPLATES: Mapping[str, Template] = {
    "dataFlowInfo": Template({"customProperties": {}}, ("name",)),
    "dataJobInfo": Template({"customProperties": {}}, ("name", "type")),
    "dataJobInputOutput": Template(
        {"inputDatasets": [], "outputDatasets": []},
        inputDatasetEdges=_EDGES,
        outputDatasetEdges=_EDGES,
        inputDatajobEdges=_EDGES,
        inputDatasetFields=Words(),
        outputDatasetFields=Words(),
        fineGrainedLineages=FineGrained(),
    ),
    "dataProcessInstanceInput": Template({"inputs": []}, inputs=Words(), inputEdges=_EDGES),
    "dataProcessInstanceOutput": Template({"outputs": []}, outputs=Words(), outputEdges=_EDGES),
    "datasetProperties": Template({"customProperties": {}, "tags": []}, tags=Words()),
    "domains": Template({"domains": []}, domains=Words()),
    "editableDatasetProperties": Template({"created": STAMP, "lastModified": STAMP}),
    "editableSchemaMetadata": Template(
        {"created": STAMP, "lastModified": STAMP, "editableSchemaFieldInfo": []},
        editableSchemaFieldInfo=Elements(
            "fieldPath", item=Record(globalTags=Record(tags=_TAGS), glossaryTerms=Record(terms=_TERMS))
        ),
    ),
    "globalTags": Template({"tags": []}, tags=_TAGS),
    "glossaryTerms": Template({"terms": [], "auditStamp": STAMP}, terms=_TERMS),
    "ownership": Template(
        {"owners": [], "ownerTypes": {}, "lastModified": STAMP}, owners=Elements("owner", "type", "typeUrn")
    ),
    "siblings": Template({"siblings": [], "primary": False}, siblings=Words()),
    "status": Template({"removed": False}),
    "structuredProperties": Template({"properties": []}, properties=Elements("propertyUrn")),
    "upstreamLineage": Template({"upstreams": []}, upstreams=Elements("dataset"), fineGrainedLineages=FineGrained()),
}
"""Aspect name -> template. The deprecated plain arrays of dataJobInputOutput are no maps on the server either."""
