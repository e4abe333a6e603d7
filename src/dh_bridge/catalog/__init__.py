"""The embedded catalogue: what DataHub would keep, in one SQLite file, and the questions one asks of it."""
