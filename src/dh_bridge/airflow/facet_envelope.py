"""The envelope of a facet: its producer and its schema."""

from __future__ import annotations

from typing import Any

from dh_bridge import __version__

ADAPTER = f"dh-bridge/{__version__}"
_PRODUCER = f"https://pypi.org/project/{ADAPTER}"
_SPEC = "https://openlineage.io/spec"
#: Facet of the specification -> the version of its schema (openlineage-python 1.54).
_SCHEMA_VERSIONS = {
    "DocumentationDatasetFacet": "1-1-0",
    "DocumentationJobFacet": "1-1-0",
    "ErrorMessageRunFacet": "1-0-1",
    "JobTypeJobFacet": "2-0-4",
    "NominalTimeRunFacet": "1-0-1",
    "OwnershipDatasetFacet": "1-0-1",
    "OwnershipJobFacet": "1-0-1",
    "ParentRunFacet": "1-2-0",
    "ProcessingEngineRunFacet": "1-1-1",
    "SchemaDatasetFacet": "1-2-0",
    "TagsJobFacet": "1-0-0",
}


def standard_facet(name: str, /, **fields: Any) -> dict[str, Any]:
    """Return a facet of the specification without fields that are None."""
    schema = f"{_SPEC}/facets/{_SCHEMA_VERSIONS[name]}/{name}.json#/$defs/{name}"
    return _facet(schema, fields)


def custom_facet(base: str, /, **fields: Any) -> dict[str, Any]:
    """Return a facet of Airflow's own; ``base`` is ``RunFacet`` or ``JobFacet``."""
    return _facet(f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/{base}", fields)


def _facet(schema: str, fields: dict[str, Any]) -> dict[str, Any]:
    present_fields = {name: value for name, value in fields.items() if value is not None}
    return {"_producer": _PRODUCER, "_schemaURL": schema, **present_fields}
