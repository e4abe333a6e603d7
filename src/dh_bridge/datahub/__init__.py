"""The output side: DataHub's URNs, proposals, version profiles and the checks of its schemas. It is independent of OpenLineage."""
