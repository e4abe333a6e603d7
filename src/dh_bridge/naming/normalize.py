"""Normalizes names as DataHub's connectors do: the parts that they remove, and the case that they write.

The shard and decorator rules are those of DataHub's bigquery source (bigquery_audit.py).
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.datahub.urns import MAX_BYTES, dataset_urn
from dh_bridge.naming.names import QuotedPart

if TYPE_CHECKING:
    from collections.abc import Callable

_PARTITION = re.compile(r"(.*?)/[^/=]+=.*", re.DOTALL)
#: As Spark calls a file of a table: its number among the writing tasks, Databricks' id of the transaction, the id of the write.
_PART_FILE = re.compile(r"/part-\d+-(?:tid-\d+-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}[^/]*\Z")
_WILDCARD = re.compile(r"(?:_\d*)?\*\Z")
#: Project ids have no dots and no other signs than the hyphen: https://cloud.google.com/resource-manager/reference/rest/v1/projects
_LEGACY_PROJECT = re.compile(r"\A(`?[a-z][a-z0-9-]*):(?=[^.:]+\.)")
_SNAPSHOT = re.compile(r"(.+)@-?\d{1,13}(?:-(?:-?\d{1,13})?)?", re.DOTALL)
_SHARD = re.compile(r"(?:.+\D[_$]?)?\d{4}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])", re.DOTALL)
_PLAIN = re.compile(r"[A-Z0-9_$]+", re.IGNORECASE)
_UNESCAPED_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-*_ ")


def strip_partitions(path: str) -> str:
    """Return ``path`` up to the first folder ``key=value``, or to a file of Spark's: the table that they belong to."""
    if "=" in path and (match := _PARTITION.fullmatch(path)):
        return match[1]
    return _PART_FILE.sub("", path) if "/part-" in path else path


def truncate_path(path: str, depth: int) -> str:
    """Return the first ``depth`` segments of ``path``."""
    return "/".join(path.split("/")[:depth])


def strip_bigquery_decorator(table: str) -> str:
    """Return ``table`` without its partition (``$20240101``) or snapshot (``@1624046611000``)."""
    match = _SNAPSHOT.fullmatch(table) if "@" in table else None
    return (match[1] if match else table).split("$", 1)[0]


def join_legacy_project(name: str) -> str:
    """Return a name of BigQuery with a dot behind its project: ``shop:raw.orders`` of legacy SQL is ``shop.raw.orders``.

    The colon of a project in a domain stays: ``example.com:shop.raw.orders``.
    """
    return _LEGACY_PROJECT.sub(r"\1.", name, count=1)


def strip_bigquery_shard(table: str, dataset: str) -> str:
    """Return ``table`` without its date (``_20240131``) or wildcard; a table that is nothing else is named as its dataset."""
    table = _WILDCARD.sub("", table)
    if _SHARD.fullmatch(table):
        table = table[:-8].rstrip("_")
    return table or dataset


def partition_folders(cut_path: str) -> str:
    """Return the folders of ``cut_path``, which was cut off a path, without the file in them: `dt=2026-11-01`, `2026/11/01`."""
    segments = [segment for segment in cut_path.split("/") if segment]
    while segments and "=" not in segments[-1] and ("." in segments[-1] or segments[-1].startswith("part-")):
        segments.pop()
    return "/".join(segments)


def bigquery_part(table: str, name: str) -> str:
    """Return the partition (`20261101` of `orders$20261101`) or the shard of a ``table`` that DataHub calls ``name``."""
    table, _, partition = table.partition("$")
    if partition:
        return partition
    shard = table.removeprefix(name).lstrip("_$")
    return shard if shard.isdigit() and table != name else ""


class NeedsQuotes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Matches an upper-case name that is no plain identifier of an SQLAlchemy dialect, so its case is preserved."""

    first: str
    words: frozenset[str]

    def __reduce__(self) -> tuple[Any, ...]:
        # names travel with states: in one order, so that the same name is the same bytes in every process
        return restored, (self.first, *sorted(self.words))


def restored(first: str, *reserved_words: str) -> NeedsQuotes:
    """Return what names needs quotes, as it was packed with a state."""
    return NeedsQuotes(first, frozenset(reserved_words))


def dialect_case(text: str, needs_quotes: NeedsQuotes) -> str:
    """Return ``text`` as SQLAlchemy's ``normalize_name`` gives it: plain names all in upper case become lower case."""
    lower_text = text.lower()
    if (
        text != text.upper()
        or lower_text == text
        or lower_text in needs_quotes.words
        or text[0] in needs_quotes.first
        or not _PLAIN.fullmatch(text)
    ):
        return text
    return lower_text


def uppercase_unquoted(text: str) -> str:
    """Return ``text`` in upper case, unless it was quoted: DB2 preserves quoted names."""
    return str(text) if isinstance(text, QuotedPart) else text.upper()


def case_function(case: str, needs_quotes: NeedsQuotes | None) -> Callable[[str], str] | None:
    """Return the function for ``keep``, ``lower`` or ``uppercase_unquoted``; None for keep."""
    if case == "lower" and needs_quotes is not None:
        return lambda text: dialect_case(text, needs_quotes)
    return {"lower": str.lower, "upper": uppercase_unquoted}.get(case)


def _encoded_length(text: str) -> int:
    raw = text.encode()
    return len(raw) + 2 * sum(byte not in _UNESCAPED_BYTES for byte in raw)


def fit_dataset_urn(platform: str, name: str, env: str, instance: str | None) -> tuple[str, str]:
    """Return (URN, name): a name that makes the URN too long is cut to its longest prefix + ``--`` + 16 hex of its sha256.

    The limit holds for the URL-encoded URN; the digest is that of the whole name, instance included.
    """
    urn = dataset_urn(platform, name, env, instance)
    if len(urn) * 3 <= MAX_BYTES and urn.isascii():
        return urn, name
    if not name.isascii():
        name = name.encode("utf-8", "replace").decode()
        urn = dataset_urn(platform, name, env, instance)
    if _encoded_length(urn) <= MAX_BYTES:
        return urn, name
    full_name = f"{instance}.{name}" if instance else name
    tail = "--" + hashlib.sha256(full_name.encode()).hexdigest()[:16]
    low, high = 0, len(name)
    while low < high:
        middle = (low + high + 1) // 2
        if _encoded_length(dataset_urn(platform, name[:middle] + tail, env, instance)) <= MAX_BYTES:
            low = middle
        else:
            high = middle - 1
    name = name[:low] + tail
    return dataset_urn(platform, name, env, instance), name
