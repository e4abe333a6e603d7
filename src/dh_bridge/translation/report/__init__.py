"""What became of every leaf of an event, and what a run wrote."""
