"""Owners, tags and domains of all entities, always by PATCH, so that those of people are not changed; and edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import Proposal, patch, upsert
from dh_bridge.datahub.urns import tag_urn
from dh_bridge.model.facts import DOMAIN, OWNER, TAG, TOMBSTONE_KEY
from dh_bridge.model.fold import active_elements
from dh_bridge.model.properties import truncate
from dh_bridge.render.fragments import add_operation, audit_stamp, escape_segment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dh_bridge.model.fold import Registers


def owner_and_tag_proposals(entity: str, urn: str, registers: Registers) -> Iterator[Proposal]:
    """Yield ownership and globalTags of an entity.

    None if no event names any (an empty aspect would erase the present one).
    """
    if OWNER in registers and (owners := active_elements(registers, OWNER, TOMBSTONE_KEY)):
        yield patch(entity, urn, "ownership", [_owner_operation(owner, kind) for owner, kind in sorted(owners)])
    if TAG in registers and (tags := active_elements(registers, TAG, "")):
        yield patch(entity, urn, "globalTags", [_tag_operation(name, tags[name][1]) for name in sorted(tags)])


def dataset_edge(
    urn: str, created: tuple[int, str], modified: tuple[int, str], properties: Mapping[str, str], prefix: str
) -> dict[str, Any]:
    """Return an edge to a dataset; the times are (microseconds, actor), ``modified`` of 0 for a run that has not ended."""
    edge_json: dict[str, Any] = {"destinationUrn": urn, "created": audit_stamp(*created)}
    if modified[0]:
        edge_json["lastModified"] = audit_stamp(*modified)
    if properties:
        edge_json["properties"] = {prefix + key: truncate(properties[key]) for key in sorted(properties)}
    return edge_json


def domain_proposals(entity: str, urn: str, domain_urn: str | None, registers: Registers) -> Iterator[Proposal]:
    """Yield the domain that the settings give an entity, by a pattern, else by rules about jobs; never by a facet."""
    domain_urns = [domain_urn] if domain_urn is not None else sorted(registers.get(DOMAIN, ()))
    if domain_urns:
        operations = [add_operation(f"/domains/{escape_segment(domain)}", domain) for domain in domain_urns]
        yield patch(entity, urn, "domains", operations)


def _owner_operation(owner: str, kind: str) -> dict[str, Any]:
    value = {"owner": owner, "type": kind, "source": {"type": "SERVICE"}}
    if kind.startswith("urn:li:ownershipType:"):  # an ownership type of the users' own
        value = {"owner": owner, "type": "CUSTOM", "typeUrn": kind, "source": {"type": "SERVICE"}}
        kind = "CUSTOM"
    return add_operation(f"/owners/{escape_segment(owner)}/{kind}", value)


def _tag_operation(name: str, context: str | None) -> dict[str, Any]:
    urn = tag_urn(name)
    value = {"tag": urn} if context is None else {"tag": urn, "context": context}
    return add_operation(f"/tags/{escape_segment(urn)}", value)


def tag_key_proposal(name: str) -> Proposal:
    """Return the proposal that makes a tag exist, so that its page does; never its properties: those are people's."""
    return upsert("tag", tag_urn(name), "tagKey", {"name": name})
