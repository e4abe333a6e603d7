"""Facets of what surrounds a run: its schedule, its engine, its query in another system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, property_fact
from dh_bridge.model.facts import (
    JOB_PROPERTIES,
    OPERATION_PROPERTIES,
    RUN_NAME,
    RUN_PROPERTIES,
    RUN_TYPE,
    RUN_URL,
    Facts,
)
from dh_bridge.model.precedence import NAME_EXTERNAL_QUERY, TYPE_NOMINAL, URL_CONFIGURED
from dh_bridge.model.properties import present_property_text
from dh_bridge.settings.links import fill_link

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


# -- nominalTime (run): when the run was scheduled for. https://openlineage.io/docs/spec/facets/run-facets/nominal_time


class NominalTime(Facet):
    """Scheduled start and end, ISO 8601."""

    nominalStartTime: str | None = None
    nominalEndTime: str | None = None


_FIELD_NAMES = ("nominalStartTime", "nominalEndTime")


@facet(
    "nominalTime",
    attach="run",
    struct=NominalTime,
    outcomes=dict.fromkeys(_FIELD_NAMES, as_property()),
)
def nominal_time(facet: NominalTime, ctx: FacetContext) -> Facts:
    """Scheduled start and end, as properties of the run. The run has the type BATCH_SCHEDULED, unless another facet states its type."""
    times = {}
    if facet.nominalStartTime:
        times["nominalTime.nominalStartTime"] = present_property_text(
            "nominalTime.nominalStartTime", facet.nominalStartTime
        )
        yield ctx.run_urn, RUN_TYPE, TYPE_NOMINAL, True
    if facet.nominalEndTime:
        if facet.nominalEndTime == facet.nominalStartTime:
            ctx.note_dropped("nominalEndTime", "duplicate-of:nominalStartTime")
        else:
            times["nominalTime.nominalEndTime"] = present_property_text(
                "nominalTime.nominalEndTime", facet.nominalEndTime
            )
    if times:
        yield property_fact(ctx, times)


# -- processing_engine (run): engine and adapter. https://openlineage.io/docs/spec/facets/run-facets/processing_engine


class ProcessingEngine(Facet):
    """Name and version of the engine, version of its OpenLineage adapter."""

    name: str | None = None
    version: str | None = None
    openlineageAdapterVersion: str | None = None


@facet(
    "processing_engine",
    attach="run",
    struct=ProcessingEngine,
    outcomes={
        **dict.fromkeys(("name", "version"), as_property(RUN_PROPERTIES, JOB_PROPERTIES)),
        "openlineageAdapterVersion": as_property(),
    },
)
def processing_engine(facet: ProcessingEngine, ctx: FacetContext) -> Facts:
    """Properties of the run; name and version are also properties of the job. Ids do not depend on this facet, because COMPLETE events often lack it."""
    properties = {
        f"processing_engine.{field_name}": present_property_text(f"processing_engine.{field_name}", value)
        for field_name in ("name", "version")
        if (value := getattr(facet, field_name))
    }
    if properties and ctx.owner_urn:
        yield ctx.owner_urn, JOB_PROPERTIES, "processing_engine", properties
    if facet.openlineageAdapterVersion:
        key = "processing_engine.openlineageAdapterVersion"
        properties = {**properties, key: present_property_text(key, facet.openlineageAdapterVersion)}
    if properties:
        yield property_fact(ctx, properties)


# -- externalQuery (run): the id of a query in another system. https://openlineage.io/docs/spec/facets/run-facets/external_query


class ExternalQuery(Facet):
    """Query id and the system that gave it."""

    externalQueryId: str | None = None
    source: str | None = None


@facet(
    "externalQuery",
    attach="run",
    struct=ExternalQuery,
    outcomes={
        "externalQueryId": as_property(RUN_PROPERTIES, OPERATION_PROPERTIES["externalQueryId"]),
        "source": as_property(),
    },
)
def external_query(facet: ExternalQuery, ctx: FacetContext) -> Facts:
    """Properties of the run. For a QUERY job, the query id is the name of the run and, with the setting ``links``, a link."""
    properties = {}
    if facet.externalQueryId:
        properties["externalQuery.externalQueryId"] = present_property_text(
            "externalQuery.externalQueryId", facet.externalQueryId
        )
        yield ctx.run_urn, RUN_NAME, NAME_EXTERNAL_QUERY, facet.externalQueryId
        url = fill_link(ctx.options.settings.links, facet.source or "", id=facet.externalQueryId)
        if url is not None:
            yield ctx.run_urn, RUN_URL, URL_CONFIGURED, url
    if facet.source:
        properties["externalQuery.source"] = present_property_text("externalQuery.source", facet.source)
    if properties:
        yield property_fact(ctx, properties)
