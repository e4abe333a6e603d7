"""The facts of one run: its state, what other runs state about it, and what it contributes to shared entities."""
