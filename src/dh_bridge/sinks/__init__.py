"""Targets of proposals: each module is a sink; it knows proposals, and nothing of OpenLineage."""
