"""A function that gives tokens, as users of clouds have one."""

from __future__ import annotations

asked: list[str] = []


def token(config):
    """Return a token and the second at which it ends."""
    asked.append(config)
    return "a-token", 4_000_000_000.0
