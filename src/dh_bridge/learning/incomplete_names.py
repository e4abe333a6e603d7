"""Names that lack a part: ``shop.orders``, as Spark reads it by JDBC, is ``shop.public.orders`` of all others."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.learning.finding import Finding, listed, times
from dh_bridge.learning.namespace_aliases import alike
from dh_bridge.learning.sample import Sample
from dh_bridge.settings.naming import PATTERN_SIGNS, NamingRule
from dh_bridge.translation.naming import Naming
from dh_bridge.translation.naming.reader import DATASET_LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dh_bridge.translation.naming import Name
    from dh_bridge.translation.options import Options

_MOST = 50
"""Rules that are tried; each compiles the naming systems again."""


class _Gap(NamedTuple):
    """Names of a place that begin alike, and what they lack."""

    place: str
    prefix: str
    defaults: tuple[tuple[str, str], ...]

    @property
    def rule(self) -> dict[str, str]:
        name = f"{self.prefix}.{{table}}" if self.prefix else "{table}"
        return {"namespace": self.place, "name": name, **dict(self.defaults)}


class _Short(NamedTuple):
    """A name as sent, the dataset that it makes, the one that it means, and the hashes of the columns of both."""

    name: str
    dataset: str
    whole: str
    columns: int
    others: frozenset[int]


class Tiers:
    """Follows names that lack a database or a schema; bounded by ``limit`` of them."""

    def __init__(self, options: Options, limit: int) -> None:
        self._settings = options.settings
        #: place and name as sent -> its dataset -> hash of its columns
        self.short: Sample[dict[str, int]] = Sample(limit, dict)

    def see(self, place: str, name: Name, columns: int) -> None:
        """Note a name, if it stops short of a table."""
        if name.system is None or (name.level in DATASET_LEVELS and "missing-part" not in name.notes):
            return
        note = self.short.at(f"{place}\n{name.name}")
        if note is not None:
            dataset = str(name.endpoint)
            note[dataset] = max(note.get(dataset, 0), columns)

    def findings(self, seen: Sample[dict[str, int]]) -> Iterator[Finding]:
        """Yield a rule for the names of which ``seen`` has the whole: dataset -> place -> hash of columns."""
        gaps = self._gaps(dict(seen.items()))
        found = Counter((gap.place, gap.prefix) for gap in gaps)
        tried = sorted(gaps.items(), key=lambda item: (-len(item[1]), item[0]))[:_MOST]
        for gap, shorts in sorted(tried):
            naming = self._naming(gap)
            right = [short for short in shorts if naming(gap.place, short.name).endpoint == short.whole]
            if right:
                yield _finding(gap, right, alone=found[gap.place, gap.prefix] == 1)

    def _gaps(self, seen: Mapping[str, Mapping[str, int]]) -> dict[_Gap, list[_Short]]:
        datasets = {dataset for _, told in self.short.items() for dataset in told}
        wholes: dict[tuple[str, str, str], list[tuple[list[str], str]]] = {}
        for urn in seen:
            if urn not in datasets and (parts := _parts(urn)):
                wholes.setdefault(_ends(urn, parts), []).append((parts, urn))
        gaps: dict[_Gap, list[_Short]] = {}
        for key, told in self.short.items():
            place, _, name = key.partition("\n")
            prefix = name.rpartition(".")[0]
            if PATTERN_SIGNS & set(place + prefix):
                continue
            for dataset, columns in told.items():
                parts = _parts(dataset)
                for whole, urn in wholes.get(_ends(dataset, parts), ()) if parts else ():
                    defaults = _lacking(parts, whole)
                    if defaults and any(place == other or alike(place, other) for other in seen[urn]):
                        others = frozenset(filter(None, seen[urn].values()))
                        short = _Short(name, dataset, urn, columns, others)
                        gaps.setdefault(_Gap(place, prefix, defaults), []).append(short)
        return gaps

    def _naming(self, gap: _Gap) -> Naming:
        """Return the naming with the gap's rule."""
        settings = self._settings.naming
        rules = (NamingRule.model_validate(gap.rule), *settings.rules)
        return Naming(settings.model_copy(update={"rules": rules}), self._settings.mappings)


def _finding(gap: _Gap, shorts: list[_Short], *, alone: bool) -> Finding:
    compared = [short for short in shorts if short.columns and short.others]
    differ = sum(short.columns not in short.others for short in compared)
    pairs = sorted(f"{'.'.join(_parts(short.dataset))} is {'.'.join(_parts(short.whole))}" for short in shorts)
    what = " and ".join(key.removeprefix("default_") for key, _ in gap.defaults)
    text = f"{times(len(shorts), 'dataset')} without {what} seen with it, too ({listed(pairs)})"
    if differ:
        text += f"; their columns differ in {differ:,}"
    if not alone:
        text += "; others of these names are elsewhere"
    sure = alone and 2 * differ <= len(compared)
    return Finding("short-name", text, len(shorts), ("naming", "rules"), gap.rule, sure=sure)


def _lacking(short: list[str], whole: list[str]) -> tuple[tuple[str, str], ...]:
    """Return the defaults that make a name the ``whole`` one, () when it is another."""
    if len(short) == 1 and whole[2:] == short:
        return ("default_database", whole[0]), ("default_schema", whole[1])
    if whole[1:] == short:
        return (("default_database", whole[0]),)
    return (("default_schema", whole[1]),) if [*whole[:1], *whole[2:]] == short else ()


def _parts(urn: str) -> list[str]:
    """Return the parts of a dataset's name, instance and all; [] for what is no URN, or no table's name."""
    name = urn.partition(",")[2].rpartition(",")[0]
    return [] if "/" in name or not urn.startswith("urn:") else name.split(".")


def _ends(urn: str, parts: list[str]) -> tuple[str, str, str]:
    """Return platform, last part of the name, and environment: what a short and a whole name have in common."""
    return urn.partition(",")[0], parts[-1] if parts else "", urn.rpartition(",")[2]
