"""Facets of dbt's wrapper (openlineage-dbt)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.repair import text_of
from dh_bridge.facet_support.sibling_facets import schema_field_objects, sibling_facet
from dh_bridge.model.facts import (
    ASSERTION_PROPERTIES,
    ASSERTION_URL,
    DATASET_PROPERTIES,
    JOB_FIELD,
    JOB_PROPERTIES,
    OPERATION,
    OWNER,
    PARTITIONED_BY,
    RUN_NAME,
    RUN_PROPERTIES,
    RUN_TYPE,
    SUBTYPES,
    Facts,
)
from dh_bridge.model.precedence import NAME_INVOCATION, OPERATION_DBT, PAGE_NODE, TYPE_BATCHES
from dh_bridge.model.properties import flatten, present_property_text, property_text
from dh_bridge.model.run_state import ANY_OWNER
from dh_bridge.settings.links import fill_link
from dh_bridge.value_maps.owner_types import untyped_owner

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.naming import Name


# -- dbt_version (run): the version of dbt (openlineage-dbt).


@facet(
    "dbt_version",
    attach="run",
    outcomes={
        "**": as_property(RUN_PROPERTIES, JOB_PROPERTIES),
    },
    producer="dbt",
)
def dbt_version(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Version of dbt, as a property of the run and of its job."""
    properties = flatten("dbt_version", facet.content)
    if properties:
        yield property_fact(ctx, properties)
        yield ctx.owner_urn, JOB_PROPERTIES, "dbt_version", properties


# -- dbt_run (run): the invocation of dbt (openlineage-dbt).


