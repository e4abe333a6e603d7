"""The tables of the ledger: states of runs and shared entities, fingerprints of sent aspects, the outbox, histories of runs."""

from __future__ import annotations

from dh_bridge.ledger.run_candidates import IS_RUN, RUN_TIME

MIGRATIONS = {
    11: """
    -- States of runs and of shared entities, fingerprints of sent aspects, the outbox.
    CREATE TABLE run (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
        state BLOB, -- with its contributions, NULL if it is evicted
        job BLOB, -- hash of the URN of its job
        ended INTEGER, -- time of the last terminal event in microseconds, NULL while it is open
        touched INTEGER NOT NULL -- when it was last written, in milliseconds
    );
    CREATE INDEX run_ended ON run (touched) WHERE state IS NOT NULL AND ended IS NOT NULL;
    CREATE INDEX run_open ON run (touched) WHERE state IS NOT NULL AND ended IS NULL;
    CREATE TABLE shared (
        id INTEGER PRIMARY KEY, urn TEXT NOT NULL UNIQUE,
        base BLOB, -- facts of evicted runs
        registers BLOB NOT NULL
    );
    CREATE TABLE contribution (
        entity INTEGER NOT NULL REFERENCES shared, run INTEGER NOT NULL REFERENCES run, PRIMARY KEY (entity, run)
    ) WITHOUT ROWID;
    CREATE INDEX contribution_run ON contribution (run);
    CREATE TABLE run_token (
        token TEXT NOT NULL, run INTEGER NOT NULL REFERENCES run, PRIMARY KEY (token, run)
    ) WITHOUT ROWID;
    CREATE INDEX run_token_run ON run_token (run);
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
    CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID; -- for example that deliveries pause
    CREATE TABLE run_history (
        run INTEGER NOT NULL REFERENCES run, time INTEGER NOT NULL, -- microseconds
        event BLOB NOT NULL, -- a hash of the event
        entry BLOB NOT NULL, -- the event, and the aspects that its batch sent
        PRIMARY KEY (run, time, event)
    ) WITHOUT ROWID;
    -- New entities, of which a number is admitted each hour. Times of deliveries.
    CREATE TABLE new_entity (
        id INTEGER PRIMARY KEY, urn TEXT NOT NULL UNIQUE,
        admitted INTEGER NOT NULL -- time of admission in milliseconds; 0: held, -1: held and not looked up yet
    );
    CREATE INDEX new_entity_admitted ON new_entity (admitted);
    CREATE TABLE delivery (
        run TEXT PRIMARY KEY, -- the runId of systemMetadata
        first INTEGER NOT NULL, last INTEGER NOT NULL -- times of its batches in milliseconds
    ) WITHOUT ROWID;
    -- Jobs, names and schemas that many states refer to.
    CREATE TABLE state_object (
        id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, value BLOB NOT NULL,
        touched INTEGER NOT NULL -- milliseconds, see dh_bridge.ledger.facts
    );
    CREATE INDEX state_object_touched ON state_object (touched);
    -- Parents of runs.
    CREATE TABLE run_ancestry (
        run INTEGER PRIMARY KEY REFERENCES run,
        parent TEXT, -- URN of its parent, NULL if it inherits nothing
        inheritable TEXT -- attributes that its children inherit
    );
    CREATE INDEX run_ancestry_parent ON run_ancestry (parent);
    -- Each batch deletes old deliveries, and there may be one for each event.
    CREATE INDEX delivery_last ON delivery (last);
    """,
    12: f"""
    -- Lists of runs by time.
    ALTER TABLE run ADD COLUMN may_have_failed INTEGER; -- 0: it has no FAIL or ABORT; NULL: unknown, in older files
    CREATE INDEX run_time ON run ({RUN_TIME}) WHERE {IS_RUN};
    CREATE INDEX run_failed ON run ({RUN_TIME}) WHERE {IS_RUN} AND may_have_failed IS NOT 0;
    """,
    13: """
    -- Dictionaries of compressed values, see dh_bridge.ledger.compression.
    CREATE TABLE dictionary (
        id INTEGER PRIMARY KEY, data BLOB NOT NULL, run_count INTEGER NOT NULL -- runs of the ledger when it was made
    );
    """,
    14: """
    -- Events by producer and day of their arrival, see dh_bridge.ledger.producer_activity.
    CREATE TABLE producer_activity (
        day INTEGER NOT NULL, -- days since 1970 (UTC)
        producer TEXT NOT NULL, events INTEGER NOT NULL,
        last INTEGER NOT NULL, -- when the last of them was processed, in milliseconds
        PRIMARY KEY (day, producer)
    ) WITHOUT ROWID;
    """,
    15: """
    -- Which jobs and datasets name each other, see dh_bridge.ledger.lineage_links.
    CREATE TABLE lineage_link (
        named INTEGER NOT NULL, -- a hash of the URN
        side INTEGER NOT NULL, -- 1: it is upstream of the entity, -1: downstream
        entity INTEGER NOT NULL REFERENCES shared,
        PRIMARY KEY (named, side, entity)
    ) WITHOUT ROWID;
    """,
}
"""Version of the file -> the statements that lead to it from the version before (:mod:`dh_bridge.storage.migrations`)."""

STATE_TABLES = (
    "run",
    "shared",
    "contribution",
    "run_token",
    "run_history",
    "state_object",
    "run_ancestry",
    "lineage_link",
)
"""The tables that follow from events; the others have what was sent, and what waits to be sent."""
LEDGER_TABLES = (
    *STATE_TABLES, "sent", "sent_point", "outbox", "new_entity", "delivery", "note", "dictionary", "producer_activity",
)  # fmt: skip
"""All tables of MIGRATIONS."""


def find_fault(_connection: object) -> None:
    """Return None: states are checked when they are read."""
