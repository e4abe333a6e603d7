"""The tables of the ledger: states of runs and of what they share, what was sent, what waits to be sent, histories of runs."""

from __future__ import annotations

MIGRATIONS = {
    # The ledger: states of runs and of what they share, what was sent, what waits to be sent.
    2: """
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
    """,
    # New entities that are let through so many an hour; when which delivery was told.
    3: """
    CREATE TABLE newcomer (
        id INTEGER PRIMARY KEY, urn TEXT NOT NULL UNIQUE,
        admitted INTEGER NOT NULL -- when it was let through, in milliseconds, 0: it is held, -1: and nobody has looked for it
    );
    CREATE INDEX newcomer_admitted ON newcomer (admitted);
    CREATE TABLE delivery (
        run TEXT PRIMARY KEY, -- the runId of systemMetadata
        first INTEGER NOT NULL, last INTEGER NOT NULL -- times of its batches in milliseconds
    ) WITHOUT ROWID;
    """,
    # What many runs say alike, once.
    4: """
    CREATE TABLE fact (
        id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, value BLOB NOT NULL,
        touched INTEGER NOT NULL -- milliseconds, see dh_bridge.ledger.facts
    );
    CREATE INDEX fact_touched ON fact (touched);
    """,
    # What runs read and wrote when; datasets, jobs: hashes of URNs, times: microseconds.
    5: """
    CREATE TABLE handed (
        run INTEGER NOT NULL REFERENCES run, dataset BLOB NOT NULL,
        wrote INTEGER NOT NULL, -- 0: the run read it, at both times
        job BLOB NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, version TEXT,
        PRIMARY KEY (run, dataset, wrote)
    ) WITHOUT ROWID;
    CREATE INDEX handed_dataset ON handed (dataset, wrote, last);
    """,
    # Who is below whom has a table of its own, as it makes nobody kin.
    6: """
    CREATE TABLE heritage (
        run INTEGER PRIMARY KEY REFERENCES run,
        parent TEXT, -- the run above it, NULL where it asks nobody
        handed TEXT -- what those below have from it
    );
    CREATE INDEX heritage_parent ON heritage (parent);
    INSERT INTO heritage
        SELECT run, max(CASE WHEN token LIKE 'under %' THEN substr(token, 7) END),
            max(CASE WHEN token LIKE 'hands down %' THEN substr(token, 12) END)
        FROM kin WHERE token LIKE 'under %' OR token LIKE 'hands down %' GROUP BY run;
    DELETE FROM kin WHERE token LIKE 'under %' OR token LIKE 'hands down %';
    """,
    # With every batch old deliveries are forgotten, and there may be one for each event.
    7: """
    CREATE INDEX delivery_last ON delivery (last);
    """,
    # Who wrote or read a version, and what was being written at a time, is found however often a dataset was.
    8: """
    CREATE INDEX handed_version ON handed (dataset, version, wrote, last) WHERE version IS NOT NULL;
    CREATE INDEX handed_span ON handed (dataset, last) WHERE wrote = 1 AND first < last;
    """,
    # Upstream runs are those that events state; they are not inferred from what runs read and wrote.
    9: """
    DROP TABLE handed;
    """,
}
"""Version of the file -> the statements that lead to it from the version before (:mod:`dh_bridge.storage.migrations`)."""


def find_fault(_connection: object) -> None:
    """Return None: states are checked when they are read."""
