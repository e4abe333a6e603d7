"""checkpoints (run): checkpoint counts of a Flink job (OpenLineage integration/flink)."""

from __future__ import annotations

from dh_bridge.translation.generic import kept_facet

checkpoints = kept_facet("checkpoints", at="run", doc="Checkpoint counts.", producer="Flink")
