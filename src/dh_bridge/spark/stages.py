"""The tasks of Spark's workers: Arrow batches in, Arrow batches out, with the loops of :mod:`dh_bridge.partitioned`.

No pyspark here.

Three steps: :class:`RecordStep` finds the events in lines, arrays and files; :class:`RunStep` merges records that are sorted by
run; :class:`EntityStep` merges pieces that are sorted by group. Each is sent to the workers with the settings.
"""

from __future__ import annotations

import gc
import io
import sys
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from zipimport import zipimporter

import msgspec

from dh_bridge.bridge import Bridge
from dh_bridge.cache import relax_garbage_collection
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.read import events_of, read_events
from dh_bridge.partitioned.entities import GroupRenderer, merge_pieces
from dh_bridge.partitioned.families import RunLinks
from dh_bridge.partitioned.records import EventRecord, to_record
from dh_bridge.partitioned.runs import (
    MAX_HELD_ENTITIES,
    PIECES_BY_RUN,
    CrossRunFacts,
    PartitionTranslator,
    TranslatedRun,
)
from dh_bridge.session import Counts
from dh_bridge.settings import Settings
from dh_bridge.spark.changes import AFTER, BEFORE, diff_proposals
from dh_bridge.spark.damaged_files import UNREADABLE_MARK
from dh_bridge.spark.files import decode_part
from dh_bridge.spark.proposal_packs import PackBuilder
from dh_bridge.spark.rows import LINK, RECORD, STEP_OUTPUT, Row, rows_of, to_record_batches
from dh_bridge.state_codec.codec import decode_registers, encode_registers, encode_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from dh_bridge.closing import RejectedProposal
    from dh_bridge.model.fold import FactsByEntity
    from dh_bridge.partitioned.entities import Piece

PROPOSAL_PACK, PIECE, CROSS_RUN, UNRESOLVED, DEAD_LETTER, COUNTS, REJECTED = (
    "pack",
    "piece",
    "told",
    "open",
    "bad",
    "counts",
    "rejected",
)
"""The kinds of rows of STEP_OUTPUT; PROPOSAL_PACK: see proposal_packs.py."""

_DEAD_LETTER_KEY = "bad"
_TOO_LARGE_REASON = "the file is larger than Spark can read (1 GiB, or spark.sql.sources.binaryFile.maxLength): split it into smaller files"


class Step:
    """A step with its settings, as JSON: small to send, and the key of a worker's cache of compiled settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings.model_dump_json(by_alias=True)

    @property
    def bridge(self) -> Bridge:
        """The compiled settings; a worker caches them for all its tasks."""
        bridge = _bridge(self.settings)
        forget_archives()
        return bridge


def forget_archives() -> None:
    """Forget how modules are found in archives, until Python imports one from there again.

    Spark puts its jar and a zip of PySpark into Python's path, and invalidates Python's caches before each task. Before Python 3.12
    this reads the directories of these archives once for each of their packages: 90 ms for each task.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]


@lru_cache(maxsize=4)
def _bridge(settings: str) -> Bridge:
    relax_garbage_collection()
    bridge = Bridge(Settings.model_validate_json(settings))
    gc.freeze()
    return bridge


