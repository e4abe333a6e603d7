"""The ledger: the file that keeps what was said of each run, and what was sent (state mode *ledger*)."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class LedgerSettings(BaseModel):
    """How the ledger works; without a file only `catalog:` has one, its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Path | None = Field(
        default=None, description="SQLite file of the ledger for targets other than `catalog:`, which is its own."
    )
    batch: int = Field(
        default=5000,
        ge=1,
        description="Events that are folded in one transaction, 64 MiB of them at most; more send less, for what changes with"
        " every run is sent once a batch, and need more memory.",
    )
    refresh_days: int = Field(
        default=7, ge=1, description="Age at which an unchanged aspect of an entity that is told of is sent again."
    )
    retention_days: int = Field(
        default=30,
        ge=1,
        description="Age at which a run that has ended is let go: what it said of jobs and datasets stays, later events of it"
        " are handled as those of a run of which nothing else is known.",
    )
    open_days: int = Field(
        default=90,
        ge=1,
        description="Age at which a run that has not ended is let go as well, since its end seems to be lost: counted from when"
        " it was last told of, by itself (a stream by its RUNNING) or by a run that names it, as those below it do.",
    )
    max_runs: int = Field(
        default=200_000,
        ge=1,
        description="Runs that are remembered, at most; those that were told of longest ago go first, ended ones before open"
        " ones.",
    )
    implied_parents: bool = Field(
        default=True, description="Write a parent that only its children name: run, template, job or flow."
    )
    outbox_limit: int = Field(
        default=1_000_000,
        ge=1,
        description="Proposals that may wait for a server or be given up, about 1 KB each; then no more events are taken.",
    )
