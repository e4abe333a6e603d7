"""URNs: builds, parses and checks them.

The arguments of the builders are raw names, which are percent-encoded here.
:func:`is_urn` rejects what DataHub's server rejects: more than 512 bytes when URL-encoded, surrounding white space, U+241F,
parentheses or empty parts where they are not allowed (UrnValidationUtil of datahub-project/datahub), and control characters.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dh_bridge.errors import AspectError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


MAX_BYTES = 512
"""How long the URL-encoded form of a URN may be."""

DATAHUB_ACTOR = "urn:li:corpuser:datahub"
"""The actor of audit stamps if the event has no user."""

_PREFIX = "urn:li:"
_ESCAPES = {",": "%2C", "(": "%28", ")": "%29", "\u241f": "%E2%90%9F"}
_ESCAPED = str.maketrans(_ESCAPES)
# Control characters, line separators, and those that turn the direction of text: a URN is shown on terminals and pages.
_unsafe = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")
# The same without tab and line feed: DataHub's OpenLineage endpoint keeps those of a job's SQL in its URNs.
_unsafe_but_space = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")
# What java.net.URLEncoder leaves as one byte; everything else becomes three.
_UNESCAPED_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-*_ "
_find_delimiters = re.compile(r"[(),]").finditer
_MAX_CACHED_URNS = 32_768

# Entity type -> (number of parts of its key, entity type that the first part must name; "*" = any).
# Types that are not listed are only checked for their shape.
_KEY_SHAPES = {
    "assertion": (1, ""),
    "container": (1, ""),
    "corpGroup": (1, ""),
    "corpuser": (1, ""),
    "dataFlow": (3, ""),
    "dataJob": (2, "dataFlow"),
    "dataPlatform": (1, ""),
    "dataPlatformInstance": (2, "dataPlatform"),
    "dataProcessInstance": (1, ""),
    "dataset": (3, "dataPlatform"),
    "domain": (1, ""),
    "glossaryTerm": (1, ""),
    "query": (1, ""),
    "schemaField": (2, "*"),
    "tag": (1, ""),
}


def encode_part(part: str) -> str:
    """Return one part of a URN: only ``,`` ``(`` ``)`` and U+241F are percent-encoded, as DataHub's SDK does.

    So are control characters and those of bidirectional text, which DataHub's SDK leaves as they are.
    """
    if not part.isprintable():
        part = escape_controls(part)
    # Four searches of a short string are faster than one translate (90 against 500 ns).
    if "," in part or "(" in part or ")" in part or "\u241f" in part:
        return part.translate(_ESCAPED)
    return part


def escape_controls(text: str, *, keep_space: bool = False) -> str:
    """Return a URN, or a part, with its control characters and those of bidirectional text percent-encoded.

    ``keep_space`` leaves tab and line feed as they are.
    """
    if text.isprintable():
        return text
    return (_unsafe_but_space if keep_space else _unsafe).sub(lambda match: quote(match[0]), text)


def decode_part(part: str) -> str:
    """Return the raw text of one part of a URN that :func:`encode_part` wrote."""
    for char, escape in _ESCAPES.items():
        part = part.replace(escape, char)
    return part


def platform_urn(platform: str) -> str:
    """Return ``urn:li:dataPlatform:<platform>``; a platform that is already a URN is returned as it is."""
    return platform if platform.startswith("urn:li:dataPlatform:") else f"urn:li:dataPlatform:{encode_part(platform)}"


def platform_instance_urn(platform: str, instance: str) -> str:
    """Return the URN of one installation of a platform."""
    return f"urn:li:dataPlatformInstance:({platform_urn(platform)},{encode_part(instance)})"


def dataset_urn(platform: str, name: str, env: str, instance: str | None = None) -> str:
    """Return the URN of a dataset; a platform instance becomes the prefix ``<instance>.`` of its name."""
    full = f"{instance}.{name}" if instance else name
    return f"urn:li:dataset:({platform_urn(platform)},{encode_part(full)},{env})"


def data_flow_urn(orchestrator: str, flow_id: str, cluster: str) -> str:
    """Return the URN of a flow."""
    return f"urn:li:dataFlow:({encode_part(orchestrator)},{encode_part(flow_id)},{encode_part(cluster)})"


def data_job_urn(flow_urn: str, job_id: str) -> str:
    """Return the URN of a job of the flow ``flow_urn``."""
    return f"urn:li:dataJob:({flow_urn},{encode_part(job_id)})"


def run_urn(run_id: str) -> str:
    """Return the URN of a run (a dataProcessInstance)."""
    return f"urn:li:dataProcessInstance:{encode_part(run_id)}"


def uuid_run_urn(uuid: str) -> str:
    """Return the URN of a run with a canonical UUID, which is valid without a check: each run is new."""
    urn = f"urn:li:dataProcessInstance:{uuid}"
    _types.add(urn, "dataProcessInstance")
    return urn


def schema_field_urn(dataset_urn: str, path: str) -> str:
    """Return the URN of the field ``path`` of the dataset ``dataset_urn``."""
    urn = f"urn:li:schemaField:({dataset_urn},{encode_part(path)})"
    if path.isidentifier() and path.isascii() and 3 * len(urn) <= MAX_BYTES and _types[dataset_urn] == "dataset":
        # A URN of a known dataset and a plain word is valid without a check: a table may have a hundred columns.
        _types.add(urn, "schemaField")
    return urn


class FieldUrns(dict[str, str]):
    """Column -> URN of the field of one dataset, ``""`` if DataHub would reject it; built at the first use.

    ``path`` returns a column in the spelling of the dataset's system. Plain words that are short enough are not checked: a
    table may have a hundred columns.
    """

    def __init__(self, dataset_urn: str, path: Callable[[str], str] | None = None) -> None:
        self.prefix = f"urn:li:schemaField:({dataset_urn},"
        """The text before the path."""
        self._path = path
        raw = self.prefix.encode("utf-8", "replace")
        used_bytes = len(raw) + 2 * len(raw.translate(None, _UNESCAPED_BYTES)) + 3
        self.max_path_length = MAX_BYTES - used_bytes if _types[dataset_urn] == "dataset" else 0
        """Maximal length of a path that needs no escaping."""

    def __missing__(self, column: str) -> str:
        path = column if self._path is None else self._path(column)
        if path.isidentifier() and path.isascii() and len(path) <= self.max_path_length:
            urn = f"{self.prefix}{path})"
        else:
            urn = f"{self.prefix}{encode_part(path)})"
            urn = urn if _types[urn] else ""
        self[column] = urn
        return urn


def assertion_urn(assertion_id: str) -> str:
    """Return the URN of an assertion."""
    return f"urn:li:assertion:{encode_part(assertion_id)}"


def query_urn(query_id: str) -> str:
    """Return the URN of a query."""
    return f"urn:li:query:{encode_part(query_id)}"


def tag_urn(name: str) -> str:
    """Return the URN of a tag."""
    return f"urn:li:tag:{encode_part(name)}"


def corpuser_urn(name: str) -> str:
    """Return the URN of a user."""
    return f"urn:li:corpuser:{encode_part(name)}"


def corp_group_urn(name: str) -> str:
    """Return the URN of a group."""
    return f"urn:li:corpGroup:{encode_part(name)}"


def container_urn(guid: str) -> str:
    """Return the URN of a container."""
    return f"urn:li:container:{encode_part(guid)}"


def parse_urn(urn: str) -> tuple[str, tuple[str, ...]]:
    """Return (entity type, raw parts of the key), which stay percent-encoded; raise an AspectError if the URN is malformed."""
    kind = _types[urn]
    if not kind:
        shortened = urn if len(urn) <= MAX_BYTES else urn[:MAX_BYTES] + "…"
        raise AspectError(
            f"{shortened!r} is not a URN", remedy="expected urn:li:<type>:<key>, at most 512 bytes URL-encoded"
        )
    return kind, _parts(urn[len(_PREFIX) + len(kind) + 1 :])


def entity_type(urn: str) -> str:
    """Return the entity type of ``urn``; an AspectError when it is malformed."""
    return _types[urn] or parse_urn(urn)[0]


def key_aspect(urn: str) -> str:
    """Return the name of the key aspect, which a server has of every entity that exists; an AspectError as above."""
    kind = entity_type(urn)
    return "corpUserKey" if kind == "corpuser" else f"{kind}Key"


def is_urn(text: str) -> bool:
    """Return whether ``text`` is a URN that DataHub accepts; results are cached (the last 32,768)."""
    return bool(_types[text])


class _UrnTypes(dict[str, str]):
    """URN -> entity type, ``""`` if it is malformed; cleared when it is full."""

    def add(self, urn: str, kind: str) -> None:
        """Remember the type of a URN."""
        if len(self) >= _MAX_CACHED_URNS:
            self.clear()
        self[urn] = kind

    def __missing__(self, urn: str) -> str:
        if len(urn) > MAX_BYTES:  # in characters, hence in bytes too; URNs that are too long are not cached
            return ""
        if len(self) >= _MAX_CACHED_URNS:
            self.clear()
        kind = self[urn] = _check_type(urn)
        return kind


_types = _UrnTypes()
#: URN -> its entity type, ``""`` for other texts
type_if_urn: Callable[[str], str] = _types.__getitem__


def _check_type(urn: str) -> str:
    """Return the entity type of ``urn``, ``""`` when the server would refuse it."""
    if not urn.isprintable() and _unsafe_but_space.search(urn):
        return ""
    # Java's trim cuts every character up to U+0020, Python's strip the white space of Unicode.
    if urn[-1:] <= " " or urn[-1].isspace() or "\u241f" in urn:
        return ""
    if 3 * len(urn) > MAX_BYTES or not urn.isascii():
        try:
            raw = urn.encode()
        except UnicodeEncodeError:
            return ""
        if len(raw) + 2 * len(raw.translate(None, _UNESCAPED_BYTES)) > MAX_BYTES:
            return ""
    return _type_by_shape(urn)


def _type_by_shape(urn: str) -> str:
    """Return the entity type of ``urn`` from its syntax, ``""`` if it is malformed; a nested URN is checked in the same way."""
    if not urn.startswith(_PREFIX):
        return ""
    kind, _, key = urn[len(_PREFIX) :].partition(":")
    count, first = _KEY_SHAPES.get(kind, (0, ""))
    parts = _parts(key)
    if not parts or not (count == len(parts) or (not count and kind.isascii() and kind.isalnum())):
        return ""
    if first:
        nested = _types[parts[0]]
        if nested != first and not (first == "*" and nested):
            return ""
    return kind


def _parts(key: str) -> tuple[str, ...]:
    """Return the parts of a URN's key: one, or those of a tuple ``(a,b)``; none when malformed."""
    if not key.startswith("("):
        return () if not key or "(" in key or ")" in key else (key,)
    inner = key[1:-1]
    first, _, last = inner.rpartition(",")
    # Two short cuts for nearly all tuples: a URN followed by a name (jobs, fields), and flat ones (datasets, flows).
    if first.endswith(")") and last and key.endswith(")") and "(" not in last and ")" not in last and _types[first]:
        return first, last
    flat = key.endswith(")") and "(" not in inner and ")" not in inner
    parts = inner.split(",") if flat else _nested_parts(key)
    return tuple(parts) if len(parts) > 1 and "" not in parts else ()


def _nested_parts(key: str) -> list[str]:
    """Return the parts of a tuple whose parts may be tuples themselves; none when malformed."""
    parts, depth, start, end = [], 0, 1, 0
    for delimiter in _find_delimiters(key):
        end = delimiter.start()
        if delimiter[0] == "(":
            depth += 1
        elif delimiter[0] == ")":
            depth -= 1
            if not depth:
                break
        elif depth == 1:
            parts.append(key[start:end])
            start = end + 1
    parts.append(key[start:end])
    balanced = not depth and end == len(key) - 1
    # Parentheses belong to tuples only, so a part that holds some must be a URN itself.
    return parts if balanced and all("(" not in part or _types[part] for part in parts) else []


# Made once: json.dumps would make an encoder for every call that is not by its defaults.
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def datahub_guid(key: Mapping[str, Any]) -> str:
    """Return the md5, in hex, of the sorted, compact, ASCII JSON of ``key``; entries that are None are left out.

    The result is that of ``datahub.emitter.mcp_builder.datahub_guid``, so ids match those of DataHub's own tools.
    """
    entries = {name: value for name, value in key.items() if value is not None}
    return hashlib.md5(_encode(entries).encode(), usedforsecurity=False).hexdigest()
