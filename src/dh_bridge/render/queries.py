"""query: statement, subjects, platform."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.datahub.urns import platform_urn
from dh_bridge.model.facts import QUERY, QUERY_SUBJECT
from dh_bridge.model.fold import value
from dh_bridge.model.properties import truncate
from dh_bridge.render.fragments import audit_stamp
from dh_bridge.render.jobs import MAX_SQL_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.model.fold import Registers
    from dh_bridge.options import Options

ENTITY = "query"
#: Maximal length of an array on a server (`maxArrayLength`).
_MAX_SUBJECTS = 1000


def query_proposals(urn: str, registers: Registers, options: Options) -> Iterator[Proposal]:
    """Yield the aspects of a query; never its ``customProperties`` below 1.0, which rejects them.

    A query that no run states any more, because its run sent a longer text, is removed.
    """
    query = value(registers, QUERY)
    if query is None:
        if options.profile.has_aspect(ENTITY, "status"):
            yield upsert(ENTITY, urn, "status", {"removed": True})
        return
    created, modified, (sql, dialect) = query
    properties: dict[str, Any] = {}
    if options.profile.has_field("queryProperties", "customProperties"):
        properties["customProperties"] = _properties(sql, dialect, options.prefix)
    properties["statement"] = {"value": truncate(sql, MAX_SQL_CHARS), "language": "SQL"}
    properties["source"] = "SYSTEM"
    properties["created"] = audit_stamp(*created)
    properties["lastModified"] = audit_stamp(*modified)
    yield upsert(ENTITY, urn, "queryProperties", properties)
    subjects = sorted(registers.get(QUERY_SUBJECT, ()))[:_MAX_SUBJECTS]
    if subjects:
        yield upsert(ENTITY, urn, "querySubjects", {"subjects": [{"entity": subject} for subject in subjects]})
    platform = options.tables.sql_dialects.platform(dialect) if dialect else None
    if platform is not None:
        yield upsert(ENTITY, urn, "dataPlatformInstance", {"platform": platform_urn(platform)})


def _properties(sql: str, dialect: str | None, prefix: str) -> dict[str, str]:
    properties = {prefix + "sql.sha256": hashlib.sha256(sql.encode("utf-8", "surrogatepass")).hexdigest()}
    return {prefix + "sql.dialect": truncate(dialect), **properties} if dialect else properties
