"""What Spark's workers do: Arrow batches in, Arrow batches out, by the loops of :mod:`dh_bridge.replay`. No pyspark here.

Three steps: :class:`Records` finds the events in lines, arrays and files; :class:`FoldRuns` folds records that are sorted by
run; :class:`FoldEntities` folds pieces that are sorted by group. Each travels to the workers with the settings.
"""

from __future__ import annotations

import gc
import io
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from dh_bridge.bridge import Bridge
from dh_bridge.cache import collect_rarely
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.read import events_of, read_events
from dh_bridge.replay.entities import Entities, gather
from dh_bridge.replay.families import Links
from dh_bridge.replay.records import Record, record
from dh_bridge.replay.runs import APART, HELD, Run, Runs, Said
from dh_bridge.session import Counts
from dh_bridge.settings import Settings
from dh_bridge.spark.changes import AFTER, BEFORE, changes
from dh_bridge.spark.files import unpacked_part
from dh_bridge.spark.rows import FOUND, LINK, RECORD, Row, batches, rows_of
from dh_bridge.translation.state_codec import decode_slots, encode_run, encode_slots

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.replay.entities import Piece
    from dh_bridge.translation.closing import Rejected

PROPOSAL, PIECE, TOLD, OPEN, BAD, COUNTS, REJECTED = "proposal", "piece", "told", "open", "bad", "counts", "rejected"
"""The kinds of rows of FOUND."""

_NO_KEY = "bad"
_TOO_LARGE = (
    "larger than Spark hands over whole (1 GiB, or spark.sql.sources.binaryFile.maxLength): send it in smaller files"
)


