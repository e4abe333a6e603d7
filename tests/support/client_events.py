"""Events that openlineage-python sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage.client.event_v2 import Job, Run, RunEvent, RunState

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient


def emit_start(client: OpenLineageClient) -> None:
    """Emit the START of a run, as a producer does."""
    client.emit(
        RunEvent(
            eventType=RunState.START,
            eventTime="2026-11-21T07:13:10Z",
            run=Run("01a1fcf3-ae1a-7325-9ff6-fa80f2885a38"),
            job=Job("shop_prod", "nightly"),
            producer="https://example.com",
        )
    )
