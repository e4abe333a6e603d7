"""How OpenLineage becomes DataHub. Pure: no clock, no network, no environment, no log."""
