"""What holds for the events of Spark alone."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class SparkSettings(BaseModel):
    """Spark and Databricks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run_name: Literal["application", "databricks"] = Field(
        default="application",
        description="What names a run on Databricks: the id of the `application`, or that of `databricks`' own job run.",
    )
