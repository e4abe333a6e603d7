"""What holds for the events of dbt alone."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class DbtSettings(BaseModel):
    """dbt: names of nodes, ephemeral models, tags and owners."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    node_identity: Literal["name", "unique_id"] = Field(
        default="name",
        description="What names the job of a dbt node: the job's `name`, or `unique_id` of the facet `dbt_node`, so that"
        " run, build, test and structured logs meet in one job.",
    )
    ephemeral: Literal["skip", "keep"] = Field(
        default="skip",
        description="Ephemeral models, which are no tables: not written (`skip`), or `keep` them as datasets.",
    )
    run_tags: Literal["run", "dataset"] = Field(
        default="run",
        description="Tags and meta of a model, which dbt sends as tags of the run: properties of the `run`, or tags of the"
        " `dataset` that it wrote, too.",
    )
    model_owner: Literal["keep", "owner"] = Field(
        default="keep",
        description="`owner` in the configuration of a model, and in its meta, which dbt sends as a tag (source DBT_META): kept as"
        " other entries are, as a property and as a tag (`keep`), or an `owner` of the model's dataset.",
    )
