"""An action for checkpoints of Great Expectations 1.x, which needs ``pip install great-expectations``.

>>> Checkpoint(                                                                            # doctest: +SKIP
...     name="nightly",
...     validation_definitions=[…],
...     actions=[DataHubAction(name="datahub", sink="catalog:shop.db", datasets={"orders": "postgres://db:5432/shop.public.orders"})],
... )

A saved checkpoint is loaded where this module was imported; elsewhere Great Expectations knows ``no action of type dh_bridge``.

The action that OpenLineage ships cannot be saved by Great Expectations 1.x and sends nothing.
"""

from __future__ import annotations

from typing import Any, Dict, Literal, Optional  # noqa: UP035 - Great Expectations reads the annotations with pydantic 1

# The package is optional: where it is missing, its class is unknown to the type checker.
from great_expectations.checkpoint import (  # type: ignore[import-not-found, attr-defined, unused-ignore]
    ActionContext,
    CheckpointResult,
    ValidationAction,
)

from dh_bridge.sdk.checkpoints import report_checkpoint
from dh_bridge.sdk.pipeline import Pipeline


class DataHubAction(ValidationAction):  # type: ignore[misc, unused-ignore]
    """Writes each expectation and its result, as :func:`~dh_bridge.sdk.checkpoints.report_checkpoint` does.

    ``sink`` is a target (``catalog:FILE``, ``file:PATH`` …), ``datasets`` has the dataset of each data asset, ``settings`` are
    a mapping by their keys, as :class:`dh_bridge.Bridge` takes them. An expectation that cannot be written, such as one of an
    asset that ``datasets`` does not name, is an error of the checkpoint's run, or a warning with ``on_error="warn"``.
    """

    type: Literal["dh_bridge"] = "dh_bridge"
    sink: str
    datasets: Dict[str, str]  # noqa: UP006 - as above
    settings: Dict[str, Any] = {}  # noqa: UP006, RUF012 - as above; pydantic copies defaults
    on_error: Literal["raise", "warn"] = "raise"

    def run(
        self,
        checkpoint_result: CheckpointResult,
        action_context: Optional[ActionContext] = None,  # noqa: ARG002, UP045 - Great Expectations' own signature
    ) -> Dict[str, Any]:  # noqa: UP006 - as above
        """Write the results; return the number of expectations."""
        with Pipeline(self.settings, sink=self.sink, on_error=self.on_error) as pipeline:
            return {"reported": report_checkpoint(pipeline, checkpoint_result, self.datasets)}
