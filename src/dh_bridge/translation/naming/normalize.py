"""What DataHub's connectors cut off a name, and the case that they write it in.

The shard and decorator rules are those of DataHub's bigquery source (bigquery_audit.py).
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.datahub.urns import MAX_BYTES, dataset_urn
from dh_bridge.translation.naming.names import Quoted

if TYPE_CHECKING:
    from collections.abc import Callable

_PARTITION = re.compile(r"(.*?)/[^/=]+=.*", re.DOTALL)
#: As Spark calls a file of a table: its number among the writing tasks, the id of the write.
_PART = re.compile(r"/part-\d{5,}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}[^/]*\Z")
_WILDCARD = re.compile(r"(?:_\d*)?\*\Z")
_SNAPSHOT = re.compile(r"(.+)@-?\d{1,13}(?:-(?:-?\d{1,13})?)?", re.DOTALL)
_SHARD = re.compile(r"(?:.+\D[_$]?)?\d{4}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])", re.DOTALL)
_PLAIN = re.compile(r"[A-Z0-9_$]+", re.IGNORECASE)
_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-*_ ")


def partition_path(path: str) -> str:
    """Return ``path`` up to the first folder ``key=value``, or to a file of Spark's: the table that they belong to."""
    if "=" in path and (found := _PARTITION.fullmatch(path)):
        return found[1]
    return _PART.sub("", path) if "/part-" in path else path


def path_depth(path: str, depth: int) -> str:
    """Return the first ``depth`` segments of ``path``."""
    return "/".join(path.split("/")[:depth])


def bigquery_decorator(table: str) -> str:
    """Return ``table`` without its partition (``$20240101``) or snapshot (``@1624046611000``)."""
    found = _SNAPSHOT.fullmatch(table) if "@" in table else None
    return (found[1] if found else table).split("$", 1)[0]


def bigquery_shard(table: str, dataset: str) -> str:
    """Return ``table`` without its date (``_20240131``) or wildcard; a table that is nothing else is named as its dataset."""
    table = _WILDCARD.sub("", table)
    if _SHARD.fullmatch(table):
        table = table[:-8].rstrip("_")
    return table or dataset


class NeedsQuotes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When an all-upper name is no plain identifier of an SQLAlchemy dialect, so that its case is kept."""

    first: str
    words: frozenset[str]

    def __reduce__(self) -> tuple[Any, ...]:
        # names travel with states: in one order, so that the same name is the same bytes in every process
        return restored, (self.first, *sorted(self.words))


def restored(first: str, *words: str) -> NeedsQuotes:
    """Return what names needs quotes, as it was packed with a state."""
    return NeedsQuotes(first, frozenset(words))


def dialect_case(text: str, needs: NeedsQuotes) -> str:
    """Return ``text`` as SQLAlchemy's ``normalize_name`` gives it: plain names all in upper case become lower case."""
    low = text.lower()
    if (
        text != text.upper()
        or low == text
        or low in needs.words
        or text[0] in needs.first
        or not _PLAIN.fullmatch(text)
    ):
        return text
    return low


def upper(text: str) -> str:
    """Return ``text`` in upper case, unless it stood in quotes: DB2 keeps those as they are."""
    return str(text) if isinstance(text, Quoted) else text.upper()


def case_of(word: str, needs: NeedsQuotes | None) -> Callable[[str], str] | None:
    """Return the function for ``keep``, ``lower`` or ``upper``; None for keep."""
    if word == "lower" and needs is not None:
        return lambda text: dialect_case(text, needs)
    return {"lower": str.lower, "upper": upper}.get(word)


def _encoded(text: str) -> int:
    raw = text.encode()
    return len(raw) + 2 * sum(byte not in _SAFE for byte in raw)


def fitted(platform: str, name: str, env: str, instance: str | None) -> tuple[str, str]:
    """Return (URN, name): a name that makes the URN too long is cut to its longest prefix + ``--`` + 16 hex of its sha256.

    The limit holds for the URL-encoded URN; the digest is that of the whole name, instance included.
    """
    urn = dataset_urn(platform, name, env, instance)
    if len(urn) * 3 <= MAX_BYTES and urn.isascii():
        return urn, name
    if not name.isascii():
        name = name.encode("utf-8", "replace").decode()
        urn = dataset_urn(platform, name, env, instance)
    if _encoded(urn) <= MAX_BYTES:
        return urn, name
    whole = f"{instance}.{name}" if instance else name
    tail = "--" + hashlib.sha256(whole.encode()).hexdigest()[:16]
    short, long = 0, len(name)
    while short < long:
        middle = (short + long + 1) // 2
        if _encoded(dataset_urn(platform, name[:middle] + tail, env, instance)) <= MAX_BYTES:
            short = middle
        else:
            long = middle - 1
    name = name[:short] + tail
    return dataset_urn(platform, name, env, instance), name
