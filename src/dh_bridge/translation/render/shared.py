"""Owners, tags and domains: of whatever entity, always by PATCH, so that people's own stay; and edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import Proposal, patch, upsert
from dh_bridge.datahub.urns import tag_urn
from dh_bridge.settings.domains import domain_of
from dh_bridge.translation.facts import ALL, OWNER, TAG
from dh_bridge.translation.fold import standing
from dh_bridge.translation.properties import capped
from dh_bridge.translation.render.stamps import add, audit_stamp, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dh_bridge.settings.domains import DomainRule
    from dh_bridge.translation.fold import Slots


def people_and_tags(entity: str, urn: str, slots: Slots) -> Iterator[Proposal]:
    """Yield ownership and globalTags of an entity; nothing where nobody named any (an empty aspect erases)."""
    if OWNER in slots and (owners := standing(slots, OWNER, ALL)):
        yield patch(entity, urn, "ownership", [_owner(owner, kind) for owner, kind in sorted(owners)])
    if TAG in slots and (tags := standing(slots, TAG, "")):
        yield patch(entity, urn, "globalTags", [_tag(name, tags[name][1]) for name in sorted(tags)])


def edge(
    urn: str, created: tuple[int, str], modified: tuple[int, str], properties: Mapping[str, str], prefix: str
) -> dict[str, Any]:
    """Return an edge to a dataset; the times are (microseconds, actor), ``modified`` of 0 for a run that has not ended."""
    found: dict[str, Any] = {"destinationUrn": urn, "created": audit_stamp(*created)}
    if modified[0]:
        found["lastModified"] = audit_stamp(*modified)
    if properties:
        found["properties"] = {prefix + key: capped(properties[key]) for key in sorted(properties)}
    return found


def domain(entity: str, urn: str, rules: Sequence[DomainRule], namespace: str, name: str) -> Iterator[Proposal]:
    """Yield the domain that the user's rules give an entity (by configuration, never by a facet)."""
    found = domain_of(rules, namespace, name) if rules else None
    if found is not None:
        yield patch(entity, urn, "domains", [add(f"/domains/{escaped(found)}", found)])


def _owner(owner: str, kind: str) -> dict[str, Any]:
    value = {"owner": owner, "type": kind, "source": {"type": "SERVICE"}}
    if kind.startswith("urn:li:ownershipType:"):  # an ownership type of the users' own
        value = {"owner": owner, "type": "CUSTOM", "typeUrn": kind, "source": {"type": "SERVICE"}}
        kind = "CUSTOM"
    return add(f"/owners/{escaped(owner)}/{kind}", value)


def _tag(name: str, context: str | None) -> dict[str, Any]:
    urn = tag_urn(name)
    value = {"tag": urn} if context is None else {"tag": urn, "context": context}
    return add(f"/tags/{escaped(urn)}", value)


def tag_key(name: str) -> Proposal:
    """Return the proposal that makes a tag exist, so that its page does; never its properties: those are people's."""
    return upsert("tag", tag_urn(name), "tagKey", {"name": name})
