"""The embedded catalogue: one SQLite file with the aspects that DataHub would store, and the queries on it."""
