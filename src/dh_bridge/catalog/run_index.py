# ruff: noqa: S608 - the statements are made of constants
"""The tables that list runs by time: what they contain, and the triggers that keep them up to date.

``run_summary`` has a row for each run with a run event. ``run_link`` has a row for each run and each entity that the run belongs to:
its job or flow, its parent run, the datasets that it reads and writes. Triggers see all writers of ``point`` and ``relationship``.
"""

from __future__ import annotations

import re

RUN_TYPE = "dataProcessInstance"
RUN_EVENT = "dataProcessInstanceRunEvent"
_LINK_NAMES = "('InstanceOf', 'ChildOf', 'Consumes', 'Produces')"
RUN_ASPECTS = ("dataProcessInstanceRelationships", "dataProcessInstanceInput", "dataProcessInstanceOutput")
"""The aspects whose relationships link a run to its job, parent and datasets."""


def _is_link(row: str) -> str:
    return f"{row}.name IN {_LINK_NAMES} AND {row}.aspect IN {RUN_ASPECTS}"


def _is_failed(row: str) -> str:
    return f"coalesce(json_extract(CAST({row}.value AS TEXT), '$.result.type') = 'FAILURE', 0)"


CREATE_RUN_TABLES = """
    CREATE TABLE run_summary (
        run INTEGER PRIMARY KEY REFERENCES entity, time INTEGER NOT NULL, document BLOB NOT NULL, -- of its latest run event
        failed INTEGER NOT NULL -- 1 if the result of this event is FAILURE
    );
    CREATE INDEX run_summary_time ON run_summary (time);
    CREATE INDEX run_summary_failed ON run_summary (time) WHERE failed;
    CREATE TABLE run_link (
        entity INTEGER NOT NULL REFERENCES entity, time INTEGER NOT NULL, run INTEGER NOT NULL, failed INTEGER NOT NULL,
        PRIMARY KEY (entity, time, run)
    ) WITHOUT ROWID;
    CREATE INDEX run_link_failed ON run_link (entity, time, run) WHERE failed;
    """
"""The statements that create the tables; ``time`` is in milliseconds since 1970."""

FILL_RUN_TABLES = f"""
    INSERT INTO run_summary (run, time, document, failed)
        SELECT entity, time, document, failed FROM (
            SELECT point.entity, point.time, point.document, {_is_failed("point")} AS failed,
                row_number() OVER (PARTITION BY point.entity ORDER BY point.time DESC, point.document DESC) AS position
            FROM point WHERE point.aspect = '{RUN_EVENT}'
        ) WHERE position = 1;
    INSERT OR IGNORE INTO run_link (entity, time, run, failed)
        SELECT relationship.target, run_summary.time, run_summary.run, run_summary.failed
        FROM run_summary JOIN relationship ON relationship.source = run_summary.run AND {_is_link("relationship")};
    """
"""The statements that fill the tables from those of the points and relationships."""

_UPDATE_SUMMARY = f"""
        INSERT INTO run_summary (run, time, document, failed)
            VALUES (NEW.entity, NEW.time, NEW.document, {_is_failed("NEW")})
            ON CONFLICT (run) DO UPDATE SET time = excluded.time, document = excluded.document, failed = excluded.failed
                WHERE (excluded.time, excluded.document) > (run_summary.time, run_summary.document)
                    OR (excluded.document = run_summary.document AND excluded.failed <> run_summary.failed);
"""
_INSERT_LINKS = f"""
        INSERT INTO run_link (entity, time, run, failed)
            SELECT relationship.target, NEW.time, NEW.run, NEW.failed FROM relationship
            WHERE relationship.source = NEW.run AND {_is_link("relationship")}
            ON CONFLICT DO NOTHING;
"""
_DELETE_LINKS = f"""
        DELETE FROM run_link WHERE time = OLD.time AND run = OLD.run AND entity IN (
            SELECT relationship.target FROM relationship WHERE relationship.source = OLD.run AND {_is_link("relationship")}
        );
"""

CREATE_RUN_TRIGGERS = f"""
    CREATE TRIGGER run_event_inserted AFTER INSERT ON point WHEN NEW.aspect = '{RUN_EVENT}' BEGIN {_UPDATE_SUMMARY} END;
    CREATE TRIGGER run_event_updated AFTER UPDATE ON point WHEN NEW.aspect = '{RUN_EVENT}' BEGIN {_UPDATE_SUMMARY} END;
    CREATE TRIGGER run_event_deleted AFTER DELETE ON point WHEN OLD.aspect = '{RUN_EVENT}' BEGIN
        DELETE FROM run_summary WHERE run = OLD.entity; -- only whole entities are deleted
    END;
    CREATE TRIGGER run_summary_inserted AFTER INSERT ON run_summary BEGIN {_INSERT_LINKS} END;
    CREATE TRIGGER run_summary_updated AFTER UPDATE ON run_summary
        WHEN NEW.time <> OLD.time OR NEW.failed <> OLD.failed BEGIN {_DELETE_LINKS} {_INSERT_LINKS} END;
    CREATE TRIGGER run_summary_deleted AFTER DELETE ON run_summary BEGIN {_DELETE_LINKS} END;
    CREATE TRIGGER run_linked AFTER INSERT ON relationship WHEN {_is_link("NEW")} BEGIN
        INSERT INTO run_link (entity, time, run, failed)
            SELECT NEW.target, time, run, failed FROM run_summary WHERE run = NEW.source ON CONFLICT DO NOTHING;
    END;
    CREATE TRIGGER run_unlinked AFTER DELETE ON relationship WHEN {_is_link("OLD")} BEGIN
        DELETE FROM run_link WHERE entity = OLD.target AND run = OLD.source
            AND time = (SELECT time FROM run_summary WHERE run = OLD.source)
            AND NOT EXISTS (
                SELECT 1 FROM relationship WHERE source = OLD.source AND target = OLD.target AND {_is_link("relationship")}
            );
    END;
    """
"""The statements that create the triggers. In a trigger, OR IGNORE would give way to the conflict clause of the outer statement."""

RUN_TRIGGERS = tuple(re.findall(r"CREATE TRIGGER (\w+)", CREATE_RUN_TRIGGERS))
"""The names of the triggers."""
