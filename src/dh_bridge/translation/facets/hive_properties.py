"""hive_properties (run): properties of the Hive session (OpenLineage integration/hive)."""

from __future__ import annotations

from dh_bridge.translation.generic import kept_facet

hive_properties = kept_facet("hive_properties", at="run", doc="Session properties, redacted.", producer="Hive")
