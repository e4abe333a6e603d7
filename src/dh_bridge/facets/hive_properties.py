"""hive_properties (run): properties of the Hive session (OpenLineage integration/hive)."""

from __future__ import annotations

from dh_bridge.facet_support.generic import map_facet

hive_properties = map_facet("hive_properties", doc="Session properties as one redacted JSON.", producer="Hive")
