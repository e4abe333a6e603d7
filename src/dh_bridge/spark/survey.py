"""What a DataFrame of events tells beside its translation: statistics, collisions, near misses, settings to consider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.learning import LIMIT, Learner
from dh_bridge.settings.loading import settings_of
from dh_bridge.spark.report import leaves
from dh_bridge.spark.rows import fetched
from dh_bridge.spark.sightings import COUNTED, NAMED, NEAR, NOTES, CountRuns, FindNear, Learn, NameDatasets
from dh_bridge.spark.translation import ordered, parts_of, records_of
from dh_bridge.translation.packing import unpacked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dh_bridge.settings.loading import SettingsLike

TABLES = ("leaves", "jobs", "datasets", "collisions", "near_misses")
"""What :meth:`Survey.write` writes as JSON, each into a folder of its own."""


class Survey:
    """What events tell; read and sorted by run when the first question is asked, and kept for the others.

    Each question is a DataFrame, computed when it is asked for; :meth:`close` gives the workers' disks back.
    """

    def __init__(
        self,
        events: DataFrame,
        settings: SettingsLike = None,
        *,
        partitions: int | None = None,
        between: tuple[str | None, str | None] = (None, None),
    ) -> None:
        """``events``, ``partitions`` and ``between`` as of :class:`dh_bridge.spark.Translated`."""
        from pyspark import StorageLevel  # noqa: PLC0415 - an optional extra

        self.settings = settings_of(settings)
        self._spark = events.sparkSession
        self._parts = partitions or parts_of(self._spark)
        records = ordered(records_of(events, self.settings, between), self._parts)
        self._records = records.persist(StorageLevel.DISK_ONLY)

    def leaves(self) -> DataFrame:
        """Return what became of the leaves: coverage and loss by facet and producer (see REPORT of ``spark.report``)."""
        return leaves(self._records, self.settings)

    def runs(self) -> DataFrame:
        """Return what each run did and counted (see COUNTED of ``spark.sightings``)."""
        return self._records.mapInArrow(CountRuns(self.settings), COUNTED)

    def jobs(self, *, sums: bool = False) -> DataFrame:
        """Return for each job its runs by result, and the last one; with ``sums``, the milliseconds of all of them.

        ``last``: run, result, ended, duration of the run with the last terminal event; null when none ended.
        """
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        runs = self.runs().filter("direction IS NULL AND job IS NOT NULL")
        last = F.max_by(F.struct("run", "result", "ended", "duration"), F.struct("ended", "run"))
        ends = [
            F.count_if(F.col("result") == word).alias(name)
            for name, word in (("completed", "COMPLETE"), ("failed", "FAIL"), ("aborted", "ABORT"))
        ]
        columns = [F.count("*").alias("runs"), *ends, F.when(F.max("ended").isNotNull(), last).alias("last")]
        if sums:
            columns.append(F.sum("duration").alias("duration"))
        return runs.groupBy("job").agg(*columns).orderBy("job")

    def datasets(self, *, sums: bool = False) -> DataFrame:
        """Return for each job and dataset the rows, bytes and files that the last run counted, or with ``sums`` all runs.

        The last run is, as on DataHub's edges, the one with the last terminal event; others take no part.
        """
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        counted = self.runs().filter("direction IS NOT NULL AND ended IS NOT NULL")
        names = ("row_count", "bytes", "files")
        last = F.max_by(F.struct("run", "ended", *names), F.struct("ended", "run")).alias("last")
        added = [F.sum(name).alias(name) for name in names] if sums else []
        found = counted.groupBy("job", "direction", "dataset").agg(F.count("*").alias("runs"), last, *added)
        told = ["job", "direction", "dataset", "runs", "last.run", "last.ended"]
        return found.select(*told, *(names if sums else (f"last.{name}" for name in names))).orderBy(*told[:3])

    def names(self) -> DataFrame:
        """Return which namespaces and names datasets were named by (see NAMED of ``spark.sightings``)."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        counted = self._records.mapInArrow(NameDatasets(self.settings), NAMED)
        return counted.groupBy("urn", "namespace", "name", "last").agg(F.sum("events").alias("events"))

    def collisions(self) -> DataFrame:
        """Return the URNs that several servers write: two servers need an instance each, one under two names a location.

        Columns: ``urn``, ``namespaces``, ``events``. Spellings of one scheme (``s3a``, ``s3``) are no two servers.
        """
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        server = F.regexp_replace("namespace", "^[^:/]*://", "://")
        found = (
            self.names()
            .groupBy("urn")
            .agg(
                F.sort_array(F.collect_set("namespace")).alias("namespaces"),
                F.count_distinct(server).alias("servers"),
                F.sum("events").alias("events"),
            )
        )
        return found.filter("servers > 1").drop("servers").orderBy(F.desc("events"), "urn")

    def near_misses(self) -> DataFrame:
        """Return pairs of URNs that look like one dataset: case, quotes, environment, instance (see NEAR)."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        named = self.names().groupBy("last", "urn").agg(F.min("namespace").alias("namespace"))
        parts = named.repartition(self._parts, "last").sortWithinPartitions("last", "urn")
        return parts.mapInArrow(FindNear(), NEAR).orderBy("urn", "found")

    def learned(self, *, limit: int = LIMIT) -> Learner:
        """Return what ``dh-bridge learn`` would learn of the events: ``learned().page()`` is its page.

        Each part notes a sample of at most ``limit`` names of a kind; the driver adds them up.
        """
        learner = Learner(self.settings, limit=limit)
        for row in fetched(self._records.mapInArrow(Learn(self.settings, limit), NOTES)):
            learner.take(unpacked(bytes(row.notes)))
        return learner

    def write(self, folder: str, *, sums: bool = False) -> None:
        """Write TABLES as JSON lines, and what was learned as text: a folder each, in place of what was there."""
        for name in TABLES:
            told = getattr(self, name)
            table: DataFrame = told(sums=sums) if name in ("jobs", "datasets") else told()
            table.coalesce(1).write.mode("overwrite").json(f"{folder}/{name}")
        page = self._spark.createDataFrame([(self.learned().page(),)], "value string")
        page.coalesce(1).write.mode("overwrite").text(f"{folder}/settings")

    def close(self) -> None:
        """Forget what was read."""
        self._records.unpersist()
