"""One SQLite file for a catalogue, a ledger or both: connections, transactions, migrations and damage."""
