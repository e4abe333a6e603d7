# ruff: noqa: S608 - the statements are made of constants
"""The tables of the catalogue: entities, aspects, points in time, relationships and column lineage; and the views of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.catalog.phrases import expand
from dh_bridge.catalog.run_index import CREATE_RUN_TABLES, CREATE_RUN_TRIGGERS, FILL_RUN_TABLES
from dh_bridge.catalog.search_index import CREATE_SEARCH_TABLES, FILL_SEARCH_TABLES
from dh_bridge.catalog.views import CREATE_VIEWS, DROP_VIEWS, VIEWS
from dh_bridge.datahub.profiles import known_profiles, profile
from dh_bridge.datahub.proposal import upsert
from dh_bridge.datahub.validation import validator
from dh_bridge.errors import AspectError

if TYPE_CHECKING:
    import sqlite3

_TABLES = """
    -- URNs are long and are in many rows, so they are numbered once. Ordinary rowid tables: rows are wide, and
    -- arrive in no order, which WITHOUT ROWID tables pay for four times over (measured).
    CREATE TABLE entity (
        id INTEGER PRIMARY KEY, urn TEXT NOT NULL UNIQUE, type TEXT NOT NULL
    );
    CREATE TABLE aspect (
        entity INTEGER NOT NULL REFERENCES entity, name TEXT NOT NULL, value BLOB NOT NULL, UNIQUE (entity, name)
    );
    CREATE TABLE point (
        entity INTEGER NOT NULL REFERENCES entity, aspect TEXT NOT NULL, document BLOB NOT NULL,
        time INTEGER NOT NULL, value BLOB NOT NULL, UNIQUE (entity, aspect, document)
    );
    CREATE TABLE relationship (
        source INTEGER NOT NULL REFERENCES entity, aspect TEXT NOT NULL, name TEXT NOT NULL,
        target INTEGER NOT NULL REFERENCES entity,
        lineage INTEGER NOT NULL, -- 1: the target is upstream, -1: it is downstream, 0: no lineage
        UNIQUE (source, aspect, name, target)
    );
    CREATE INDEX relationship_target ON relationship (target);
    CREATE TABLE column_edge (
        owner INTEGER NOT NULL REFERENCES entity, aspect TEXT NOT NULL,
        downstream INTEGER NOT NULL REFERENCES entity, upstream INTEGER NOT NULL REFERENCES entity,
        operation TEXT NOT NULL, UNIQUE (owner, aspect, downstream, upstream, operation)
    );
    CREATE INDEX column_edge_downstream ON column_edge (downstream);
    CREATE INDEX column_edge_upstream ON column_edge (upstream);
    """

_INDEXES = f"""
    {DROP_VIEWS};
    -- Points of an entity by time: a dataset has an operation for each run that writes it.
    ALTER TABLE point RENAME TO point_by_document;
    CREATE TABLE point (
        entity INTEGER NOT NULL REFERENCES entity, aspect TEXT NOT NULL, document BLOB NOT NULL,
        time INTEGER NOT NULL, value BLOB NOT NULL, UNIQUE (entity, aspect, time, document)
    );
    INSERT INTO point (entity, aspect, document, time, value)
        SELECT entity, aspect, document, time, value FROM point_by_document;
    DROP TABLE point_by_document;
    CREATE INDEX point_check_result ON point (time) WHERE aspect = 'assertionRunEvent';
    -- The entities that refer to an entity, lineage apart from the rest: all runs of a dataset refer to it.
    DROP INDEX relationship_target;
    CREATE INDEX relationship_target ON relationship (target, lineage, name, source);
    {CREATE_RUN_TABLES} {FILL_RUN_TABLES} {CREATE_RUN_TRIGGERS} {CREATE_SEARCH_TABLES} {FILL_SEARCH_TABLES} {CREATE_VIEWS};
    """

MIGRATIONS = {
    11: _TABLES + CREATE_VIEWS,
    12: _INDEXES,
    13: f"DROP VIEW aspects; CREATE VIEW aspects AS {VIEWS['aspects']}",
}
"""Version of the file -> the statements that lead to it from the version before (:mod:`dh_bridge.storage.migrations`)."""


def find_fault(connection: sqlite3.Connection) -> str | None:
    """Return the first aspect that does not match DataHub's schemas; None if all match."""
    find_problem = validator(profile(known_profiles()[-1])).refusal_text
    rows = connection.execute(
        "SELECT urn, type, name, value FROM aspect JOIN entity ON entity.id = entity"
        " UNION ALL SELECT urn, type, aspect, value FROM point JOIN entity ON entity.id = entity"
    )
    for urn, type_name, name, value in rows:
        try:
            is_invalid = find_problem(upsert(type_name, urn, name, msgspec.json.decode(expand(value)))) is not None
        except (msgspec.DecodeError, AspectError, AttributeError, LookupError, TypeError, ValueError, RecursionError):
            is_invalid = True
        if is_invalid:
            return f"the aspect {name} of {urn} is not valid"
    return None
