"""What holds for the events of dbt alone (producers.md)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class DbtSettings(BaseModel):
    """dbt: its nodes have two names, one for each way to send events."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    node_identity: Literal["name", "unique_id"] = Field(
        default="name",
        description="What names the job of a dbt node: the job's `name`, or `unique_id` of the facet `dbt_node`, so that"
        " run, build, test and structured logs meet in one job.",
    )
