"""What goes out: DataHub's URNs, proposals, version profiles and the checks of its schemas. Knows nothing of OpenLineage."""
