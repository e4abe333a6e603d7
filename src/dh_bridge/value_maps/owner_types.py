"""Owner names and types as producers write them -> DataHub's owners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dh_bridge.bundled import convert_document
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
_DEFAULT_TYPE: OwnershipType = "TECHNICAL_OWNER"


class OwnerTypeRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words for a type of owner."""

    type: OwnershipType
    words: list[str]


class OwnerTypesDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file ``mappings/tables/owner_types.yaml``."""

    types: list[OwnerTypeRow]


class OwnerTypes:
    """The table, ready for look-ups: ``types(word)``."""

    def __init__(self, document: Any, location: str = "") -> None:
        rows = convert_document(document, OwnerTypesDocument, "owner_types", location)
        self._types: dict[str, str] = {word.lower(): row.type for row in rows.types for word in row.words}

    def __call__(self, word: str | None) -> tuple[str, bool]:
        """Return (DataHub's ownership type, whether the word was known); unknown words are TECHNICAL_OWNER."""
        if not word:
            return _DEFAULT_TYPE, True
        ownership_type = self._types.get(word.strip().lower())
        return (ownership_type, True) if ownership_type else (_DEFAULT_TYPE, False)


def owner_urn(name: str | None, *, skip: frozenset[str], domain: str = "keep") -> str | None:
    """Return the URN of an owner (``domain``: see :func:`apply_domain`), None for a placeholder (``skip``: lower-case words, masked and empty names) or a name too long."""
    text = (name or "").strip()
    if text.startswith("urn:li:corp"):
        return text if is_urn(text) else None
    kind, colon, identifier = text.partition(":")
    kind = kind.strip().lower()
    if colon and kind in (*_GROUPS, *_USERS):
        text = identifier.strip()
    if not text or text.lower() in skip or set(text) == {"*"}:
        return None
    is_group = colon and kind in _GROUPS
    if colon and kind in _SERVICES and domain != "strip":  # no person: it has no e-mail address
        domain = "keep"
    urn = corp_group_urn(text) if is_group else corpuser_urn(apply_domain(text, domain))
    return urn if is_urn(urn) else None


def untyped_owner(name: Any, settings: OwnerSettings) -> tuple[str, str] | None:
    """Return (owner, type) of a name that comes without a type, None for a placeholder or what is no name."""
    skip = frozenset(placeholder.lower() for placeholder in settings.skip)
    urn = owner_urn(name if isinstance(name, str) else None, skip=skip, domain=settings.email_domain)
    return None if urn is None else (urn, _DEFAULT_TYPE)


def apply_domain(name: str, domain: str) -> str:
    """Return the name of a user as ``owners.email_domain`` has it: `keep`, `strip`, or the domain to add."""
    local_part, at_sign, _ = name.partition("@")
    if domain == "keep" or not local_part:
        return name
    if domain == "strip":
        return local_part
    return name if at_sign else name + domain
