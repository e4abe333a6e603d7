"""Links: pages that only an address of yours makes of the ids in events."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Address = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]+(/\S*)?$")]
Pages = Annotated[str, StringConstraints(pattern=r"^https?://\S*\{id\}\S*$")]


class LinkSettings(BaseModel):
    """Pages of runs and jobs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    queries: dict[str, Pages] = Field(
        default={},
        description="Pages of queries by the `source` of the facet `externalQuery`: URLs with `{id}`, such as"
        " `https://app.snowflake.com/org/account/#/compute/history/queries/{id}`.",
    )
    databricks: Address | None = Field(
        default=None, description="Address of the Databricks workspace, for the pages of runs of its jobs."
    )
    dataproc_region: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9-]+$",
        description="Region of Dataproc, such as `europe-west1`, for the pages of its batches, jobs and sessions in the"
        " console; no event tells it.",
    )
    dbt_repository: Address | None = Field(
        default=None,
        description="Address that the `original_file_path` of a dbt node is appended to, such as"
        " `https://github.com/example/shop/blob/main/`: the page of the node's job.",
    )
