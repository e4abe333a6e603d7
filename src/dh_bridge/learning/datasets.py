"""What the namespaces and names of datasets tell: one server twice, two servers as one, numbers, unknown systems."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.learning.finding import MOST, Finding, listed, shown, times
from dh_bridge.learning.incomplete_names import Tiers
from dh_bridge.learning.namespace_aliases import alike, best, groups, unlike
from dh_bridge.learning.sample import Sample
from dh_bridge.settings.naming import PATTERN_SIGNS
from dh_bridge.translation.identity.hints import facet
from dh_bridge.translation.naming.datasets import dataset_name, datasets_of
from dh_bridge.translation.naming.namespaces import canonical
from dh_bridge.translation.naming.rules import Locations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.openlineage.events import Dataset, Event
    from dh_bridge.translation.naming import Name
    from dh_bridge.translation.options import Options

_PLACES = 8
"""Namespaces that are told apart for one dataset; more say nothing new."""


class _Pair(NamedTuple):
    why: str | None
    names: list[str]
    #: datasets of which both told columns, and of these those with others
    compared: int
    differ: int


class Datasets:
    """Follows the datasets of events; bounded by ``limit`` datasets and as many namespaces."""

    def __init__(self, options: Options, limit: int) -> None:
        self._naming = options.naming
        self._locations = Locations(options.settings.naming.locations)
        #: key of a dataset -> place -> hash of its columns, the largest, whatever came first (0: not told)
        self._seen: Sample[dict[str, int]] = Sample(limit, dict)
        self._places: Sample[list[int]] = Sample(limit, lambda: [0])
        self._unknown: Sample[Counter[str]] = Sample(limit, Counter)
        self._numbers: Sample[Counter[str]] = Sample(limit, Counter)
        #: dataset and table of BigQuery -> project ids
        self._projects: Sample[set[str]] = Sample(limit, set)
        self._tiers = Tiers(options, limit)

    def see(self, event: Event) -> None:
        """Note the datasets of one event."""
        for dataset in datasets_of(event, self._naming):
            name = dataset_name(dataset, self._naming)
            if name.endpoint is not None:
                self._see(dataset, name)

    def findings(self) -> Iterator[Finding]:
        """Yield what there is to say."""
        counts = {place: count[0] for place, count in self._places.items()}
        pairs = self._pairs()
        yield from _one_place(pairs, counts)
        yield from self._collisions(pairs, counts)
        yield from self._tiers.findings(self._seen)
        yield from self._project_numbers()
        for namespace, names in self._unknown.items():
            yield _unknown(namespace, names)

    @property
    def share(self) -> float:
        """The part of all datasets that was followed."""
        return self._seen.share

    def _see(self, dataset: Dataset, name: Name) -> None:
        place = self._place(name)
        count = self._places.at(place)
        if count is not None:
            count[0] += 1
        seen = self._seen.at(f"{place.partition(':')[0]}:{name.name}" if name.system is None else str(name.endpoint))
        columns = _columns(dataset)
        if seen is not None and (place in seen or len(seen) < _PLACES):
            seen[place] = max(seen.get(place, 0), columns)
        self._tiers.see(place, name, columns)
        if "unknown-namespace" in name.notes and (names := self._unknown.at(name.safe_namespace)) is not None:
            _count(names, name.name)
        if name.platform == "bigquery":
            self._see_project(name)

    def _see_project(self, name: Name) -> None:
        project, dot, table = name.dataset_name.partition(".")
        if not dot:
            return
        if "project-number" in name.notes:
            if (names := self._numbers.at(project)) is not None:
                _count(names, table)
        elif (projects := self._projects.at(table)) is not None and len(projects) < _PLACES:
            projects.add(project)

    def _place(self, name: Name) -> str:
        """Return the namespace without credentials and in canonical form, several addresses of a known location as one."""
        text = canonical(name.namespace).text
        return self._locations.canonical([name.namespace, text]) or text

    def _pairs(self) -> dict[tuple[str, str], _Pair]:
        pairs: dict[tuple[str, str], _Pair] = {}
        for key, seen in self._seen.items():
            for one, other in combinations(sorted(seen), 2):
                if _spelled_apart(one, other):
                    continue
                pair = pairs.get((one, other))
                if pair is None:
                    pair = pairs[one, other] = _Pair(alike(one, other), [], 0, 0)
                pair.names.append(_name_in(key))
                if seen[one] and seen[other]:
                    differ = pair.differ + (seen[one] != seen[other])
                    pairs[one, other] = pair._replace(compared=pair.compared + 1, differ=differ)
        return pairs

    def _collisions(self, pairs: dict[tuple[str, str], _Pair], counts: dict[str, int]) -> Iterator[Finding]:
        for (one, other), found in pairs.items():
            if found.why is not None or self._one_by_name(one, other, found.names[0]):
                continue
            text = (
                f"{shown(one)} and {shown(other)} write {times(len(found.names), 'dataset')} of one URN"
                f" ({listed(found.names)}){_differ(found.differ)}: two servers need an instance each, one server under two names a location"
            )
            rarer = min((one, other), key=lambda namespace: (counts.get(namespace, 0), namespace))
            rule = {"namespace": rarer, "platform_instance": "INSTANCE"}
            yield Finding("collision", text, len(found.names), ("naming", "rules"), rule, sure=False)

    def _one_by_name(self, one: str, other: str, name: str) -> bool:
        """Whether the naming system itself reads two namespaces as one place: ``s3://aws@lake`` is the bucket ``s3://lake``."""
        first, second = (self._naming(namespace, name).fqn for namespace in (one, other))
        return first is not None and first == second

    def _project_numbers(self) -> Iterator[Finding]:
        for number, names in self._numbers.items():
            ids: Counter[str] = Counter()
            for table in names:
                ids.update(self._projects.at(table) or ())
            count = names.total()
            text = f"{number} is a project number: seen {times(count, 'time')} ({listed(sorted(names))})"
            if len(ids) == 1:
                ((project, tables),) = ids.items()
                text += (
                    f"; {times(tables, 'table')} of that name in {shown(project)}: check that it is the same project"
                )
                yield Finding("project-number", text, count, ("naming", "project_numbers"), (number, project))
            else:
                text += "; `gcloud projects describe` tells its id"
                yield Finding(
                    "project-number", text, count, ("naming", "project_numbers"), (number, "PROJECT-ID"), sure=False
                )


