"""The input side: OpenLineage events, parsed leniently and once. It is independent of DataHub."""
