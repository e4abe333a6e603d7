"""query: statement, subjects, platform."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.datahub.urns import platform_urn
from dh_bridge.translation.facts import QUERY, QUERY_SUBJECT
from dh_bridge.translation.fold import value
from dh_bridge.translation.properties import capped
from dh_bridge.translation.render.jobs import SQL_CAP
from dh_bridge.translation.render.stamps import audit_stamp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.options import Options

ENTITY = "query"
#: What a server takes of an array (`maxArrayLength`).
_MOST_SUBJECTS = 1000


def query_proposals(urn: str, slots: Slots, options: Options) -> Iterator[Proposal]:
    """Yield the aspects of a query; never its ``customProperties`` below 1.0, which refuses them.

    One that nobody tells of any more, as its run told of longer SQL later, is removed.
    """
    said = value(slots, QUERY)
    if said is None:
        if options.profile.has(ENTITY, "status"):
            yield upsert(ENTITY, urn, "status", {"removed": True})
        return
    created, modified, (sql, dialect) = said
    found: dict[str, Any] = {}
    if options.profile.has_field("queryProperties", "customProperties"):
        found["customProperties"] = _properties(sql, dialect, options.prefix)
    found["statement"] = {"value": capped(sql, SQL_CAP), "language": "SQL"}
    found["source"] = "SYSTEM"
    found["created"] = audit_stamp(*created)
    found["lastModified"] = audit_stamp(*modified)
    yield upsert(ENTITY, urn, "queryProperties", found)
    subjects = sorted(slots.get(QUERY_SUBJECT, ()))[:_MOST_SUBJECTS]
    if subjects:
        yield upsert(ENTITY, urn, "querySubjects", {"subjects": [{"entity": subject} for subject in subjects]})
    platform = options.tables.sql_dialects.platform(dialect) if dialect else None
    if platform is not None:
        yield upsert(ENTITY, urn, "dataPlatformInstance", {"platform": platform_urn(platform)})


def _properties(sql: str, dialect: str | None, prefix: str) -> dict[str, str]:
    found = {prefix + "sql.sha256": hashlib.sha256(sql.encode("utf-8", "surrogatepass")).hexdigest()}
    return {prefix + "sql.dialect": capped(dialect), **found} if dialect else found
