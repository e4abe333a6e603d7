"""Targets of proposals: each module is a sink. Sinks are independent of OpenLineage."""
