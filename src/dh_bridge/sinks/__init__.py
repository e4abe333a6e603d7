"""Where proposals go: each module is a sink; it knows proposals, and nothing of OpenLineage."""
