"""The event log: the folder that stores every accepted event of a ledger."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class LogSettings(BaseModel):
    """The event log of a ledger. It is the folder `LEDGER.log` beside the file of the ledger."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    retention_days: int = Field(
        default=30,
        ge=1,
        description="Days after which processed events are deleted from the log.",
    )
    max_bytes: int = Field(
        default=10 * 1024**3,
        ge=16 * 1024**2,
        description="Maximum size of the log. Processed events are deleted first, the oldest before the others. If events that are"
        " not processed yet reach this size, no more events are accepted.",
    )
