"""Packs: some hundred proposals in one binary value, so that Spark stores and moves few values instead of many rows.

A pack is a compressed record batch of Arrow. A worker makes packs and opens them again; no pyspark here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from dh_bridge.spark.rows import arrow_schema, to_array

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.datahub.proposal import Proposal

OPENED = (
    "entity_type string, entity_urn string, aspect_name string, change_type string, aspect string, time long,"
    " run_id string, location string"
)
"""Columns of proposals as packs hold them, after the key of their run. ``time``: milliseconds since 1970, of the run's last event;
null, as ``run_id`` and ``location``, for entities that runs share."""
MAX_PACK_BYTES = 1 << 20
"""Bytes of the JSON texts in a pack. PySpark 3.5 passes 500 rows, and so packs, to a worker at once."""
_SCHEMA = arrow_schema(f"key string, {OPENED}")
_OPENED_SCHEMA = arrow_schema(OPENED)
_URN, _CHANGE_TYPE = map(_OPENED_SCHEMA.get_field_index, ("entity_urn", "change_type"))
_WRITE_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


class Pack(NamedTuple):
    """A pack, as columns of STEP_OUTPUT.

    Attributes:
        data: the record batch, compressed.
        row_count: the number of proposals.
        size: the bytes of their JSON texts.
    """

    data: bytes
    row_count: int
    size: int


class PackBuilder:
    """Collects proposals for a pack."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._columns: list[list[Any]] = [[] for _ in _SCHEMA]
        self._size = 0

    @property
    def is_full(self) -> bool:
        """Whether the pack has MAX_PACK_BYTES."""
        return self._size >= MAX_PACK_BYTES

    def add(
        self,
        proposals: list[Proposal],
        key: str,
        time: int | None = None,
        run_id: str | None = None,
        location: str | None = None,
    ) -> None:
        """Add the proposals of a run, or of shared entities (with the key "").

        Args:
            proposals: The proposals.
            key: The key of the run, by which :class:`PackOpener` leaves proposals out; "" if they never are.
            time: Milliseconds since 1970 of the run's last event.
            run_id: OpenLineage's id of the run.
            location: The position of the run's last event.
        """
        aspects = [orjson.dumps(proposal.value) for proposal in proposals]
        count = len(proposals)
        columns = self._columns
        columns[0] += [key] * count
        columns[1] += [proposal.entity_type for proposal in proposals]
        columns[2] += [proposal.entity_urn for proposal in proposals]
        columns[3] += [proposal.aspect_name for proposal in proposals]
        columns[4] += [proposal.change_type for proposal in proposals]
        columns[5] += [aspect.decode() for aspect in aspects]
        columns[6] += [time] * count
        columns[7] += [run_id] * count
        columns[8] += [location] * count
        self._size += sum(map(len, aspects))

    def take(self) -> Pack | None:
        """Return the pack, and begin another one; None if there are no proposals."""
        columns, size = self._columns, self._size
        if not columns[0]:
            return None
        arrays = [to_array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
        self._clear()
        batch = pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)
        return Pack(_compressed(batch), batch.num_rows, size)


def _compressed(batch: pa.RecordBatch) -> bytes:
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, batch.schema, options=_WRITE_OPTIONS) as writer:
        writer.write_batch(batch)
    content: bytes = buffer.getvalue().to_pybytes()
    return content


class PackOpener:
    """(data) -> OPENED: the proposals of packs, without those of some runs."""

    def __init__(self, dropped_keys: Iterable[str] = (), continued_runs: Iterable[str] = ()) -> None:
        """``continued_runs``: the URNs of runs that exist already, so that a CREATE of them becomes an UPSERT."""
        self._dropped_keys = sorted(dropped_keys)
        self._continued_runs = sorted(continued_runs)

    @property
    def drops_runs(self) -> bool:
        """Whether proposals are left out, so that ``row_count`` of the packs is too large."""
        return bool(self._dropped_keys)

    def __call__(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the proposals of a part."""
        dropped_keys = pa.array(self._dropped_keys, pa.string())
        continued_runs = pa.array(self._continued_runs, pa.string())
        for packs in record_batches:
            for value in packs.column(0):
                with pa.ipc.open_stream(value.as_buffer()) as reader:
                    for batch in reader:
                        opened = batch
                        if self._dropped_keys:
                            opened = opened.filter(pc.invert(pc.is_in(opened.column(0), value_set=dropped_keys)))
                        columns = opened.columns[1:]
                        if self._continued_runs:
                            columns[_CHANGE_TYPE] = _change_types(columns, continued_runs)
                        if opened.num_rows:
                            yield pa.RecordBatch.from_arrays(columns, schema=_OPENED_SCHEMA)


def _change_types(columns: list[pa.Array], continued_runs: pa.Array) -> pa.Array:
    change_types = columns[_CHANGE_TYPE]
    is_continued = pc.and_(pc.equal(change_types, "CREATE"), pc.is_in(columns[_URN], value_set=continued_runs))
    return pc.if_else(is_continued, "UPSERT", change_types)
