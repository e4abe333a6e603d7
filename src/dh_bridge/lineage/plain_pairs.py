"""The usual form of column lineage: pairs of plain names, of tables that have a URN, and nothing to drop.

A table brings a hundred pairs, and to look at each of their columns would take twice as long: they are looked at together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.datahub.fine_grained import PlainPairs, ValidPairs, path_of, plain_paths
from dh_bridge.datahub.urns import FieldUrns
from dh_bridge.lineage.sql_names import SchemaColumns, resolve_source
from dh_bridge.lineage.transformations import operation_and_description

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.lineage.coverage import LocatedPair
    from dh_bridge.lineage.transformations import ColumnLineage, ColumnLineageEntry
    from dh_bridge.model.properties import MemberKey
    from dh_bridge.naming import Name


class Descriptions(dict["MemberKey", "Collection[str]"]):
    """(label of a pair, its path or the URNs of its ends) -> its descriptions, each text once."""

    @property
    def texts_by_pair(self) -> dict[MemberKey, str]:
        """All texts of a pair as one."""
        return {pair: "; ".join(texts) for pair, texts in self.items()}

    def add(self, pair: MemberKey, text: str) -> None:
        """Add a text to those of a pair."""
        texts = self.get(pair)
        if texts is None:
            self[pair] = (text,)  # nearly always the only one, for which a dict would take five times the room
        elif isinstance(texts, dict):
            texts[text] = None
        else:
            self[pair] = dict.fromkeys((*texts, text))


class ColumnPairs(NamedTuple):
    """The content of a facet: pairs (plain ones are never indirect), the names of the inputs, the descriptions of pairs.

    ``located_pairs``: the pairs again with their positions in the facet, for the report.
    """

    pairs: PlainPairs | ValidPairs
    names: dict[str, Name]
    descriptions: dict[MemberKey, str]
    located_pairs: Collection[LocatedPair] = ()


#: operation, URN of the column, what the URN of its source begins with, and the last word of that
_PairRow = tuple["str | None", str, str, str]
#: position of a pair, its label, its description
_PairLabel = tuple[int, str, str]


class _SourceTable(NamedTuple):
    """A table that columns were made of: what its fields' URNs begin with, how it spells columns, what it is called, what it has."""

    urn_prefix: str
    spelling: Callable[[str], str] | None
    label: str
    paths: dict[str, str] | None


def plain_pairs(facet: ColumnLineage, ctx: FacetContext) -> ColumnPairs | None:
    """Return the pairs of ``facet``; None where each has to be looked at, for the report too."""
    table, fields = ctx.name, facet.fields or {}
    if table is None or not _can_be_plain(fields, ctx):
        return None
    downstream_urns = FieldUrns(ctx.dataset_urn)
    urn_prefix, max_column_bytes, spelling, dataset_name = (
        downstream_urns.prefix,
        downstream_urns.max_path_length,
        table.column_speller,
        table.dataset_name,
    )
    sources: dict[tuple[str, str], _SourceTable] = {}
    rows: list[_PairRow] = []
    column_names: list[str] = []
    names: dict[str, Name] = {}
    labels: list[_PairLabel] = []
    for name, entry in fields.items():
        column = name if spelling is None else spelling(name)
        column_names.append(column)
        downstream_urn = f"{urn_prefix}{column})"
        legacy_type, column_description = entry.transformationType, entry.transformationDescription
        for source in entry.inputFields or ():
            key = source.namespace, source.name
            source_table = sources.get(key)
            if source_table is None:
                source_name = resolve_source(*key, ctx)
                if source_name.endpoint is None:
                    return None
                names[source_name.endpoint] = source_name
                upstream_urns = FieldUrns(source_name.endpoint)
                max_column_bytes = min(max_column_bytes, upstream_urns.max_path_length)
                paths = ctx.schemas.get(source_name.endpoint)
                source_table = sources[key] = _SourceTable(
                    upstream_urns.prefix, source_name.column_speller, source_name.dataset_name, paths
                )
            source_prefix, source_spelling, source_label, paths = source_table
            field = source.field
            if paths is None or (spelled_field := paths.get(field)) is None:
                field = field if paths is None else SchemaColumns(paths).resolve(field) or field
                spelled_field = field if source_spelling is None else source_spelling(field)
            operation, description = operation_and_description(source.transformations, legacy_type, column_description)
            column_names.append(spelled_field)
            if description:
                labels.append((len(rows), f"{dataset_name}.{column}<-{source_label}.{field}", description))
            rows.append((operation, downstream_urn, source_prefix, spelled_field))
    if rows and not (
        all(column_names) and max(map(len, column_names)) <= max_column_bytes and _is_plain_text("".join(column_names))
    ):
        return None
    return _build_column_pairs(
        rows, labels, names, "".join([urn_prefix, *[source.urn_prefix for source in sources.values()]])
    )


def _can_be_plain(fields: dict[str, ColumnLineageEntry], ctx: FacetContext) -> bool:
    """Whether no pair depends on the fields around it."""
    if ctx.notes is not None or ctx.resolve_name is not ctx.options.naming:
        return False
    has_all_columns = ctx.columns is None or ctx.columns.keys() >= fields.keys()
    return has_all_columns and ctx.options.settings.column_lineage.indirect != "drop"


def _build_column_pairs(
    rows: list[_PairRow], labels: list[_PairLabel], names: dict[str, Name], prefixes: str
) -> ColumnPairs:
    """Return pairs as the content of a facet; ``prefixes``: the beginnings of the URNs of their fields."""
    operations = "".join({row[0] or "" for row in rows})
    texts = prefixes + operations
    if "/" in texts or "~" in texts or "INDIRECT" in operations:
        pairs = [
            (operation, downstream_urn, f"{source_prefix}{field})")
            for operation, downstream_urn, source_prefix, field in rows
        ]
        return ColumnPairs(
            ValidPairs(pairs), names, _build_descriptions(labels, list(map(path_of, pairs)) if labels else [])
        )
    paths = plain_paths(rows)
    return ColumnPairs(PlainPairs(paths), names, _build_descriptions(labels, paths))


def _build_descriptions(labels: list[_PairLabel], paths: list[str]) -> dict[MemberKey, str]:
    """Return the descriptions of pairs, by label and path."""
    descriptions: dict[MemberKey, str] = {(label, paths[position]): text for position, label, text in labels}
    if len(descriptions) == len(labels):
        return descriptions
    grouped_descriptions = Descriptions()  # a pair is listed twice
    for position, label, text in labels:
        grouped_descriptions.add((label, paths[position]), text)
    return grouped_descriptions.texts_by_pair


def _is_plain_text(text: str) -> bool:
    """Whether only letters, figures and underscores of ASCII are there."""
    return f"_{text}".isidentifier() and text.isascii()