def _spelled_apart(one: str, other: str) -> bool:
    """Whether two namespaces differ in the spelling of their scheme alone: ``s3a://lake`` is ``s3://lake``."""
    return one.partition("://")[1:] == other.partition("://")[1:]


def _one_place(pairs: dict[tuple[str, str], _Pair], counts: dict[str, int]) -> Iterator[Finding]:
    for group in groups(pair for pair, found in pairs.items() if found.why is not None):
        inside = [pairs[pair] for pair in combinations(group, 2) if pair in pairs]
        names = sorted({name for found in inside for name in found.names})
        reasons = sorted({found.why for found in inside if found.why is not None})
        canonical_one = best(group, counts)
        aliases = [namespace for namespace in group if namespace != canonical_one]
        apart = unlike(group)
        differ, compared = sum(found.differ for found in inside), sum(found.compared for found in inside)
        yield Finding(
            "one-location",
            f"{'; '.join(reasons)}: {times(len(names), 'dataset')} under several of them ({listed(names)}){apart}"
            + _differ(differ),
            sum(counts.get(namespace, 0) for namespace in group),
            ("naming", "locations"),
            {"canonical": canonical_one, "aliases": aliases},
            sure=not apart
            and 2 * differ <= compared
            and not any(PATTERN_SIGNS & set(namespace) for namespace in aliases),
        )


def _differ(count: int) -> str:
    return f"; their columns differ in {count:,}" if count else ""


def _unknown(namespace: str, names: Counter[str]) -> Finding:
    scheme, mark, _ = namespace.partition("://")
    platform = scheme.lower() if mark and scheme.isascii() and scheme.isalnum() else "PLATFORM"
    text = f"no naming system knows {shown(namespace) or repr('')}: {times(len(names), 'dataset', most=MOST)} ({listed(sorted(names))})"
    rule = {"namespace": namespace, "platform": platform}
    return Finding("unknown-namespace", text, names.total(), ("naming", "rules"), rule, sure=False)


def _columns(dataset: Dataset) -> int:
    """Return a hash of the columns' names, 0 when the event does not tell them."""
    fields = facet(dataset.facets, "schema").get("fields")
    names = {
        str(field.get("name")).lower()
        for field in (fields if isinstance(fields, list) else ())
        if isinstance(field, dict) and field.get("name")
    }
    if not names:
        return 0
    text = "\n".join(sorted(names)).encode("utf-8", "surrogatepass")
    # the same in all processes, as notes of several are added up
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") or 1


def _count(names: Counter[str], name: str) -> None:
    """Count a name; beyond MOST names only those that are known."""
    if name in names or len(names) < MOST:
        names[name] += 1


def _name_in(key: str) -> str:
    """Return the dataset's name in a URN, or in the key of a dataset of no known system."""
    if key.startswith("urn:li:dataset:("):
        return key.partition(",")[2].rpartition(",")[0]
    return key.partition(":")[2]
