"""Golden files: ``NAME.events.json`` and the expected ``NAME.proposals.ndjson``, side by side in a folder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from dh_bridge.bridge import Bridge
from dh_bridge.datahub.proposal import Proposal, ndjson_line
from dh_bridge.errors import SettingsError
from dh_bridge.msgspec_threads import prepare_type
from dh_bridge.openlineage.read import read_events
from dh_bridge.report.fields import field_values
from dh_bridge.settings.loading import load
from dh_bridge.testing.matching import operations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.settings.loading import SettingsLike

EVENTS, PROPOSALS = ".events.json", ".proposals.ndjson"
_LINES_OF_EVENTS = ".events.ndjson"
_MAX_VALUE_WIDTH = 160
_UPDATE = "`dh-bridge golden DIR --update`"
_decode = msgspec.json.Decoder(Proposal).decode
_ValuesByPath = dict[tuple[str, ...], Any]


class Case(msgspec.Struct, frozen=True):
    """A golden case: the file of its events (JSON object, array or NDJSON) and that of its proposals."""

    events: Path
    proposals: Path


@prepare_type
class _Operation(msgspec.Struct):
    """What every operation of a PATCH has."""

    op: str
    path: str


class GoldenResult(msgspec.Struct, frozen=True):
    """How a case ended: ``differences`` as lines for people (none: all is as expected); whether its file was written."""

    case: Case
    differences: list[str]
    is_written: bool = False


def cases(directory: Path | str) -> list[Case]:
    """Return the cases below ``directory``, by path; a SettingsError when there are none: a test of nothing is no test."""
    folder = Path(directory)
    stems = {
        path.with_name(path.name.removesuffix(suffix))
        for suffix in (EVENTS, _LINES_OF_EVENTS, PROPOSALS)
        for path in folder.rglob(f"?*{suffix}")
    }
    if not stems:
        raise SettingsError(
            "no golden cases",
            location=str(folder),
            remedy=f"save events as NAME{EVENTS} or NAME{_LINES_OF_EVENTS}, then write the expected proposals with {_UPDATE}",
        )
    return [Case(_events_file(stem), stem.with_name(stem.name + PROPOSALS)) for stem in sorted(stems)]


def _events_file(stem: Path) -> Path:
    """Return ``NAME.events.ndjson`` if only it exists, else ``NAME.events.json``.

    Raises:
        SettingsError: Both exist, so the case is ambiguous.
    """
    document, lines = stem.with_name(stem.name + EVENTS), stem.with_name(stem.name + _LINES_OF_EVENTS)
    if document.exists() and lines.exists():
        raise SettingsError(
            f"{EVENTS} and {_LINES_OF_EVENTS} are both there", location=str(stem), remedy="keep one of the two files"
        )
    return lines if lines.exists() else document


def compare(case: Case, bridge: Bridge, *, update: bool = False) -> GoldenResult:
    """Translate a case and compare; ``update`` writes its proposals instead, when they differ.

    The order of the proposals does not count. Events that cannot be used, and proposals that DataHub's schemas refuse, are
    differences that an update does not take away.
    """
    if not case.events.exists():
        return GoldenResult(case, [f"! {case.events.name} is missing: the case tests nothing"])
    translation = bridge.translate(read_events([case.events], zone=bridge.zone))
    problems = [f"! {letter.text}" for letter in translation.dead]
    problems += [f"! rejected: {_title(rejection.proposal)}: {rejection.reason}" for rejection in translation.rejected]
    if not update:
        expected = _read_proposals(case.proposals) if case.proposals.exists() else None
        if expected is None:
            return GoldenResult(case, [*problems, f"! {case.proposals.name} is missing: {_UPDATE} writes it"])
        return GoldenResult(case, [*problems, *differences(expected, translation.proposals)])
    if case.proposals.exists() and _is_unchanged(case.proposals, translation.proposals):
        return GoldenResult(case, problems)
    try:
        case.proposals.write_bytes(b"".join(map(ndjson_line, translation.proposals)))
    except OSError as error:
        raise SettingsError(f"cannot write the file: {error.strerror}", location=str(case.proposals)) from error
    return GoldenResult(case, problems, is_written=True)


def assert_golden(directory: Path | str, settings: SettingsLike = None, *, update: bool = False) -> None:
    """Compare every case below ``directory``; an AssertionError holds the differences of all, ready to read.

    ``settings`` as of :class:`dh_bridge.Bridge`, but None stands for those that ``dh-bridge`` would find itself
    (``dh_bridge.yml`` in the working folder, and the environment).
    """
    bridge = Bridge(load().settings if settings is None else settings)
    results = [compare(case, bridge, update=update) for case in cases(directory)]
    lines = [
        line for result in results if result.differences for line in (str(result.case.events), *result.differences)
    ]
    if lines:
        raise AssertionError("\n".join(["golden files differ (- expected, + found)", *lines]))


def differences(expected: list[Proposal], actual: list[Proposal]) -> list[str]:
    """Return the differences as lines: ``-`` expected and missing, ``+`` found and not expected, by proposal and by field."""
    before, after = _by_key(expected), _by_key(actual)
    lines: list[str] = []
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if old is None or new is None:
            present = new or old
            assert present is not None  # noqa: S101 - the key comes from one of the two
            lines += [f"{'+' if old is None else '-'} {_title(present)}"]
            lines += [
                f"  {prefix} {text}"
                for prefix, text in _value_changes({}, _values_by_path(present), is_removed=new is None)
            ]
        elif _text(old.value) != _text(new.value):
            changes = list(_value_changes(_values_by_path(old), _values_by_path(new))) or [
                ("~", "only the order differs")
            ]
            lines += [f"~ {_title(new)}", *(f"  {prefix} {text}" for prefix, text in changes)]
    return lines


def _by_key(proposals: list[Proposal]) -> dict[tuple[str, ...], Proposal]:
    """Return the proposals by entity, aspect and change; points of a timeseries also by time and id."""
    counts: Counter[tuple[str, ...]] = Counter()
    proposals_by_key: dict[tuple[str, ...], Proposal] = {}
    for proposal in proposals:
        point = proposal.value if isinstance(proposal.value, dict) else {}
        point_key = (str(point.get("timestampMillis", "")), str(point.get("messageId", "")))
        key: tuple[str, ...] = (proposal.entity_urn, proposal.aspect_name, proposal.change_type, *point_key)
        numbered_key = (*key, str(counts[key]))
        proposals_by_key[numbered_key] = proposal
        counts[key] += 1
    return proposals_by_key


def _values_by_path(proposal: Proposal) -> _ValuesByPath:
    """Return the leaves by path; of a PATCH, below the path of their operation."""
    if proposal.change_type != "PATCH":
        return {tuple(map(str, path)): field for path, field in field_values(proposal.value)}
    return {
        (operation["op"], operation["path"], *map(str, path)): field
        for operation in operations(proposal)
        for path, field in field_values(operation.get("value"))
    }


def _value_changes(
    before: _ValuesByPath, after: _ValuesByPath, *, is_removed: bool = False
) -> Iterator[tuple[str, str]]:
    for path in dict.fromkeys((*before, *after)):
        old, new = (_text(values[path]) if path in values else None for values in (before, after))
        if old != new:
            yield from () if old is None else [("-", _value_line(path, old))]
            yield from () if new is None else [("-" if is_removed else "+", _value_line(path, new))]


def _value_line(path: tuple[str, ...], text: str) -> str:
    return f"{'.'.join(path)}: {text if len(text) <= _MAX_VALUE_WIDTH else text[:_MAX_VALUE_WIDTH] + '…'}"


def _text(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _title(proposal: Proposal) -> str:
    return f"{proposal.change_type} {proposal.aspect_name} of {proposal.entity_urn}"


def _read_proposals(path: Path) -> list[Proposal]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise SettingsError(f"cannot read the file: {error.strerror}", location=str(path)) from error
    return [_parse_proposal(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]


def _parse_proposal(line: bytes, location: str) -> Proposal:
    try:
        proposal = _decode(line)
        if proposal.change_type == "PATCH":
            msgspec.convert(operations(proposal), list[_Operation])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise SettingsError(
            f"not a proposal: {error}", location=location, remedy=f"{_UPDATE} writes the file again"
        ) from error
    return proposal


def _is_unchanged(path: Path, proposals: list[Proposal]) -> bool:
    try:
        return not differences(_read_proposals(path), proposals)
    except SettingsError:
        return False
