"""JSON pointers: the paths in patches."""

from __future__ import annotations


def steps(path: str) -> list[str]:
    """Return the unescaped parts of a pointer; none of the empty one, which is the whole document."""
    parts = path.split("/")[1:]
    return [step.replace("~1", "/").replace("~0", "~") for step in parts] if "~" in path else parts
