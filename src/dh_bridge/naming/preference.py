"""Which of a dataset's names becomes its URN: the table ``mappings/tables/symlinks.yaml``."""

from __future__ import annotations

from typing import Any

import msgspec

from dh_bridge.bundled import convert_document


class SymlinkPreference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file: which systems' names come before those of which others, and what is called below a table but is that table."""

    preferred: frozenset[str]
    over: frozenset[str]
    metadata: frozenset[str]
    versions: tuple[str, ...]


def parse_preference(document: Any, location: str = "") -> SymlinkPreference:
    """Return the table."""
    return convert_document(document, SymlinkPreference, "symlinks", location)
