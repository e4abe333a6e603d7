"""The ledger: the file that stores the state of runs and what was sent."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class LedgerSettings(BaseModel):
    """The ledger. Without a file only `catalog:` targets have one, inside the catalogue."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Path | None = Field(
        default=None, description="SQLite file of the ledger. A `catalog:` target is its own ledger and needs no file."
    )
    batch: int = Field(
        default=5000,
        ge=1,
        description="Events in one transaction, at most 64 MiB of them. A larger batch sends fewer proposals, because aspects that"
        " change with each run are sent once per batch, and needs more memory.",
    )
    retention_days: int = Field(
        default=30,
        ge=1,
        description="Days after which the state of an ended run is deleted; for a run without an end, three times as many since it"
        " was last mentioned. Jobs and datasets are not affected. A later event of the run starts a new state.",
    )
    max_runs: int = Field(
        default=200_000,
        ge=1,
        description="Maximum number of runs with stored state. If there are more, ended runs are deleted first, the least recently"
        " mentioned ones before the others.",
    )
    implied_parents: bool = Field(
        default=True,
        description="Create parent runs, jobs and flows that are known only through their children.",
    )
    outbox_limit: int = Field(
        default=1_000_000,
        ge=1,
        description="Maximum number of proposals, about 1 KB each, that are queued for a server or were rejected. At the limit no"
        " more events are accepted.",
    )
