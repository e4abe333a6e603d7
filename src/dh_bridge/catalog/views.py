# ruff: noqa: S608 - the statements are made of constants
"""Views of the catalogue for people and tools that query the file with SQL; docs/sql.md describes their columns.

Values are JSON text, entities are URNs, times are ISO 8601 in UTC. The tables behind the views may change with any release, the
views keep their columns.
"""

from __future__ import annotations

from dh_bridge.catalog.phrases import expanding_select

_TIME_SQL = "strftime('%Y-%m-%dT%H:%M:%fZ', {millis} / 1000.0, 'unixepoch')"
_VALUE_SQL = "json_extract(CAST({row}.value AS TEXT), '$.{path}')"


def _time_sql(millis: str) -> str:
    return _TIME_SQL.format(millis=millis)


def _field_sql(row: str, path: str) -> str:
    return _VALUE_SQL.format(row=row, path=path)


def _aspect_join(name: str, alias: str) -> str:
    """Return the join of an entity with one of its aspects, if it has that."""
    return f"LEFT JOIN aspect {alias} ON {alias}.entity = entity.id AND {alias}.name = '{name}'"


VIEWS = {
    "entities": f"""
        SELECT entity.urn, entity.type, coalesce({_field_sql("status", "removed")}, 0) AS removed
        FROM entity {_aspect_join("status", "status")}
        WHERE EXISTS (SELECT 1 FROM aspect WHERE aspect.entity = entity.id)
            OR EXISTS (SELECT 1 FROM point WHERE point.entity = entity.id)
    """,
    "aspects": expanding_select(
        "urn, type, aspect",
        """
        SELECT entity.urn, entity.type, aspect.name AS aspect, CAST(aspect.value AS TEXT) AS value
        FROM aspect JOIN entity ON entity.id = aspect.entity
        """,
    ),
    "points": f"""
        SELECT entity.urn, entity.type, point.aspect, {_time_sql("point.time")} AS time, CAST(point.value AS TEXT) AS value
        FROM point JOIN entity ON entity.id = point.entity
    """,
    "runs": f"""
        SELECT urn, {_field_sql("properties", "name")} AS name,
            {_field_sql("relationships", "parentTemplate")} AS job,
            {_field_sql("relationships", "parentInstance")} AS parent,
            coalesce({_field_sql("latest", "result.type")}, {_field_sql("latest", "status")}) AS status,
            {_time_sql(_field_sql("properties", "created.time"))} AS started,
            CASE {_field_sql("latest", "status")} WHEN 'COMPLETE' THEN {_time_sql("latest.time")} END AS ended,
            {_field_sql("latest", "durationMillis")} AS duration_millis,
            {_field_sql("latest", "attempt")} AS attempt
        FROM entity
        {_aspect_join("dataProcessInstanceProperties", "properties")}
        {_aspect_join("dataProcessInstanceRelationships", "relationships")}
        JOIN point latest ON latest.rowid = (
            SELECT rowid FROM point WHERE point.entity = entity.id AND point.aspect = 'dataProcessInstanceRunEvent'
            ORDER BY time DESC, document DESC LIMIT 1
        )
        WHERE entity.type = 'dataProcessInstance'
    """,
    "checks": f"""
        SELECT urn,
            (SELECT target.urn FROM relationship JOIN entity target ON target.id = relationship.target
                WHERE relationship.source = entity.id AND relationship.aspect = 'assertionInfo'
                    AND target.type = 'dataset' ORDER BY 1 LIMIT 1) AS dataset,
            {_field_sql("info", "type")} AS type,
            {_field_sql("info", "description")} AS description,
            {_field_sql("latest", "result.type")} AS result,
            {_time_sql("latest.time")} AS time,
            {_field_sql("latest", "runId")} AS run_id,
            coalesce({_field_sql("status", "removed")}, 0) AS removed
        FROM entity
        JOIN aspect info ON info.entity = entity.id AND info.name = 'assertionInfo'
        {_aspect_join("status", "status")}
        LEFT JOIN point latest ON latest.rowid = (
            SELECT rowid FROM point WHERE point.entity = entity.id AND point.aspect = 'assertionRunEvent'
            ORDER BY time DESC, document DESC LIMIT 1
        )
        WHERE entity.type = 'assertion'
    """,
    "edges": """
        SELECT CASE lineage WHEN 1 THEN target.urn ELSE source.urn END AS upstream,
            CASE lineage WHEN 1 THEN source.urn ELSE target.urn END AS downstream,
            'entity' AS level, source.urn AS stated_by, relationship.aspect, NULL AS operation
        FROM relationship
        JOIN entity source ON source.id = relationship.source JOIN entity target ON target.id = relationship.target
        WHERE lineage <> 0
        UNION ALL
        SELECT upstream.urn, downstream.urn, 'column', owner.urn, column_edge.aspect, nullif(column_edge.operation, '')
        FROM column_edge
        JOIN entity upstream ON upstream.id = column_edge.upstream
        JOIN entity downstream ON downstream.id = column_edge.downstream
        JOIN entity owner ON owner.id = column_edge.owner
    """,
}
"""Name of a view -> its SELECT."""

CREATE_VIEWS = ";".join(f"CREATE VIEW {name} AS {select.strip()}" for name, select in VIEWS.items())
"""The statements that create all views."""

DROP_VIEWS = ";".join(f"DROP VIEW {name}" for name in VIEWS)
"""The statements that drop all views."""
