"""Spark Connect (Databricks shared clusters and serverless, ``sc://`` servers): a session without access to the JVM.

Batches work there, because the workers do the translation. What needs the JVM is refused by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.errors import SettingsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM_ALTERNATIVE = "run it on a cluster with a classic session, or translate new events in a scheduled batch"


def is_connect(spark: SparkSession) -> bool:
    """Return whether a session is one of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def require_jvm(spark: SparkSession, feature: str, alternative: str) -> None:
    """Refuse what Spark Connect cannot do.

    Args:
        spark: The session.
        feature: What is asked for, as the subject of a sentence.
        alternative: What to do instead.

    Raises:
        SettingsError: The session is one of Spark Connect.
    """
    if is_connect(spark):
        raise SettingsError(
            f"{feature} needs the JVM of the driver, which Spark Connect does not give access to",
            location="Spark Connect",
            remedy=alternative,
        )
