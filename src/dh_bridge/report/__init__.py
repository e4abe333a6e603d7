"""The outcome of each field of an event, and what a run wrote."""
