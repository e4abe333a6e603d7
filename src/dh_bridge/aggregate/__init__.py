"""The facts of one run: its state, facts of other runs about it, and its contributions to shared entities."""
