"""ownership (job and dataset): who answers for it. https://openlineage.io/docs/spec/facets/dataset-facets/ownership"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import Facet, entity_urn, facet, mapped, property_fact
from dh_bridge.model.facts import OWNER, TOMBSTONE_KEY, Facts
from dh_bridge.model.properties import json_text, truncate
from dh_bridge.value_maps.owner_types import owner_urn

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


class Owner(Facet):
    """A name (``team:data``, ``user:ann``, an e-mail, a URN) and a type."""

    name: str | None = None
    type: str | None = None


class Ownership(Facet):
    """The owners."""

    owners: list[Owner] | None = None


_FIELD_OUTCOMES = {"owners[].name": mapped(OWNER["[].owner"]), "owners[].type": mapped(OWNER["[].type"])}


def _owner_facts(facet: Ownership, ctx: FacetContext) -> Facts:
    settings = ctx.options.settings.owners
    skip = frozenset(placeholder.lower() for placeholder in settings.skip)
    unknown_types, applications = {}, []
    for position, owner in enumerate(facet.owners or ()):
        urn = owner_urn(owner.name, skip=skip, domain=settings.email_domain)
        kind, is_known = ctx.options.tables.owner_types(owner.type)
        configured_type = settings.types.get((owner.type or "").strip())
        if configured_type is not None:
            kind, is_known = configured_type, True
        if urn is None:
            ctx.note_dropped(f"owners[{position}].name", "no-field:placeholder owner")
            ctx.note_dropped(f"owners[{position}].type", "no-field:placeholder owner")
            continue
        if not is_known and owner.type:
            unknown_types[owner.name or ""] = owner.type
        if (owner.name or "").lower().startswith(("application:", "service:")):
            applications.append(owner.name)
        yield entity_urn(ctx), OWNER, (urn, kind), None
    properties = {}
    if unknown_types:
        properties["ownership.types"] = truncate(json_text(unknown_types))
    if applications:
        properties["ownership.applications"] = truncate(json_text(applications))
    if properties:
        yield property_fact(ctx, properties)


def _retract(_: dict[str, Any], ctx: FacetContext) -> Facts:
    if not ctx.options.is_stateful:
        ctx.note_dropped("_deleted", "policy:state=none")  # earlier values are unknown
    yield entity_urn(ctx), OWNER, TOMBSTONE_KEY, None


@facet("ownership", attach="job", struct=Ownership, retract=_retract, outcomes=_FIELD_OUTCOMES)
def job_ownership(facet: Ownership, ctx: FacetContext) -> Facts:
    """Owners of the job, or of the flow if the job is a flow; placeholders (``***``, ``airflow``) are left out."""
    yield from _owner_facts(facet, ctx)


@facet("ownership", attach="dataset", struct=Ownership, retract=_retract, outcomes=_FIELD_OUTCOMES)
def dataset_ownership(facet: Ownership, ctx: FacetContext) -> Facts:
    """Owners of the dataset; placeholders (``***``, ``airflow``) are left out."""
    yield from _owner_facts(facet, ctx)
