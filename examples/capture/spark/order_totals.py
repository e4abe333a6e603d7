"""The job that works: join orders with customers, aggregate, write Parquet and a table."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

lake = sys.argv[1]
spark = SparkSession.builder.appName("order_totals").getOrCreate()

orders = spark.read.parquet(f"{lake}/raw/orders")
customers = spark.read.csv(f"{lake}/raw/customers.csv", header=True, inferSchema=True)

totals = (
    orders.where(f.col("status") != "returned")
    .join(customers, "customer_id")
    .groupBy("country", f.to_date("ordered_at").alias("ordered_on"))
    .agg(
        f.count("order_id").alias("orders"),
        f.round(f.sum("amount"), 2).alias("revenue"),
        f.countDistinct(f.sha2("email", 256)).alias("buyers"),
    )
)
totals.write.mode("overwrite").parquet(f"{lake}/order_totals")

spark.sql("create database if not exists marts")
best = spark.read.parquet(f"{lake}/order_totals").groupBy("country").agg(f.sum("revenue").alias("revenue"))
best.write.mode("overwrite").saveAsTable("marts.best_countries")

spark.stop()
