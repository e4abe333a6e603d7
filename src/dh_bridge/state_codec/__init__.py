"""Stored states: facts as MessagePack with tags, independent of the names of the code."""
