"""Owner names and types as producers write them -> DataHub's owners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dh_bridge.bundled import typed
from dh_bridge.datahub.urns import corp_group_urn, corpuser_urn, is_urn

if TYPE_CHECKING:
    from dh_bridge.settings import OwnerSettings

_GROUPS = ("team", "group", "corpgroup")
_SERVICES = ("application", "service")
_USERS = ("user", "corpuser", *_SERVICES)


OwnershipType = Literal[
    "BUSINESS_OWNER", "CONSUMER", "DATAOWNER", "DATA_STEWARD", "DELEGATE", "DEVELOPER", "NONE", "PRODUCER", "STAKEHOLDER",
    "TECHNICAL_OWNER",
]  # fmt: skip
_UNKNOWN: OwnershipType = "TECHNICAL_OWNER"


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words for a type of owner."""

    type: OwnershipType
    words: list[str]


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file ``mappings/tables/owner_types.yaml``."""

    types: list[Row]


class OwnerTypes:
    """The table, ready for look-ups: ``types(word)``."""

    def __init__(self, document: Any, where: str = "") -> None:
        rows = typed(document, Document, "owner_types", where)
        self._types: dict[str, str] = {word.lower(): row.type for row in rows.types for word in row.words}

    def __call__(self, word: str | None) -> tuple[str, bool]:
        """Return (DataHub's ownership type, whether the word was known); unknown words are TECHNICAL_OWNER."""
        if not word:
            return _UNKNOWN, True
        found = self._types.get(word.strip().lower())
        return (found, True) if found else (_UNKNOWN, False)


def owner_urn(name: str | None, *, skip: frozenset[str], domain: str = "keep") -> str | None:
    """Return the URN of an owner (``domain``: see :func:`with_domain`), None for a placeholder (``skip``: lower-case words, masked and empty names) or a name too long."""
    text = (name or "").strip()
    if text.startswith("urn:li:corp"):
        return text if is_urn(text) else None
    kind, colon, rest = text.partition(":")
    kind = kind.strip().lower()
    if colon and kind in (*_GROUPS, *_USERS):
        text = rest.strip()
    if not text or text.lower() in skip or set(text) == {"*"}:
        return None
    group = colon and kind in _GROUPS
    if colon and kind in _SERVICES and domain != "strip":  # no person: it has no e-mail address
        domain = "keep"
    urn = corp_group_urn(text) if group else corpuser_urn(with_domain(text, domain))
    return urn if is_urn(urn) else None


def stated_owner(name: Any, settings: OwnerSettings) -> tuple[str, str] | None:
    """Return (owner, type) of a name that comes without a type, None for a placeholder or what is no name."""
    skip = frozenset(word.lower() for word in settings.skip)
    urn = owner_urn(name if isinstance(name, str) else None, skip=skip, domain=settings.email_domain)
    return None if urn is None else (urn, _UNKNOWN)


def with_domain(name: str, domain: str) -> str:
    """Return the name of a user as ``owners.email_domain`` has it: `keep`, `strip`, or the domain to add."""
    before, at, _ = name.partition("@")
    if domain == "keep" or not before:
        return name
    if domain == "strip":
        return before
    return name if at else name + domain
