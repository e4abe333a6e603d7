"""Assertions: how checks and their results are written to DataHub."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class AssertionSettings(BaseModel):
    """Assertions and their results."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["auto", "dataset", "native"] = Field(
        default="auto",
        description="Type of an assertion: `auto` (CUSTOM for DataHub 1.7 and later, DATASET for earlier versions), always"
        " `dataset`, or `native`: FIELD, VOLUME, FRESHNESS or SQL if the check has one of these types and all required values are"
        " known, such as the column in a schema of the same call (with a ledger: of any call). The URN does not depend on it.",
    )
    identity: Literal["full", "name_only"] = Field(
        default="full",
        description="How the URN of a check without a name is made: from its kind, column, parameters and text (`full`; a changed"
        " threshold creates a new assertion), or from its kind and column only (`name_only`).",
    )
    warn_as: Literal["failure", "success"] = Field(
        default="failure", description="Result of a failed check with the severity `warn` or `info`."
    )
    expire: str = Field(
        default="off",
        pattern=r"^(off|runs:[1-9]\d?|age:[1-9]\d{0,3}d)$",
        description="Soft-delete an assertion that was not evaluated in the last N completed runs of its job (`runs:5`, at most"
        " 99), or in its runs of N days (`age:30d`). A new result restores it. `off`: never. Requires a ledger.",
    )
    multi_dataset: Literal["all", "first", "none"] = Field(
        default="all",
        description="Datasets of a `test` facet whose run has several datasets and whose parameters name none: `all`, the `first`"
        " by URN, or `none` (the test is written to the run only).",
    )