class Step:
    """A step with its settings, as JSON: small to send, and the key under which a worker keeps what it compiled."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings.model_dump_json(by_alias=True)

    @property
    def bridge(self) -> Bridge:
        """The compiled settings; kept by a worker for all its tasks."""
        return _bridge(self.settings)


@lru_cache(maxsize=4)
def _bridge(settings: str) -> Bridge:
    collect_rarely()
    found = Bridge(Settings.model_validate_json(settings))
    gc.freeze()
    return found


class Records(Step):
    """(place, value, whole) -> RECORD, as :mod:`dh_bridge.spark.sources` gives them."""

    def __call__(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield a row for each event, and for each one that cannot be used."""
        return batches(self._rows(found), RECORD)

    def _rows(self, found: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        bridge = self.bridge
        for place, value, whole in rows_of(found):
            for item in map(bridge.options.masking.item, _items(place or "event", value, bridge, whole=whole)):
                if isinstance(item, DeadLetter):
                    yield _NO_KEY + item.place, 0, item.place, item.raw, item.reason
                else:
                    one = record(item, bridge.options)
                    yield one.key, one.time, one.place, one.raw, None


def _items(place: str, value: bytes | None, bridge: Bridge, *, whole: bool | None) -> Iterator[Any]:
    if value is None:
        yield DeadLetter(place, _TOO_LARGE if whole else "no event: the column is null here", b"")
    elif whole is None:
        yield from _opened(*unpacked_part(value), bridge)
    elif whole:
        for item in read_events(["-"], stdin=io.BytesIO(value), zone=bridge.zone):
            yield _placed(item, place)
    elif value := value.strip():
        yield from events_of(value, place, bridge.zone)


def _placed(item: Event | DeadLetter, path: str) -> Event | DeadLetter:
    """Return what was read as standard input as of ``path``."""
    place = path + item.place.removeprefix("stdin")
    if isinstance(item, DeadLetter):
        return msgspec.structs.replace(item, place=place, reason=item.reason.replace(item.place, place, 1))
    return msgspec.structs.replace(item, place=place)


def _opened(path: str, start: int, end: int, bridge: Bridge) -> Iterator[Any]:
    """Yield the events of a local file, or of the lines that begin in a part of it; their place is ``path@byte``."""
    if not end:
        yield from read_events([path], zone=bridge.zone)
        return
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path as it was named
            if start:
                file.seek(start - 1)
                file.readline()  # the rest of a line that began before
            position = file.tell()
            while position < end and (line := file.readline()):
                if stripped := line.strip():
                    yield from events_of(stripped, f"{path}@{position}", bridge.zone)
                position += len(line)
    except OSError as error:
        yield DeadLetter(f"{path}@{start}", f"cannot be read: {error}", b"")


class FindLinks(Step):
    """RECORD -> LINK: which runs are one only together, where the settings make families."""

    def __call__(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the links of a part."""
        links = Links(self.bridge.options, self.bridge.zone)
        rows = ((key, other) for key, *said in rows_of(found) for other in links.of(Record(key, *said[:3])))
        return batches(rows, LINK)


class FoldRuns(Step):
    """RECORD, sorted by key -> FOUND: proposals of runs, pieces of what they share, what runs say of others, counts.

    What is rejected has, as proposals have, the key of its run, so that it leaves with them where the run is folded again (with
    ``witnesses``; what is rejected then has no key).
    """

    def __init__(self, settings: Settings, witnesses: list[bytes] | None = None, *, held: int = HELD) -> None:
        super().__init__(settings)
        self.witnesses = witnesses
        self.held = held

    def __call__(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all runs of a part."""
        return batches(self._rows(found), FOUND)

    def _rows(self, found: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        bridge = self.bridge
        dead: list[DeadLetter] = []
        runs = Runs(bridge.options, bridge.zone, witnesses=self.witnesses, held=self.held)
        for key, items in runs.translated(_records(found, dead, runs.counts)):
            for item in items:
                yield from _found(item, runs.origin if self.held == APART else None)
            yield from _rejections(runs.rejected, key if self.witnesses is None else "")
            yield from map(_bad, dead)
            dead.clear()
        yield _counted(runs.counts)


def _found(item: Run | Said | Piece | DeadLetter, origin: str | None) -> Iterator[Row]:
    if isinstance(item, Run):
        for proposal in item.proposals:
            yield _proposal(proposal, item.key, item.time // 1000, item.run_id, item.place)
    elif isinstance(item, Said):
        if item.told is not None:
            yield _row(TOLD, item.key, data=encode_run(item.told))
        if item.open:
            yield _row(OPEN, item.key)
    elif isinstance(item, DeadLetter):
        yield _bad(item)
    else:
        group, urn, slots = item
        yield _row(PIECE, group, urn=urn, data=encode_slots(slots), origin=origin)


def counts_of(data: bytes) -> Counts:
    """Return the counts of a row of the kind COUNTS."""
    return _counts.decode(data)


_counts = msgspec.json.Decoder(Counts, dec_hook=lambda kind, value: kind(value))


def _counted(counts: Counts) -> Row:
    return _row(COUNTS, data=msgspec.json.encode(counts))


def _records(found: Iterable[pa.RecordBatch], dead: list[DeadLetter], counts: Counts) -> Iterator[Record]:
    """Yield the records; those that are known to be no events go to ``dead``, and are counted."""
    for key, time, place, raw, reason in rows_of(found):
        if reason is None:
            yield Record(key, time, place, raw)
        else:
            dead.append(DeadLetter(place, reason, raw))
            counts.dead += 1


class FoldEntities(Step):
    """(key, urn, data), sorted by key -> FOUND: proposals of what runs share."""

    def __call__(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all groups of a part."""
        return batches(self._rows(found), FOUND)

    def _rows(self, found: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        entities = Entities(self.bridge.options)
        for _, rows in groupby(rows_of(found), key=itemgetter(0)):
            for proposal in entities.group(gather((urn, decode_slots(data)) for _, urn, data in rows)):
                yield _proposal(proposal, "", None, None, None)
        yield from _rejections(entities.rejected)
        yield _counted(entities.counts)


class ChangeEntities(Step):
    """(key, urn, data, age), sorted by key -> FOUND: what changes of what runs share, from before a batch to after it.

    ``age``: BEFORE, AFTER or BOTH: when the piece counts.
    """

    def __call__(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all groups of a part."""
        return batches(self._rows(found), FOUND)

    def _rows(self, found: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        entities = Entities(self.bridge.options)
        for _, rows in groupby(rows_of(found), key=itemgetter(0)):
            pieces = list(rows)
            before = entities.group(gather((urn, decode_slots(data)) for _, urn, data, age in pieces if age != AFTER))
            entities.rejected.clear()  # told by the batch that brought it
            after = entities.group(gather((urn, decode_slots(data)) for _, urn, data, age in pieces if age != BEFORE))
            for proposal in changes(before, after):
                yield _proposal(proposal, "", None, None, None)
            yield from _rejections(entities.rejected)


# -- rows of FOUND -------------------------------------------------------------------------------------------------------


def _row(
    kind: str, key: str = "", *, urn: str | None = None, data: bytes | None = None, origin: str | None = None
) -> Row:
    return kind, key, None, urn, None, None, None, None, None, origin, data


def _proposal(proposal: Proposal, key: str, time: int | None, run_id: str | None, place: str | None) -> Row:
    return (
        PROPOSAL,
        key,
        proposal.entity_type,
        proposal.entity_urn,
        proposal.aspect_name,
        proposal.change_type,
        orjson.dumps(proposal.value).decode(),
        time,
        run_id or None,
        place,
        None,
    )


def _bad(letter: DeadLetter) -> Row:
    return BAD, "", None, None, None, None, letter.reason, None, None, letter.place, letter.raw


def _rejections(rejected: list[Rejected], key: str = "") -> Iterator[Row]:
    """Yield rows of what is rejected, and forget it."""
    for one in rejected:
        proposal = one.proposal
        yield (
            REJECTED, key, proposal.entity_type, proposal.entity_urn, proposal.aspect_name, proposal.change_type,
            one.reason, None, None, None, None,
        )  # fmt: skip
    rejected.clear()
