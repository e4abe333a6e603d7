"""A driver for tests that kill it: streams a landing folder into a target, a file a batch, until there is no more.

python spark_follow.py LANDING TARGET CHECKPOINT
"""

from __future__ import annotations

import sys

from dh_bridge.cli import commands

if __name__ == "__main__":
    landing, target, checkpoint = sys.argv[1:]
    stated = f"spark stream --events {landing} --to {target} --checkpoint {checkpoint} --datahub-version 1.7"
    spark = "--master local[1] --partitions 1 --option maxFilesPerTrigger=1 --conf spark.driver.memory=512m --conf spark.ui.enabled=false"
    java = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    quick = "--conf spark.sql.adaptive.enabled=false --conf spark.sql.codegen.wholeStage=false --conf spark.sql.shuffle.partitions=1"
    commands([*stated.split(), *spark.split(), *quick.split(), "--conf", java])
