"""The keys of a batch: few ones are a list in the driver, which filters rows without a job of Spark; many ones are broadcast."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

MAX_LISTED_KEYS = 256
"""Keys that a filter lists; more of them are joined."""


class KeySet:
    """Keys of runs.

    Attributes:
        listed: The keys if they are few, else None.
    """

    def __init__(self, frame: DataFrame, listed: Iterable[str] | None = None) -> None:
        """``frame``: its column ``key`` has each key once; ``listed``: the same keys, if the driver has them."""
        self._frame = frame
        keys = None if listed is None else sorted(set(listed))
        self.listed = keys if keys is not None and len(keys) <= MAX_LISTED_KEYS else None

    @property
    def frame(self) -> DataFrame:
        """The keys as rows, each once."""
        return self._frame

    def select(self, rows: DataFrame, column: str = "key") -> DataFrame:
        """Return the rows whose ``column`` is one of the keys."""
        if self.listed is not None:
            return rows.filter(self._is_listed(column))
        return rows.join(self._broadcast(column), column, "left_semi").select(*rows.columns)

    def exclude(self, rows: DataFrame, column: str = "key") -> DataFrame:
        """Return the rows whose ``column`` is none of the keys."""
        if self.listed is not None:
            return rows.filter(~self._is_listed(column))
        return rows.join(self._broadcast(column), column, "left_anti").select(*rows.columns)

    def mark(self, rows: DataFrame, column: str, mark: str) -> DataFrame:
        """Return the rows with a further column ``mark``: whether their ``column`` is one of the keys."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        if self.listed is not None:
            return rows.withColumn(mark, self._is_listed(column))
        keys = self._broadcast(column).withColumn(mark, F.lit(True))  # noqa: FBT003 - Spark's
        return rows.join(keys, column, "left").select(*rows.columns, F.col(mark).isNotNull().alias(mark))

    def _is_listed(self, column: str) -> Column:
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        return F.col(column).isin(self.listed or [])

    def _broadcast(self, column: str) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        return F.broadcast(self._frame.withColumnRenamed("key", column))
