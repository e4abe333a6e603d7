"""Owner names and types as producers write them -> DataHub's owners."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dh_bridge.bundled import table
from dh_bridge.datahub.urns import corp_group_urn, corpuser_urn, is_urn

if TYPE_CHECKING:
    from dh_bridge.settings import OwnerSettings

_GROUPS = ("team", "group", "corpgroup")
_USERS = ("user", "corpuser", "application", "service")


@lru_cache(maxsize=1)
def _types() -> dict[str, str]:
    rows = table("owner_types")
    return {str(word).lower(): str(row["type"]) for row in rows["types"] for word in row["words"]}


def owner_urn(name: str | None, *, skip: frozenset[str], strip_domain: bool = False) -> str | None:
    """Return the URN of an owner, None for a placeholder (``skip``: lower-case words, masked and empty names) or a name too long."""
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
    urn = corp_group_urn(text) if group else corpuser_urn(_user(text, strip_domain=strip_domain))
    return urn if is_urn(urn) else None


def stated_owner(name: Any, settings: OwnerSettings) -> tuple[str, str] | None:
    """Return (owner, type) of a name that comes without a type, None for a placeholder or what is no name."""
    skip = frozenset(word.lower() for word in settings.skip)
    urn = owner_urn(name if isinstance(name, str) else None, skip=skip, strip_domain=settings.strip_email_domain)
    return None if urn is None else (urn, owner_type(None)[0])


def _user(name: str, *, strip_domain: bool) -> str:
    return name.partition("@")[0] if strip_domain and not name.startswith("@") else name


def owner_type(word: str | None) -> tuple[str, bool]:
    """Return (DataHub's ownership type, whether the word was known); unknown words are TECHNICAL_OWNER."""
    if not word:
        return "TECHNICAL_OWNER", True
    found = _types().get(word.strip().lower())
    return (found, True) if found else ("TECHNICAL_OWNER", False)
