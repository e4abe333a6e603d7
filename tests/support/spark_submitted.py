"""A job as docs/spark.md submits it: spark-submit --py-files dh_bridge.zip submitted.py EVENTS TARGET"""

from __future__ import annotations

import sys

from dh_bridge import Settings
from dh_bridge import spark as bridge

if __name__ == "__main__":
    events, target = sys.argv[1:]
    session = bridge.session()
    found = bridge.SparkTranslation(bridge.read(session, events), Settings(datahub_version="1.7"), partitions=2)
    bridge.write_folder(found.proposals, target)
    places = session.sparkContext.parallelize([0], 1).map(lambda _: __import__("dh_bridge").__file__).collect()
    print(*places, session.sparkContext.master)  # noqa: T201 - read by the test
    session.stop()
