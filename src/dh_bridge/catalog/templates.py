"""The aspects that DataHub can patch: the shape of each, the initial value of a first patch, and required fields.

Source: the templates of DataHub's entity-registry (AspectTemplateEngine). Where they set the present time, ours use the Avro
default (time 0, ``urn:li:corpuser:unknown``), so that equal patches give equal aspects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.catalog.fine_grained import FineGrainedShape
from dh_bridge.catalog.patch_layout import AspectShape, ObjectArrayShape, ObjectShape, StringArrayShape

if TYPE_CHECKING:
    from collections.abc import Mapping

_EDGES = ObjectArrayShape("destinationUrn")
_TAGS = ObjectArrayShape("tag")
_TERMS = ObjectArrayShape("urn")
AUDIT_STAMP = {"time": 0, "actor": "urn:li:corpuser:unknown"}


class PatchTemplate(ObjectShape):
    """An aspect's shape, with ``default`` (the empty aspect) and ``required`` (fields that no default can give)."""

    def __init__(
        self, default: Mapping[str, Any] | None = None, required: tuple[str, ...] = (), **fields: AspectShape
    ) -> None:
        super().__init__(**fields)
        self.default: Mapping[str, Any] = default or {}
        self.required = frozenset(required)

    def drop_emptied(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the aspect without the arrays that a patch has emptied, those that it must have put back."""
        default = self.default
        for field in self.fields:
            if field not in default and not value.get(field, True):
                del value[field]
        return {**default, **value}

    def with_keys(self, keys: Mapping[str, list[str]]) -> PatchTemplate:
        """Return the template with other keys for some arrays: a patch may name its own (``arrayPrimaryKeys``)."""
        fields = {
            **self.fields,
            **{field: ObjectArrayShape(*names) if names else StringArrayShape() for field, names in keys.items()},
        }
        return PatchTemplate(self.default, tuple(self.required), **fields)


TEMPLATES: Mapping[str, PatchTemplate] = {
    "dataFlowInfo": PatchTemplate({"customProperties": {}}, ("name",)),
    "dataJobInfo": PatchTemplate({"customProperties": {}}, ("name", "type")),
    "dataJobInputOutput": PatchTemplate(
        {"inputDatasets": [], "outputDatasets": []},
        inputDatasetEdges=_EDGES,
        outputDatasetEdges=_EDGES,
        inputDatajobEdges=_EDGES,
        inputDatasetFields=StringArrayShape(),
        outputDatasetFields=StringArrayShape(),
        fineGrainedLineages=FineGrainedShape(),
    ),
    "dataProcessInstanceInput": PatchTemplate({"inputs": []}, inputs=StringArrayShape(), inputEdges=_EDGES),
    "dataProcessInstanceOutput": PatchTemplate({"outputs": []}, outputs=StringArrayShape(), outputEdges=_EDGES),
    "datasetProperties": PatchTemplate({"customProperties": {}, "tags": []}, tags=StringArrayShape()),
    "domains": PatchTemplate({"domains": []}, domains=StringArrayShape()),
    "editableDatasetProperties": PatchTemplate({"created": AUDIT_STAMP, "lastModified": AUDIT_STAMP}),
    "editableSchemaMetadata": PatchTemplate(
        {"created": AUDIT_STAMP, "lastModified": AUDIT_STAMP, "editableSchemaFieldInfo": []},
        editableSchemaFieldInfo=ObjectArrayShape(
            "fieldPath", item=ObjectShape(globalTags=ObjectShape(tags=_TAGS), glossaryTerms=ObjectShape(terms=_TERMS))
        ),
    ),
    "globalTags": PatchTemplate({"tags": []}, tags=_TAGS),
    "glossaryTerms": PatchTemplate({"terms": [], "auditStamp": AUDIT_STAMP}, terms=_TERMS),
    "ownership": PatchTemplate(
        {"owners": [], "ownerTypes": {}, "lastModified": AUDIT_STAMP},
        owners=ObjectArrayShape("owner", "type", "typeUrn"),
    ),
    "siblings": PatchTemplate({"siblings": [], "primary": False}, siblings=StringArrayShape()),
    "status": PatchTemplate({"removed": False}),
    "structuredProperties": PatchTemplate({"properties": []}, properties=ObjectArrayShape("propertyUrn")),
    "upstreamLineage": PatchTemplate(
        {"upstreams": []}, upstreams=ObjectArrayShape("dataset"), fineGrainedLineages=FineGrainedShape()
    ),
}
"""Aspect name -> template. The deprecated plain arrays of dataJobInputOutput are no maps on the server either."""
