"""Pairs of columns as nearly every table tells them: plain words, of tables that have a URN, and nothing to withhold.

A table brings a hundred pairs, and to look at each of their columns would take twice as long: they are looked at together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.datahub.fine_grained import PlainPairs, SoundPairs, path_of, plain_paths
from dh_bridge.datahub.urns import FieldUrns
from dh_bridge.translation.lineage.sql_names import Columns, source_of
from dh_bridge.translation.lineage.transformations import told_by

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from dh_bridge.translation.context import Place
    from dh_bridge.translation.lineage.coverage import Told
    from dh_bridge.translation.lineage.entries import ColumnLineage, Entry
    from dh_bridge.translation.naming import Name
    from dh_bridge.translation.properties import Member


class Descriptions(dict["Member", "Collection[str]"]):
    """What a pair is called, and its path or the URNs of its ends -> what is said of it, each text once."""

    @property
    def written(self) -> dict[Member, str]:
        """All texts of a pair as one."""
        return {pair: "; ".join(texts) for pair, texts in self.items()}

    def say(self, pair: Member, text: str) -> None:
        """Add a text to those of a pair."""
        said = self.get(pair)
        if said is None:
            self[pair] = (text,)  # nearly always the only one, for which a dict would take five times the room
        elif isinstance(said, dict):
            said[text] = None
        else:
            self[pair] = dict.fromkeys((*said, text))


class Said(NamedTuple):
    """What a facet says: pairs, of which none is indirect where they are plain, the inputs' names, what is said of pairs.

    ``told``: the pairs again, and where they stand, for the report.
    """

    pairs: PlainPairs | SoundPairs
    named: dict[str, Name]
    descriptions: dict[Member, str]
    told: Collection[Told] = ()


#: operation, URN of the column, what the URN of its source begins with, and the last word of that
_Row = tuple["str | None", str, str, str]
#: position of a pair, what it is called, what is said of it
_Label = tuple[int, str, str]


class _Source(NamedTuple):
    """A table that columns were made of: what its fields' URNs begin with, how it spells columns, what it is called, what it has."""

    head: str
    spelling: Callable[[str], str] | None
    shown: str
    paths: dict[str, str] | None


def plain_pairs(facet: ColumnLineage, at: Place) -> Said | None:
    """Return the pairs of ``facet``; None where each has to be looked at, for the report too."""
    table, fields = at.name, facet.fields or {}
    if table is None or not _may_be_plain(fields, at):
        return None
    downs = FieldUrns(at.dataset)
    head, room, spelling, shown = downs.head, downs.room, table.spelling, table.dataset_name
    sources: dict[tuple[str, str], _Source] = {}
    rows: list[_Row] = []
    words: list[str] = []
    named: dict[str, Name] = {}
    labels: list[_Label] = []
    for name, entry in fields.items():
        column = name if spelling is None else spelling(name)
        words.append(column)
        down = f"{head}{column})"
        own = f"{shown}.{column}<-"
        legacy, whole = entry.transformationType, entry.transformationDescription
        for source in entry.inputFields or ():
            key = source.namespace, source.name
            known = sources.get(key)
            if known is None:
                found = source_of(*key, at)
                if found.endpoint is None:
                    return None
                named[found.endpoint] = found
                ups = FieldUrns(found.endpoint)
                room = min(room, ups.room)
                paths = at.schemas.get(found.endpoint)
                known = sources[key] = _Source(ups.head, found.spelling, found.dataset_name, paths)
            up_head, up_spelling, up_shown, paths = known
            field = source.field
            if paths is None or (spelled := paths.get(field)) is None:
                field = field if paths is None else Columns(paths).called(field) or field
                spelled = field if up_spelling is None else up_spelling(field)
            operation, described = told_by(source.transformations, legacy, whole)
            words.append(spelled)
            if described:
                labels.append((len(rows), f"{own}{up_shown}.{field}", described))
            rows.append((operation, down, up_head, spelled))
    if rows and not (all(words) and max(map(len, words)) <= room and _are_plain("".join(words))):
        return None
    return _said(rows, labels, named, "".join([head, *[source.head for source in sources.values()]]))


def _may_be_plain(fields: dict[str, Entry], at: Place) -> bool:
    """Whether no pair has to be looked at for what stands around it."""
    if at.notes is not None or at.resolve is not at.options.naming:
        return False
    known = at.columns is None or at.columns.keys() >= fields.keys()
    return known and at.options.settings.column_lineage.indirect != "drop"


def _said(rows: list[_Row], labels: list[_Label], named: dict[str, Name], heads: str) -> Said:
    """Return pairs as what a facet says; ``heads``: all that URNs of their fields begin with."""
    operations = "".join({row[0] or "" for row in rows})
    texts = heads + operations
    if "/" in texts or "~" in texts or "INDIRECT" in operations:
        pairs = [(operation, down, f"{up_head}{field})") for operation, down, up_head, field in rows]
        return Said(SoundPairs(pairs), named, _descriptions(labels, list(map(path_of, pairs)) if labels else []))
    paths = plain_paths(rows)
    return Said(PlainPairs(paths), named, _descriptions(labels, paths))


def _descriptions(labels: list[_Label], paths: list[str]) -> dict[Member, str]:
    """Return what is said of pairs, by what they are called and their paths."""
    found: dict[Member, str] = {(label, paths[position]): text for position, label, text in labels}
    if len(found) == len(labels):
        return found
    several = Descriptions()  # a pair is listed twice
    for position, label, text in labels:
        several.say((label, paths[position]), text)
    return several.written


def _are_plain(words: str) -> bool:
    """Whether only letters, figures and underscores of ASCII are there."""
    return f"_{words}".isidentifier() and words.isascii()
