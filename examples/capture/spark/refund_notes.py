"""The job that fails: a note is no number, and ANSI mode says so while the rows are written."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

lake = sys.argv[1]
spark = SparkSession.builder.appName("refund_notes").getOrCreate()

refunds = spark.read.parquet(f"{lake}/raw/orders").select("order_id", f.col("note").cast("int").alias("refund_cents"))
refunds.write.mode("overwrite").parquet(f"{lake}/refunds")

spark.stop()