@facet(
    "dbt_run",
    attach="run",
    outcomes={
        "invocation_id": mapped(
            RUN_NAME,
            RUN_PROPERTIES,
        ),
        "project_name": as_property(RUN_PROPERTIES, JOB_PROPERTIES),
        "**": as_property(),
    },
    producer="dbt",
)
def dbt_run(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Invocation id, project and profile, as properties. The invocation id is the name of the run of the invocation.

    dbt tries no node again under the same run id. A microbatch model has a START and an end for each batch, then its own
    end, which is OTHER where some failed.
    """
    yield ctx.run_urn, RUN_TYPE, TYPE_BATCHES, True
    properties = flatten("dbt_run", facet.content)
    if properties:
        yield property_fact(ctx, properties)
    invocation = text_of(facet.content.get("invocation_id"))
    if invocation:
        yield ctx.run_urn, RUN_NAME, NAME_INVOCATION, invocation
    project = properties.get("dbt_run.project_name")
    if project and ctx.job is not None and ctx.owner_urn != ANY_OWNER:
        yield ctx.job.flow_urn, JOB_PROPERTIES, "dbt_run", {"dbt_run.project_name": project}


# -- dbt_node (job): the node of the dbt project (openlineage-dbt).

_TEST_TYPE, _TEST_PREFIX = "dbt_node.test_type", "test."


@facet(
    "dbt_node",
    attach="job",
    outcomes={
        "test_type": as_property(JOB_PROPERTIES, ASSERTION_PROPERTIES),
        "**": as_property(),
    },
    producer="dbt",
    is_cached=True,
)
def dbt_node(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """File, database, schema, alias and unique id of the node, as properties of the job. With the setting ``links``, the job links to its file.

    The type of a test and the page of its file are those of its check, too.
    """
    if facet.properties is None:
        facet.properties = flatten("dbt_node", facet.content)
    if facet.properties:
        yield property_fact(ctx, facet.properties)
    checks = [urn for checks_by_urn in ctx.checks.values() for urn in checks_by_urn]
    if _TEST_TYPE in facet.properties:
        for urn in checks:
            yield urn, ASSERTION_PROPERTIES, "dbt_node", {_TEST_TYPE: facet.properties[_TEST_TYPE]}
    path = facet.content.get("original_file_path")
    if not isinstance(path, str) or not path:
        return
    # dbt on Windows writes paths as Windows does.
    url = fill_link(ctx.options.settings.links, "dbt", path=path.replace("\\", "/").lstrip("/"))
    if url is not None:
        yield ctx.owner_urn, JOB_FIELD, ("externalUrl", PAGE_NODE), url
        if str(facet.content.get("unique_id")).startswith(_TEST_PREFIX):  # the file of a model is not that of its tests
            for urn in checks:
                yield urn, ASSERTION_URL, "", url


# -- dbt_model (dataset): how the model is built (openlineage-dbt).

_OPERATIONS = {"table": "OVERWRITE", "snapshot": "MERGE", "seed": "INSERT"}


_PROPERTY_OUTCOME = as_property(DATASET_PROPERTIES, JOB_PROPERTIES)
_PARTITION_OUTCOME = mapped(PARTITIONED_BY, *_PROPERTY_OUTCOME.targets)


@facet(
    "dbt_model",
    attach="dataset",
    outcomes={
        "config.materialized": mapped(*_PROPERTY_OUTCOME.targets, SUBTYPES),
        "config.incremental.partition_by.field": _PARTITION_OUTCOME,
        "config.incremental.partition_by.columns[]": _PARTITION_OUTCOME,
        "**": _PROPERTY_OUTCOME,
    },
    producer="dbt",
)
def dbt_model(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Configuration of the model, as properties of the dataset and its job. The materialisation selects the subtype View, or the operation on the table."""
    config = facet.content.get("config")
    config_values = dict(config) if isinstance(config, dict) else {}
    incremental = config_values.pop("incremental", None)
    properties = flatten("dbt_model.config", config_values)
    if incremental not in (None, {}, []):
        properties["dbt_model.config.incremental"] = present_property_text("dbt_model.config.incremental", incremental)
    other_values = {
        key: value for key, value in facet.content.items() if key != "config" or not isinstance(config, dict)
    }
    flatten("dbt_model", other_values, properties)
    if properties:
        yield property_fact(ctx, properties)
        if ctx.owner_urn and ctx.role == "output":
            yield ctx.owner_urn, JOB_PROPERTIES, "dbt_model", properties
    if "owners" in ctx.options.settings.dbt.model_metadata:
        owner = untyped_owner(config_values.get("owner"), ctx.options.settings.owners)
        if owner is not None:
            yield ctx.dataset_urn, OWNER, owner, None
    if ctx.name is not None:
        yield from _partition_key_facts(_partition_columns(incremental), ctx, ctx.name)
    materialized = config_values.get("materialized")
    if materialized == "view":
        yield ctx.dataset_urn, SUBTYPES, "", "View"
    if ctx.role == "output" and ctx.run_urn:
        operation = _OPERATIONS.get(str(materialized))
        if materialized == "incremental":
            strategy = incremental.get("strategy") if isinstance(incremental, dict) else None
            operation = "INSERT" if strategy == "append" else "MERGE"
        if operation:
            yield ctx.dataset_urn, OPERATION, OPERATION_DBT, operation


def _partition_columns(incremental: Any) -> dict[str, Any]:
    """Return the partition columns of the model, by the setting that names them."""
    partition = incremental.get("partition_by") if isinstance(incremental, dict) else None
    if not isinstance(partition, dict):
        return {}
    columns = partition.get("columns")
    column_names = columns if isinstance(columns, list) else ()
    indexed_columns = {f"columns[{position}]": name for position, name in enumerate(column_names)}
    return {"field": partition.get("field"), **indexed_columns}


def _partition_key_facts(partition_columns: dict[str, Any], ctx: FacetContext, name: Name) -> Facts:
    """Yield the columns that the model is partitioned by, spelled as its schema spells them."""
    keys = {name.spell_column(column) for column in partition_columns.values() if isinstance(column, str) and column}
    if keys:
        yield ctx.dataset_urn, PARTITIONED_BY, "", tuple(sorted(keys))
    if ctx.notes is not None:
        _note_columns(partition_columns, ctx, name)


def _note_columns(partition_columns: dict[str, Any], ctx: FacetContext, name: Name) -> None:
    """Report keys that are no columns of the schema: no key is marked, the configuration is stored."""
    schema_columns = [field.get("name") for field in schema_field_objects(sibling_facet(ctx, "schema"))]
    columns = {name.spell_column(column) for column in schema_columns if isinstance(column, str)}
    for field_path, column in partition_columns.items():
        if not isinstance(column, str) or (columns and name.spell_column(column) not in columns):
            ctx.note_outcome(f"config.incremental.partition_by.{field_path}", *_PROPERTY_OUTCOME.targets)


# -- dbt_exposures (dataset): who uses the model (openlineage-dbt).


@facet(
    "dbt_exposures",
    attach="dataset",
    outcomes={"**": as_property()},
    producer="dbt",
    is_cached=True,
)
def dbt_exposures(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Exposures, as one JSON property. They contain only names, so there are no edges to dashboards."""
    content = dict(facet.content)
    exposures = content.get("exposures")
    value_text = property_text("dbt_exposures", exposures) if isinstance(exposures, list) and exposures else None
    if value_text:
        del content["exposures"]
    properties = flatten("dbt_exposures", content)
    if value_text:
        properties["dbt_exposures"] = value_text
    if properties:
        yield property_fact(ctx, properties)
