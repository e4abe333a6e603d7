"""Facets of senders for Data.Rentgen (https://data-rentgen.readthedocs.io)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, attempt_fact, facet, mapped, property_fact
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import ATTEMPT, JOB_FIELD, RUN_NAME, RUN_PROPERTIES, RUN_TYPE, RUN_URL, RUN_USER, Facts
from dh_bridge.model.precedence import (
    ATTEMPT_DATA_RENTGEN,
    FIELD_OPERATION,
    FIELD_STATED,
    NAME_DATA_RENTGEN,
    TYPE_START_REASON,
    URL_PERSISTENT_LOG,
    URL_RUNNING_LOG,
    USER_DATA_RENTGEN,
    web_page_url,
)
from dh_bridge.model.properties import flatten, truncate

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


# -- dataRentgen_run (run): attributes of a run for Data.Rentgen (https://data-rentgen.readthedocs.io).

_URL_PRECEDENCES = {"persistent_log_url": URL_PERSISTENT_LOG, "running_log_url": URL_RUNNING_LOG}
_DIGITS = re.compile(r"\s*(\d{1,10})").match
#: ``attempt`` is an int in DataHub.
_MAX_ATTEMPTS = 2**31


@facet(
    "dataRentgen_run",
    attach="run",
    outcomes={
        "external_id": mapped(RUN_NAME, RUN_PROPERTIES),
        "attempt": mapped(ATTEMPT, RUN_PROPERTIES),
        "persistent_log_url": mapped(RUN_URL, RUN_PROPERTIES),
        "running_log_url": mapped(RUN_URL, RUN_PROPERTIES),
        "start_reason": mapped(RUN_TYPE, RUN_PROPERTIES),
        "started_by_user": mapped(RUN_USER, RUN_PROPERTIES),
        "**": as_property(),
    },
    producer="Data.Rentgen",
)
def data_rentgen_run(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Name, attempt, links, type and user of the run. All fields are also properties."""
    content = facet.content
    properties = flatten("dataRentgen_run", content)
    if properties:
        yield property_fact(ctx, properties)
    if name := _stripped_text(content, "external_id"):
        yield ctx.run_urn, RUN_NAME, NAME_DATA_RENTGEN, name
    if user := _stripped_text(content, "started_by_user"):
        yield ctx.run_urn, RUN_USER, USER_DATA_RENTGEN, user
    if reason := _stripped_text(content, "start_reason"):
        yield ctx.run_urn, RUN_TYPE, TYPE_START_REASON, reason
    attempt = _parse_attempt(content.get("attempt"))
    if attempt is not None:
        yield attempt_fact(ctx, ATTEMPT_DATA_RENTGEN, attempt)
    for field_name, precedence in _URL_PRECEDENCES.items():
        url = web_page_url(content.get(field_name))
        if url is not None:
            yield ctx.run_urn, RUN_URL, precedence, url


def _stripped_text(content: dict[str, Any], field_name: str) -> str:
    return text_of(content.get(field_name)).strip()


def _parse_attempt(value: Any) -> int | None:
    """Return the number that an attempt begins with; Data.Rentgen's are text."""
    match = _DIGITS(str(value)) if isinstance(value, (str, int)) and not isinstance(value, bool) else None
    return int(match[1]) if match and 0 < int(match[1]) < _MAX_ATTEMPTS else None


# -- dataRentgen_operation (run): attributes of an operation for Data.Rentgen (https://data-rentgen.readthedocs.io).


@facet(
    "dataRentgen_operation",
    attach="run",
    outcomes={
        "name": mapped(JOB_FIELD["name"], RUN_PROPERTIES),
        "description": mapped(JOB_FIELD["description"], RUN_PROPERTIES),
        "**": as_property(),
    },
    producer="Data.Rentgen",
)
def data_rentgen_operation(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Name of the job, and its description if the facet documentation is absent. Group and position are properties of the run."""
    properties = flatten("dataRentgen_operation", facet.content)
    if properties:
        yield property_fact(ctx, properties)
    name, description = text_of(facet.content.get("name")).strip(), text_of(facet.content.get("description"))
    if name:
        yield ctx.owner_urn, JOB_FIELD, ("name", FIELD_STATED), truncate(name)
    if description.strip():
        yield ctx.owner_urn, JOB_FIELD, ("description", FIELD_OPERATION), description
