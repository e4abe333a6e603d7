"""Spark: settings for events of Spark."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class SparkSettings(BaseModel):
    """Spark and Databricks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run_name: Literal["application", "databricks"] = Field(
        default="application",
        description="Name of a run on Databricks: the id of the Spark `application`, or the id of the `databricks` job run.",
    )
