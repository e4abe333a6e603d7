"""ownership (job and dataset): who answers for it. https://openlineage.io/docs/spec/facets/dataset-facets/ownership"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Facet, entity, facet, mapped, property_statement
from dh_bridge.translation.facts import ALL, OWNER, Statements
from dh_bridge.translation.properties import capped, text
from dh_bridge.translation.reading.people import owner_urn

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


class Owner(Facet):
    """A name (``team:data``, ``user:ann``, an e-mail, a URN) and a type."""

    name: str | None = None
    type: str | None = None


class Ownership(Facet):
    """The owners."""

    owners: list[Owner] | None = None


_LEAVES = {"owners[].name": mapped(OWNER["[].owner"]), "owners[].type": mapped(OWNER["[].type"])}


def _owners(facet: Ownership, at: Place) -> Statements:
    settings = at.options.settings.owners
    skip = frozenset(word.lower() for word in settings.skip)
    unknown, applications = {}, []
    for position, owner in enumerate(facet.owners or ()):
        urn = owner_urn(owner.name, skip=skip, domain=settings.email_domain)
        kind, known = at.options.tables.owner_types(owner.type)
        own = settings.types.get((owner.type or "").strip())
        if own is not None:
            kind, known = own, True
        if urn is None:
            at.withheld(f"owners[{position}].name", "no-home:placeholder owner")
            at.withheld(f"owners[{position}].type", "no-home:placeholder owner")
            continue
        if not known and owner.type:
            unknown[owner.name or ""] = owner.type
        if (owner.name or "").lower().startswith(("application:", "service:")):
            applications.append(owner.name)
        yield entity(at), OWNER, (urn, kind), None
    properties = {}
    if unknown:
        properties["ownership.types"] = capped(text(unknown))
    if applications:
        properties["ownership.applications"] = capped(text(applications))
    if properties:
        yield property_statement(at, properties)


def _retracts(_: dict[str, Any], at: Place) -> Statements:
    if not at.options.stateful:
        at.withheld("_deleted", "policy:state=none")  # what was said before cannot be known
    yield entity(at), OWNER, ALL, None


@facet("ownership", at="job", reads=Ownership, retracts=_retracts, leaves=_LEAVES)
def job_ownership(facet: Ownership, at: Place) -> Statements:
    """Owners of the job, or of the flow when the job is one; placeholders (``***``, ``airflow``) are left out."""
    yield from _owners(facet, at)


@facet("ownership", at="dataset", reads=Ownership, retracts=_retracts, leaves=_LEAVES)
def dataset_ownership(facet: Ownership, at: Place) -> Statements:
    """Owners of the dataset; placeholders (``***``, ``airflow``) are left out."""
    yield from _owners(facet, at)
