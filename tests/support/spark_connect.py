"""A program of a user of Spark Connect, which has no access to the JVM: prints what works, and what is refused, as JSON.

python spark_connect.py EVENTS FOLDER [ADDRESS ARCHIVE]: without ADDRESS, the program starts a local server. ARCHIVE: the package, for the workers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from dh_bridge import spark as bridge
from dh_bridge.errors import BridgeError
from dh_bridge.spark import functions

SETTINGS = {"datahub_version": "1.7"}


def refusal(call, *arguments, **options):
    """Return the message of what Spark Connect cannot do."""
    try:
        call(*arguments, **options)
    except BridgeError as error:
        return str(error)
    return "not refused"


def results(events, folder):
    """Return what a batch makes of a file of events."""
    session = bridge.session()
    lines = session.read.text(events)
    with bridge.translate(lines, SETTINGS) as translation:
        counts = translation.counts()
        catalogue = translation.deliver(f"catalog:{folder}/connect.db").delivered_count
        files = translation.deliver(f"parquet:{folder}/proposals").delivered_count
        tables = {name: getattr(translation, name)().count() for name in ("current", "points", "edges", "runs")}
        dead = translation.bad_records.count()
    functions.register(session, SETTINGS)
    urn = session.sql("SELECT dataset_urn('s3://lake', 'raw/orders')").first()[0]
    return {
        "events": counts.events, "proposals": counts.proposals, "dead": dead, "catalogue": catalogue, "files": files,
        "tables": tables, "urn": urn, "whole folder": bridge.deliver(session.read.parquet(f"{folder}/proposals"), f"catalog:{folder}/folder.db").delivered_count,
    }  # fmt: skip


def refusals(events, folder):
    """Return what is refused, by name."""
    session = bridge.session()
    rows = session.readStream.format("rate").load().selectExpr("CAST(value AS STRING) AS value")
    return {
        "read": refusal(bridge.read, session, events),
        "stream_files": refusal(bridge.stream_files, session, folder),
        "stream_rows": refusal(bridge.stream_rows, session, folder, format="text"),
        "stream": refusal(bridge.stream, rows, checkpoint=f"{folder}/state"),
        "kafka stream": refusal(bridge.kafka, session, "localhost:1", "openlineage", stream=True),
    }


if __name__ == "__main__":
    program_events, program_folder, *server = sys.argv[1:]
    address = server[0] if server else "local[2]"
    remote = SparkSession.builder.remote(address).config("spark.sql.shuffle.partitions", "2").getOrCreate()
    for archive in server[1:]:
        remote.addArtifacts(archive, pyfile=True)
    output = {
        "results": results(program_events, program_folder),
        "refusals": refusals(program_events, program_folder),
    }
    Path(program_folder, "output.json").write_text(json.dumps(output))
    remote.stop()