class RecordStep(Step):
    """(location, value, whole) -> RECORD, in the form of :mod:`dh_bridge.spark.sources`."""

    def __call__(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield a row for each event, and for each one that cannot be used."""
        return to_record_batches(self._rows(record_batches), RECORD)

    def _rows(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        bridge = self.bridge
        for location, value, is_file in rows_of(record_batches):
            for item in map(
                bridge.options.masking.mask_item, _read_items(location or "event", value, bridge, is_file=is_file)
            ):
                if isinstance(item, DeadLetter):
                    yield _DEAD_LETTER_KEY + item.location, 0, item.location, item.raw, item.reason
                else:
                    event_record = to_record(item, bridge.options)
                    yield event_record.key, event_record.time, event_record.location, event_record.raw, None


def _read_items(location: str, value: bytes | None, bridge: Bridge, *, is_file: bool | None) -> Iterator[Any]:
    if value is None:
        yield DeadLetter(location, _TOO_LARGE_REASON if is_file else "no event: the column is null", b"")
    elif is_file is None and value.startswith(UNREADABLE_MARK):
        yield DeadLetter(location, value.removeprefix(UNREADABLE_MARK).decode(), b"")
    elif is_file is None:
        yield from _read_part(*decode_part(value), bridge)
    elif is_file:
        for item in read_events(["-"], stdin=io.BytesIO(value), zone=bridge.zone):
            yield _with_location(item, location)
    elif value := value.strip():
        yield from events_of(value, location, bridge.zone)


def _with_location(item: Event | DeadLetter, path: str) -> Event | DeadLetter:
    """Return the input that was read as if it came from ``path``."""
    location = path + item.location.removeprefix("stdin")
    if isinstance(item, DeadLetter):
        return msgspec.structs.replace(item, location=location, reason=item.reason.replace(item.location, location, 1))
    return msgspec.structs.replace(item, location=location)


def _read_part(path: str, start: int, end: int, bridge: Bridge) -> Iterator[Any]:
    """Yield the events of a local file, or of the lines that begin in a part of it; their location is ``path@byte``."""
    if not end:
        yield from read_events([path], zone=bridge.zone)
        return
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path as it was named
            if start:
                file.seek(start - 1)
                file.readline()  # the rest of a line that began in the part before
            position = file.tell()
            while position < end and (line := file.readline()):
                if stripped := line.strip():
                    yield from events_of(stripped, f"{path}@{position}", bridge.zone)
                position += len(line)
    except OSError as error:
        yield DeadLetter(f"{path}@{start}", f"cannot read the file: {error}", b"")


class LinkStep(Step):
    """RECORD -> LINK: runs of one family, if the settings make families."""

    def __call__(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the links of a part."""
        links = RunLinks(self.bridge.options, self.bridge.zone)
        rows = (
            (key, linked_key)
            for key, *columns in rows_of(record_batches)
            for linked_key in links.linked_urns(EventRecord(key, *columns[:3]))
        )
        return to_record_batches(rows, LINK)


class RunStep(Step):
    """RECORD, sorted by key -> STEP_OUTPUT: proposals of runs, pieces of shared entities, facts about other runs, counts.

    Proposals and invalid ones have the key of their run, so that they are dropped if the run is merged again. With ``witnesses``
    they have none.
    """

    def __init__(
        self, settings: Settings, witnesses: list[bytes] | None = None, *, max_held: int = MAX_HELD_ENTITIES
    ) -> None:
        super().__init__(settings)
        self.witnesses = witnesses
        self.max_held = max_held

    def __call__(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all runs of a part."""
        return to_record_batches(self._rows(record_batches), STEP_OUTPUT)

    def _rows(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        bridge = self.bridge
        dead_letters: list[DeadLetter] = []
        packs = PackBuilder()
        runs = PartitionTranslator(bridge.options, bridge.zone, witnesses=self.witnesses, max_entities=self.max_held)
        for item in runs.translate(_records(record_batches, dead_letters, runs.counts)):
            if isinstance(item, TranslatedRun):
                # with witnesses, no proposal is dropped any more
                key = item.key if self.witnesses is None else ""
                packs.add(item.proposals, key, item.time // 1000, item.run_id or None, item.location)
                yield from _rejection_rows(item.rejected, key)
                yield from _pack_rows(packs)
            else:
                yield from _output_rows(item, runs.origin_key if self.max_held == PIECES_BY_RUN else None)
            yield from map(_dead_letter_row, dead_letters)
            dead_letters.clear()
        yield from map(_dead_letter_row, dead_letters)
        yield from _pack_rows(packs, is_end=True)
        yield _counts_row(runs.counts)


def _output_rows(item: CrossRunFacts | Piece | DeadLetter, origin: str | None) -> Iterator[Row]:
    if isinstance(item, CrossRunFacts):
        if item.witness is not None:
            yield _row(CROSS_RUN, item.key, data=encode_run(item.witness))
        if item.is_open:
            yield _row(UNRESOLVED, item.key)
    elif isinstance(item, DeadLetter):
        yield _dead_letter_row(item)
    else:
        group, urn, registers = item
        yield _row(PIECE, group, urn=urn, data=encode_registers(registers), origin=origin)


def decode_counts(data: bytes) -> Counts:
    """Return the counts of a row of the kind COUNTS."""
    return _counts_decoder.decode(data)


_counts_decoder = msgspec.json.Decoder(Counts, dec_hook=lambda kind, value: kind(value))


def _counts_row(counts: Counts) -> Row:
    return _row(COUNTS, data=msgspec.json.encode(counts))


def _records(
    record_batches: Iterable[pa.RecordBatch], dead_letters: list[DeadLetter], counts: Counts
) -> Iterator[EventRecord]:
    """Yield the records; those that are known to be no events go to ``dead_letters``, and are counted."""
    for key, time, location, raw, reason in rows_of(record_batches):
        if reason is None:
            yield EventRecord(key, time, location, raw)
        else:
            dead_letters.append(DeadLetter(location, reason, raw))
            counts.dead += 1


class EntityStep(Step):
    """(key, urn, data), sorted by key -> STEP_OUTPUT: proposals of shared entities."""

    def __call__(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all groups of a part."""
        return to_record_batches(self._rows(record_batches), STEP_OUTPUT)

    def _rows(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        entities = GroupRenderer(self.bridge.options)
        packs = PackBuilder()
        groups = (
            merge_pieces((urn, decode_registers(data)) for _, urn, data in rows)
            for _, rows in groupby(rows_of(record_batches), key=itemgetter(0))
        )
        for group in entities.render_groups(groups):
            packs.add(group.proposals, "")
            yield from _rejection_rows(group.rejected)
            yield from _pack_rows(packs)
        yield from _pack_rows(packs, is_end=True)
        yield _counts_row(entities.counts)


class EntityChangeStep(Step):
    """(key, urn, data, age), sorted by key -> STEP_OUTPUT: changes of shared entities, from before a batch to after it.

    ``age``: BEFORE, AFTER or BOTH: when the piece counts.
    """

    def __call__(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all groups of a part."""
        return to_record_batches(self._rows(record_batches), STEP_OUTPUT)

    def _rows(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        entities = GroupRenderer(self.bridge.options)
        packs = PackBuilder()
        rendered_groups = entities.render_groups(_merge_before_and_after(record_batches))
        for before, after in zip(rendered_groups, rendered_groups, strict=True):
            packs.add(list(diff_proposals(before.proposals, after.proposals)), "")
            yield from _rejection_rows(after.rejected)  # those before were yielded by the batch that read them
            yield from _pack_rows(packs)
        yield from _pack_rows(packs, is_end=True)


def _merge_before_and_after(record_batches: Iterable[pa.RecordBatch]) -> Iterator[FactsByEntity]:
    """Yield the facts of each group twice: before a batch, and after it."""
    for _, rows in groupby(rows_of(record_batches), key=itemgetter(0)):
        pieces = list(rows)
        for left_out in (AFTER, BEFORE):
            yield merge_pieces((urn, decode_registers(data)) for _, urn, data, age in pieces if age != left_out)


# -- rows of STEP_OUTPUT -------------------------------------------------------------------------------------------------------


def _row(
    kind: str, key: str = "", *, urn: str | None = None, data: bytes | None = None, origin: str | None = None
) -> Row:
    return kind, key, None, urn, None, None, None, origin, data, None, None


def _pack_rows(packs: PackBuilder, *, is_end: bool = False) -> Iterator[Row]:
    """Yield the pack if it is full, or at the end of a part."""
    if (is_end or packs.is_full) and (pack := packs.take()) is not None:
        yield PROPOSAL_PACK, "", None, None, None, None, None, None, *pack


def _dead_letter_row(letter: DeadLetter) -> Row:
    return DEAD_LETTER, "", None, None, None, None, letter.reason, letter.location, letter.raw, None, None


def _rejection_rows(rejected: list[RejectedProposal], key: str = "") -> Iterator[Row]:
    """Yield rows of invalid proposals."""
    for rejection in rejected:
        proposal = rejection.proposal
        yield (
            REJECTED, key, proposal.entity_type, proposal.entity_urn, proposal.aspect_name, proposal.change_type,
            rejection.reason, None, None, None, None,
        )  # fmt: skip
