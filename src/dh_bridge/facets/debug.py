"""debug (run): a dump of settings and packages (Spark listener, Airflow provider)."""

from __future__ import annotations

from dh_bridge.facet_support.generic import bulk_facet

debug = bulk_facet("debug", attach="run", reason="bulk", doc="Withheld; hash and size kept.", producer="Spark, Airflow")
