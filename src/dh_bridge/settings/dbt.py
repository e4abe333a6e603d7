"""dbt: settings for events of dbt."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class DbtSettings(BaseModel):
    """dbt: names of nodes, tags and owners."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    node_identity: Literal["name", "unique_id"] = Field(
        default="name",
        description="Name of the job of a dbt node: the `name` of the job in the event, or the `unique_id` of the facet"
        " `dbt_node`. With `unique_id`, run, build, test and structured logs write to one job.",
    )
    statements: Literal["fold", "separate"] = Field(
        default="fold",
        description="SQL statements that dbt runs for a node (`model.shop.orders.sql.1`): parts of the job and of the run of the node"
        " (`fold`), or jobs and runs of their own (`separate`, as far as `identity.granularity` does not merge them).",
    )
    model_metadata: tuple[Literal["tags", "owners"], ...] = Field(
        default=(),
        description="Metadata of a model that is also written to the model's dataset: `tags` (dbt sends tags and meta of a model"
        " as tags of the run), `owners` (`owner` in the configuration and in the meta of a model). By default tags are"
        " properties of the run, and owners are properties.",
    )
