"""The tables of the ledger: states of runs and of what they share, what was sent, what waits to be sent, histories of runs."""

from __future__ import annotations

MIGRATIONS = {
    10: """
    -- States of runs and of what they share, what was sent, what waits to be sent.
    CREATE TABLE run (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
        state BLOB, -- with what it contributes, NULL when it is evicted
        job BLOB, -- hash of the URN of its job
        ended INTEGER, -- time of the last terminal event in microseconds, NULL while it is open
        touched INTEGER NOT NULL -- when it was last written, in milliseconds
    );
    CREATE INDEX run_ended ON run (touched) WHERE state IS NOT NULL AND ended IS NOT NULL;
    CREATE INDEX run_open ON run (touched) WHERE state IS NOT NULL AND ended IS NULL;
    CREATE TABLE shared (
        id INTEGER PRIMARY KEY, urn TEXT NOT NULL UNIQUE,
        base BLOB, -- what runs that are gone have left
        cells BLOB NOT NULL
    );
    CREATE TABLE touch (
        entity INTEGER NOT NULL REFERENCES shared, run INTEGER NOT NULL REFERENCES run, PRIMARY KEY (entity, run)
    ) WITHOUT ROWID;
    CREATE INDEX touch_run ON touch (run);
    CREATE TABLE kin (
        token TEXT NOT NULL, run INTEGER NOT NULL REFERENCES run, PRIMARY KEY (token, run)
    ) WITHOUT ROWID;
    CREATE INDEX kin_run ON kin (run);
    CREATE TABLE sent (urn TEXT PRIMARY KEY, aspects BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE sent_point (
        key BLOB PRIMARY KEY, hash BLOB NOT NULL, time INTEGER NOT NULL -- when it was sent, in milliseconds
    ) WITHOUT ROWID;
    CREATE INDEX sent_point_time ON sent_point (time);
    CREATE TABLE outbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT, urn TEXT NOT NULL, aspect TEXT NOT NULL, proposal BLOB NOT NULL,
        since INTEGER NOT NULL, -- milliseconds
        tries INTEGER NOT NULL DEFAULT 0, reason TEXT, dead INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX outbox_aspect ON outbox (urn, aspect);
    CREATE INDEX outbox_dead ON outbox (dead);
    CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID; -- such as that deliveries pause
    CREATE TABLE story (
        run INTEGER NOT NULL REFERENCES run, time INTEGER NOT NULL, -- microseconds
        event BLOB NOT NULL, -- a hash of the event
        told BLOB NOT NULL, -- what the event was, and what its batch sent
        PRIMARY KEY (run, time, event)
    ) WITHOUT ROWID;
    -- New entities, of which some are let through each hour. Times of deliveries.
    CREATE TABLE newcomer (
        id INTEGER PRIMARY KEY, urn TEXT NOT NULL UNIQUE,
        admitted INTEGER NOT NULL -- when it was let through, in milliseconds, 0: it is held, -1: and nobody has looked for it
    );
    CREATE INDEX newcomer_admitted ON newcomer (admitted);
    CREATE TABLE delivery (
        run TEXT PRIMARY KEY, -- the runId of systemMetadata
        first INTEGER NOT NULL, last INTEGER NOT NULL -- times of its batches in milliseconds
    ) WITHOUT ROWID;
    -- Jobs, names and schemas that many states refer to.
    CREATE TABLE fact (
        id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, value BLOB NOT NULL,
        touched INTEGER NOT NULL -- milliseconds, see dh_bridge.ledger.facts
    );
    CREATE INDEX fact_touched ON fact (touched);
    -- Which run is below which.
    CREATE TABLE heritage (
        run INTEGER PRIMARY KEY REFERENCES run,
        parent TEXT, -- the run above it, NULL where it asks nobody
        handed TEXT -- what those below have from it
    );
    CREATE INDEX heritage_parent ON heritage (parent);
    -- With every batch old deliveries are forgotten, and there may be one for each event.
    CREATE INDEX delivery_last ON delivery (last);
    """,
}
"""Version of the file -> the statements that lead to it from the version before (:mod:`dh_bridge.storage.migrations`)."""


def find_fault(_connection: object) -> None:
    """Return None: states are checked when they are read."""
