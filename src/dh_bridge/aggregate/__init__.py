"""What a run comes to: its state, what others say of it, and what it contributes to what many runs share."""
