"""Golden files: ``NAME.events.json`` and what must become of it, ``NAME.proposals.ndjson``, side by side in a folder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from dh_bridge.bridge import Bridge
from dh_bridge.datahub.proposal import Proposal, ndjson_line
from dh_bridge.errors import SettingsError
from dh_bridge.msgspec_threads import prepared
from dh_bridge.openlineage.read import read_events
from dh_bridge.settings.loading import load
from dh_bridge.testing.matching import operations
from dh_bridge.translation.report.fields import fields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.settings.loading import SettingsLike

EVENTS, PROPOSALS = ".events.json", ".proposals.ndjson"
_WIDTH = 160
_UPDATE = "`dh-bridge golden DIR --update`"
_decode = msgspec.json.Decoder(Proposal).decode
_Shape = dict[tuple[str, ...], Any]


class Case(msgspec.Struct, frozen=True):
    """A golden case: the file of its events (JSON object, array or NDJSON) and that of its proposals."""

    events: Path
    proposals: Path


@prepared
class _Operation(msgspec.Struct):
    """What every operation of a PATCH has."""

    op: str
    path: str


class Result(msgspec.Struct, frozen=True):
    """How a case ended: ``differences`` as lines for people (none: all is as expected); whether its file was written."""

    case: Case
    differences: list[str]
    written: bool = False


def cases(directory: Path | str) -> list[Case]:
    """Return the cases below ``directory``, by path; a SettingsError when there are none: a test of nothing is no test."""
    folder = Path(directory)
    stems = {
        path.with_name(path.name.removesuffix(suffix))
        for suffix in (EVENTS, PROPOSALS)
        for path in folder.rglob(f"?*{suffix}")
    }
    if not stems:
        raise SettingsError(
            "there are no golden cases",
            where=str(folder),
            now=f"put events into NAME{EVENTS}, then write what they come to: {_UPDATE}",
        )
    return [Case(stem.with_name(stem.name + EVENTS), stem.with_name(stem.name + PROPOSALS)) for stem in sorted(stems)]


def compare(case: Case, bridge: Bridge, *, update: bool = False) -> Result:
    """Translate a case and compare; ``update`` writes its proposals instead, when they differ.

    The order of the proposals does not count. Events that cannot be used, and proposals that DataHub's schemas refuse, are
    differences that an update does not take away.
    """
    if not case.events.exists():
        return Result(case, [f"! {case.events.name} is missing: nothing is tested"])
    translation = bridge.translate(read_events([case.events], zone=bridge.zone))
    wrong = [f"! {letter.text}" for letter in translation.dead]
    wrong += [f"! refused: {_title(one.proposal)}: {one.reason}" for one in translation.rejected]
    if not update:
        expected = _read(case.proposals) if case.proposals.exists() else None
        if expected is None:
            return Result(case, [*wrong, f"! {case.proposals.name} is missing: {_UPDATE} writes it"])
        return Result(case, [*wrong, *differences(expected, translation.proposals)])
    if case.proposals.exists() and _same(case.proposals, translation.proposals):
        return Result(case, wrong)
    try:
        case.proposals.write_bytes(b"".join(map(ndjson_line, translation.proposals)))
    except OSError as error:
        raise SettingsError(f"cannot be written: {error.strerror}", where=str(case.proposals)) from error
    return Result(case, wrong, written=True)


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


def differences(expected: list[Proposal], found: list[Proposal]) -> list[str]:
    """Return what differs, as lines: ``-`` expected and missing, ``+`` found and not expected, by proposal and by leaf."""
    before, after = _keyed(expected), _keyed(found)
    lines: list[str] = []
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if old is None or new is None:
            present = new or old
            assert present is not None  # noqa: S101 - the key comes from one of the two
            lines += [f"{'+' if old is None else '-'} {_title(present)}"]
            lines += [f"  {sign} {text}" for sign, text in _changes({}, _shape(present), gone=new is None)]
        elif _text(old.value) != _text(new.value):
            changes = list(_changes(_shape(old), _shape(new))) or [("~", "only the order differs")]
            lines += [f"~ {_title(new)}", *(f"  {sign} {text}" for sign, text in changes)]
    return lines


def _keyed(proposals: list[Proposal]) -> dict[tuple[str, ...], Proposal]:
    """Return the proposals by entity, aspect and change; points of a timeseries also by time and id."""
    seen: Counter[tuple[str, ...]] = Counter()
    found: dict[tuple[str, ...], Proposal] = {}
    for one in proposals:
        point = one.value if isinstance(one.value, dict) else {}
        when = (str(point.get("timestampMillis", "")), str(point.get("messageId", "")))
        key: tuple[str, ...] = (one.entity_urn, one.aspect_name, one.change_type, *when)
        numbered = (*key, str(seen[key]))
        found[numbered] = one
        seen[key] += 1
    return found


def _shape(proposal: Proposal) -> _Shape:
    """Return the leaves by path; of a PATCH, below the path of their operation."""
    if proposal.change_type != "PATCH":
        return {tuple(map(str, path)): field for path, field in fields(proposal.value)}
    return {
        (operation["op"], operation["path"], *map(str, path)): field
        for operation in operations(proposal)
        for path, field in fields(operation.get("value"))
    }


def _changes(before: _Shape, after: _Shape, *, gone: bool = False) -> Iterator[tuple[str, str]]:
    for path in dict.fromkeys((*before, *after)):
        old, new = (_text(side[path]) if path in side else None for side in (before, after))
        if old != new:
            yield from () if old is None else [("-", _leaf(path, old))]
            yield from () if new is None else [("-" if gone else "+", _leaf(path, new))]


def _leaf(path: tuple[str, ...], text: str) -> str:
    return f"{'.'.join(path)}: {text if len(text) <= _WIDTH else text[:_WIDTH] + '…'}"


def _text(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _title(proposal: Proposal) -> str:
    return f"{proposal.change_type} {proposal.aspect_name} of {proposal.entity_urn}"


def _read(path: Path) -> list[Proposal]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise SettingsError(f"cannot be read: {error.strerror}", where=str(path)) from error
    return [_proposal(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]


def _proposal(line: bytes, place: str) -> Proposal:
    try:
        found = _decode(line)
        if found.change_type == "PATCH":
            msgspec.convert(operations(found), list[_Operation])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise SettingsError(f"no proposal: {error}", where=place, now=f"{_UPDATE} writes it anew") from error
    return found


def _same(path: Path, proposals: list[Proposal]) -> bool:
    try:
        return not differences(_read(path), proposals)
    except SettingsError:
        return False
