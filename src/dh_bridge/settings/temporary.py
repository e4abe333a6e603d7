"""Temporary datasets: which datasets are temporary, and how they are written."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from dh_bridge.settings.filters import Patterns


class TemporarySettings(BaseModel):
    """Temporary datasets. They are not written, and lineage skips them.

    The datasets that a temporary dataset was made of become upstreams of the datasets that were made of it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    datasets: Patterns = Field(
        default=(),
        description="Temporary datasets: globs over `name` or `namespace/name`. A pattern that begins with `!` keeps datasets that"
        " another pattern or `temporary.known` calls temporary. The last pattern that matches decides.",
    )
    known: Literal["collapse", "keep"] = Field(
        default="collapse",
        description="Temporary and staging names of known tools, as DataHub's connectors for Snowflake, BigQuery, SQL Server and"
        " ClickHouse leave them out: `__dbt_tmp`, staging of Fivetran, Segment and Stitch, anonymous tables of BigQuery, `#temp`,"
        " `.spark-bigquery-…` folders (`mappings/tables/temporary.yaml`). `collapse` skips them, `keep` writes them as others.",
    )
    dataset_type: Literal["keep", "drop_edges", "collapse"] = Field(
        default="keep",
        description="Datasets with the type TEMPORARY or JOB_OUTPUT in the facet `datasetType`: written as others (`keep`), written"
        " without lineage (`drop_edges`), or not written, with lineage from their inputs to their outputs as with"
        " `temporary.datasets` (`collapse`). If another event has the dataset without this facet, it is written without lineage.",
    )
    in_memory: Literal["skip", "keep"] = Field(
        default="skip",
        description="Datasets in memory: not written (`skip`), or written with the platform `unknown` (`keep`).",
    )
    ephemeral: Literal["skip", "keep"] = Field(
        default="skip",
        description="Ephemeral models of dbt, for which no table exists: `skip` them, or `keep` them as datasets.",
    )

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], bool]]:
        return [
            (re.compile(translate(pattern.removeprefix("!"))), not pattern.startswith("!"))
            for pattern in reversed(self.datasets)
        ]

    def is_listed(self, namespace: str, name: str) -> bool | None:
        """Return whether a pattern calls the dataset temporary (True) or keeps it (False); None if no pattern matches."""
        for pattern, is_temporary in self._patterns:
            if pattern.match(name) or pattern.match(f"{namespace}/{name}"):
                return is_temporary
        return None
