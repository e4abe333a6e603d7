"""An input or output of a run with details: its schema, and the counts of rows, bytes and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dh_bridge.errors import EventError
from dh_bridge.sdk.arguments import require_mapping, require_valid
from dh_bridge.sdk.plain import to_plain
from dh_bridge.sdk.references import DatasetRef, ResolvedDataset, resolve_dataset

if TYPE_CHECKING:
    from dh_bridge.options import Options

Direction = Literal["input", "output"]
Change = Literal["CREATE", "ALTER", "RENAME", "APPEND", "OVERWRITE", "DROP", "TRUNCATE"]
_MAX_COUNT = 2**63 - 1


class RunDataset(msgspec.Struct, frozen=True):
    """A dataset that a run reads or writes, with the facts that OpenLineage's dataset facets state.

    Attributes:
        dataset: ``(namespace, name)``, or both in one text.
        schema: the columns: ``(name, type)`` or ``(name, type, description)`` each, in order.
        rows: the number of rows that the run read or wrote.
        size: the same in bytes.
        files: the same in files.
        change: of an output, what the run did: ``CREATE``, ``ALTER``, ``RENAME``, ``APPEND``, ``OVERWRITE``, ``DROP`` or
            ``TRUNCATE``.
        facets: further OpenLineage facets of the dataset, by key.

    Example:
        >>> from dh_bridge.sdk import Pipeline, RunDataset
        >>> with Pipeline(sink="catalog::memory:") as pipeline:
        ...     with pipeline.run(("nightly", "shop.load")) as run:
        ...         run.writes(RunDataset("s3://lake/orders", schema=[("id", "bigint")], rows=17, change="APPEND"))
    """

    dataset: DatasetRef
    schema: Sequence[Sequence[str]] | None = None
    rows: int | None = None
    size: int | None = None
    files: int | None = None
    change: Change | None = None
    facets: Mapping[str, Any] | None = None


def resolve_run_dataset(
    ref: DatasetRef | RunDataset, direction: Direction, options: Options
) -> tuple[ResolvedDataset, dict[str, dict[str, Any]]]:
    """Return a dataset, and its facets by the group of the event that they belong to.

    Raises:
        EventError: The dataset or a detail of it cannot be used.
    """
    if not isinstance(ref, RunDataset):
        return resolve_dataset(ref, options), {}
    dataset = resolve_dataset(ref.dataset, options)
    bags = _facet_bags(ref, direction)
    if bags and dataset.pair is None:
        raise EventError(
            "a dataset with details cannot be a URN", location="RunDataset", remedy="pass (namespace, name)"
        )
    return dataset, bags


def merge_facets(old: Mapping[str, dict[str, Any]], new: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the facets of both; a facet of ``new`` replaces that of ``old``, statistics are replaced one by one."""
    bags = {bag: dict(facets) for bag, facets in old.items()}
    for bag, facets in new.items():
        for key, facet in facets.items():
            old_facet = bags.setdefault(bag, {}).get(key)
            is_statistics = bag != "facets" and isinstance(old_facet, dict)
            bags[bag][key] = {**old_facet, **facet} if is_statistics and old_facet is not None else facet
    return bags


def _facet_bags(ref: RunDataset, direction: Direction) -> dict[str, dict[str, Any]]:
    if ref.facets is not None:
        require_mapping("facets", ref.facets)
    require_valid(msgspec.structs.replace(ref, dataset="", facets=None))
    if ref.change is not None and direction == "input":
        raise EventError("only outputs have a change", location="change", remedy="remove this argument")
    facets = {str(key): to_plain(facet) for key, facet in (ref.facets or {}).items()}
    if ref.schema is not None:
        facets["schema"] = {"fields": [_schema_field(column) for column in ref.schema]}
    if ref.change is not None:
        facets["lifecycleStateChange"] = {"lifecycleStateChange": ref.change}
    counts = {"rowCount": ref.rows, "size": ref.size, "fileCount": ref.files}
    statistics = {name: _count(name, number) for name, number in counts.items() if number is not None}
    bags = {"facets": facets, f"{direction}Facets": {f"{direction}Statistics": statistics} if statistics else {}}
    return {bag: content for bag, content in bags.items() if content}


def _schema_field(column: Sequence[str]) -> dict[str, str]:
    if isinstance(column, str) or len(column) not in (2, 3) or not all(column[:2]):
        raise EventError("each column requires a name and a type", location="schema", remedy='e.g. [("id", "bigint")]')
    return dict(zip(("name", "type", "description"), column, strict=False))


def _count(name: str, number: Any) -> int:
    count: Any = to_plain(number)
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= _MAX_COUNT:
        raise EventError(f"expected a count, got {number!r}", location=name, remedy="pass a whole number from 0")
    return count
