"""Runs the recipe of docs/spark.md for Delta and Iceberg tables, under PySpark 3.5, in an environment of its own.

python spark_lake.py RECIPE LANDING HOME: streams LANDING into tables of both formats, whose rows it writes as JSON lines into
HOME/delta.ndjson and HOME/iceberg.ndjson. A batch is broken off after its MERGE and repeated.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dh_bridge import Settings
from dh_bridge import spark as bridge


class BrokenOffError(Exception):
    pass


def main(recipe: str, landing: str, home: Path) -> None:
    session = bridge.session()
    for table_format, database in (("delta", "lake"), ("iceberg", "ice.lake")):
        session.sql(f"CREATE DATABASE IF NOT EXISTS {database}")
        names = {"session": session, "bridge": bridge}
        code = recipe.replace("lake.", f"{database}.").replace("USING delta", f"USING {table_format}")
        exec(compile(code, "docs/spark.md", "exec"), names)  # noqa: S102 - our own page
        merges = []

        def consume(proposals, bad_records, number, merge=names["merge_batch"], merges=merges):
            merge(proposals, bad_records, number)
            merges.append(number)
            if merges == [0, 1]:
                raise BrokenOffError

        for _ in range(2):
            events = bridge.stream_files(session, landing, options={"maxFilesPerTrigger": "1"})
            settings = Settings(datahub_version="1.7")
            streamed = bridge.stream(
                events, checkpoint=str(home / f"state-{table_format}"), settings=settings, partitions=1
            )
            query = streamed.to(consume).start()
            try:
                query.awaitTermination()
            except Exception as error:
                if "BrokenOff" not in str(error):
                    raise
        assert merges == [0, 1, 1], merges
        for table in ("aspects", "points"):  # Iceberg keeps the tables of a session in a cache for 30 seconds
            session.sql(f"REFRESH TABLE {database}.{table}")
        aspects, points = session.table(f"{database}.aspects"), session.table(f"{database}.points")
        runs = bridge.runs(aspects.unionByName(points, allowMissingColumns=True))
        frames = {"aspects": aspects, "points": points, "runs": runs}
        tables = {name: [row.asDict() for row in frame.collect()] for name, frame in frames.items()}
        (home / f"{table_format}.json").write_text(json.dumps(tables, default=str), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
