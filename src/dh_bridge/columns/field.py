"""A column as OpenLineage's schema facet writes it."""

from __future__ import annotations

import msgspec


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
