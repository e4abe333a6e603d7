"""What comes in: OpenLineage events, read leniently and once. Knows nothing of DataHub."""
