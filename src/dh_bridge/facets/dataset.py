"""Facets about the kind of a dataset and its storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.generic import property_facet
from dh_bridge.facet_support.hierarchies import containers_of
from dh_bridge.facet_support.named_parameters import configuration
from dh_bridge.model.facts import (
    CONTAINER,
    CONTAINER_PATH,
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    RUN_BY_DATASET,
    SUBTYPES,
    Facts,
)
from dh_bridge.model.properties import flatten, property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


# -- catalog (dataset): the catalogue that holds it. https://openlineage.io/docs/spec/facets/dataset-facets/catalog


@facet(
    "catalog",
    attach="dataset",
    outcomes={
        "**": as_property(),
    },
)
def catalog(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Properties with the framework, type, name and addresses of the catalogue, redacted. Its own properties are one JSON property."""
    content = dict(facet.content)
    catalog_properties = content.pop("catalogProperties", None)
    properties = flatten("catalog", content)
    if isinstance(catalog_properties, dict):
        catalog_properties = configuration(catalog_properties, "catalogProperties", ctx)
    value_text = property_text("catalog.catalogProperties", catalog_properties) if catalog_properties else None
    if value_text:
        properties["catalog.catalogProperties"] = value_text
    if properties:
        yield property_fact(ctx, properties)


# -- dataSource (dataset): the connection. https://openlineage.io/docs/spec/facets/dataset-facets/data_source

data_source = property_facet(
    "dataSource",
    attach="dataset",
    doc="Name and URI of the connection as redacted properties.",
)


# -- datasetType (dataset): table, view, topic … https://openlineage.io/docs/spec/facets/dataset-facets/dataset_type


class DatasetType(Facet):
    """The type and, within it, the subtype."""

    datasetType: str | None = None
    subType: str | None = None


_TYPE_OUTCOME = mapped(SUBTYPES, DATASET_PROPERTIES)


@facet(
    "datasetType",
    attach="dataset",
    struct=DatasetType,
    outcomes={"datasetType": _TYPE_OUTCOME, "subType": _TYPE_OUTCOME},
)
def dataset_type(facet: DatasetType, ctx: FacetContext) -> Facts:
    """Subtype of the dataset, unless dbt has a more precise one. Both values are also properties."""
    properties = {
        f"datasetType.{field_name}": value_text
        for field_name in ("datasetType", "subType")
        if (value := getattr(facet, field_name))
        and (value_text := property_text(f"datasetType.{field_name}", value)) is not None
    }
    if properties:
        yield property_fact(ctx, properties)
    platform = ctx.name.platform if ctx.name is not None else ""
    names = ctx.options.tables.dataset_types(facet.datasetType or "", facet.subType or "", platform)
    if names:
        yield ctx.dataset_urn, SUBTYPES, "datasetType", names


# -- hierarchy (dataset): database, schema, table … https://openlineage.io/docs/spec/facets/dataset-facets/hierarchy


class HierarchyLevel(Facet):
    """One level."""

    type: str | None = None
    name: str | None = None


class Hierarchy(Facet):
    """The levels, the highest first."""

    hierarchy: list[HierarchyLevel] | None = None


_LEVEL_OUTCOME = as_property()


@facet(
    "hierarchy",
    attach="dataset",
    struct=Hierarchy,
    outcomes={"hierarchy[].type": _LEVEL_OUTCOME, "hierarchy[].name": _LEVEL_OUTCOME},
)
def hierarchy(facet: Hierarchy, ctx: FacetContext) -> Facts:
    """One property: ``[["DATABASE","db"],…]``. With ``optional_metadata: [containers]`` also containers, as DataHub's connectors write them."""
    levels = [[level.type or "", level.name or ""] for level in facet.hierarchy or () if level.type or level.name]
    value_text = property_text("hierarchy", levels) if levels else None
    if value_text is not None:
        yield property_fact(ctx, {"hierarchy": value_text})
    if "containers" in ctx.options.settings.optional_metadata and ctx.name is not None:
        containers = containers_of([(kind, name) for kind, name in levels], ctx.name)
        for urn, container in containers:
            yield urn, CONTAINER, "", container
        if containers:
            yield ctx.dataset_urn, CONTAINER_PATH, "", tuple(urn for urn, _ in containers)


# -- storage (dataset): layer and format. https://openlineage.io/docs/spec/facets/dataset-facets/storage

storage = property_facet("storage", attach="dataset", doc="Storage layer and file format.")


# -- version (dataset): which version was read or written. https://openlineage.io/docs/spec/facets/dataset-facets/version_facet


@facet(
    "version",
    attach="dataset",
    outcomes={
        "datasetVersion": as_property(DATASET_PROPERTIES, RUN_BY_DATASET, EDGE_PROPERTIES),
        "**": as_property(DATASET_PROPERTIES, EDGE_PROPERTIES),
    },
)
def version(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """The version that was read or written, as a property of the dataset, of the job's edge and, for each dataset, of the run."""
    properties = flatten("version", facet.content)
    if properties:
        yield property_fact(ctx, properties)
        if ctx.task_urn:
            direction = "input" if ctx.role == "input" else "output"
            yield ctx.task_urn, EDGE_PROPERTIES, (direction, ctx.dataset_urn, "version"), properties
            dataset_version = properties.get("version.datasetVersion")
            if ctx.run_urn and dataset_version is not None:
                yield ctx.run_urn, RUN_BY_DATASET, (f"{direction}s.version", ctx.dataset_urn), dataset_version
