"""Assertions: how checks and their results become DataHub's."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class AssertionSettings(BaseModel):
    """Assertions and their results."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["auto", "dataset", "native"] = Field(
        default="auto",
        description="Type of an assertion: `auto` (CUSTOM from DataHub 1.7, DATASET below), always `dataset`, or"
        " `native`: FIELD, VOLUME, FRESHNESS or SQL where the check has one of them and all that it needs is known, as the"
        " column in a schema of the same call, with a ledger of any. The URN is the same.",
    )
    identity: Literal["full", "name_only"] = Field(
        default="full",
        description="What tells a check without a name of its own from others of its kind and column: its parameters and"
        " text (a changed threshold is a new assertion), or with `name_only` nothing.",
    )
    warn_as: Literal["failure", "success"] = Field(
        default="failure", description="Result of a check that failed with the severity `warn` or `info`."
    )
    retire: str = Field(
        default="off",
        pattern=r"^(off|runs:[1-9]\d?|age:[1-9]\d{0,3}d)$",
        description="With a ledger, remove a check softly that the runs of its job make no more: after so many runs that ended"
        " (`runs:5`, at most 99) or days of them (`age:30d`); it comes back when a run makes it again. `off`: checks stay.",
    )
    multi_dataset: Literal["all", "first", "none"] = Field(
        default="all",
        description="Datasets that a `test` of a run with several is about when its parameters name none: `all`, the"
        " `first` by URN, or `none` (it stays on the run).",
    )
