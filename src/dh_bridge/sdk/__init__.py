"""Runs and checks recorded from Python, for pipelines that send no OpenLineage events.

>>> from dh_bridge.sdk import Pipeline
>>> with Pipeline(sink="catalog:shop.db") as pipeline:                                     # doctest: +SKIP
...     with pipeline.run(("nightly", "shop.load"), ["s3://lake/in"], ["postgres://db:5432/shop.public.orders"]):
...         load()

The same naming tables, identities and validators as for events: a run recorded here and the same run in OpenLineage events are
one entity, and so is a check. What OpenLineage cannot express is supported, too: :class:`Freshness`, :class:`Volume`,
:class:`Sql`, :class:`Field`, :class:`Schema` and :class:`Custom` checks, retries, templates, partitions and batches.
"""

from __future__ import annotations

from dh_bridge.sdk.assertion import Assertion
from dh_bridge.sdk.comparison import Comparison
from dh_bridge.sdk.definitions import Custom, Field, Freshness, Schema, Segment, Sql, Volume
from dh_bridge.sdk.pipeline import Pipeline
from dh_bridge.sdk.run import Run
from dh_bridge.sdk.run_dataset import RunDataset

__all__ = [
    "Assertion",
    "Comparison",
    "Custom",
    "Field",
    "Freshness",
    "Pipeline",
    "Run",
    "RunDataset",
    "Schema",
    "Segment",
    "Sql",
    "Volume",
]
