"""A column as OpenLineage's schema facet writes it, and DataHub's schemaMetadata aspect."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from dh_bridge.datahub.schema_fastpath import AlikeFields, AlikeSchema, SchemaEnvelope
from dh_bridge.datahub.urns import platform_urn


class SchemaFacetField(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """One element of ``schema.fields``: ``ordinal_position`` counts from 1, ``fields`` are nested columns or wrappers.

    Wrappers are ``_element`` (array), ``key`` and ``value`` (map), ``_0``, ``_1`` … or ``_<type>`` (union).
    Source: OpenLineage spec, SchemaDatasetFacet 1-2-0.
    """

    name: str
    type: str | None = None
    description: str | None = None
    fields: list[SchemaFacetField] = []
    ordinal_position: int | None = None


def schema_metadata(name: str, platform: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the aspect's JSON: ``name`` is the dataset's name in its URN, ``platform`` an id (``postgres``) or its URN.

    Stamps are the model's defaults and the hash is empty, so that the same columns are the same bytes in every run.
    """
    if type(fields) is AlikeFields:
        return AlikeSchema(_schema_envelope(platform), name, fields)
    return {**_schema_envelope(platform).value, "schemaName": name, "fields": fields}


@lru_cache(maxsize=256)
def _schema_envelope(platform: str) -> SchemaEnvelope:
    return SchemaEnvelope(
        {
            "schemaName": "",
            "platform": platform_urn(platform),
            "version": 0,
            "created": {"time": 0, "actor": "urn:li:corpuser:unknown"},
            "lastModified": {"time": 0, "actor": "urn:li:corpuser:unknown"},
            "hash": "",
            "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
            "fields": [],
        }
    )
