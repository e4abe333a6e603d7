"""Findings from namespaces and names of datasets.

One server under two names, two servers under one, numbers, unknown systems.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.checking.double_names import DoubleNameChecker
from dh_bridge.checking.finding import MAX_EVIDENCE_NAMES, Finding, count_text, list_examples, one_line
from dh_bridge.checking.incomplete_names import IncompleteNameChecker
from dh_bridge.checking.namespace_aliases import alias_reason, best_spelling, connected_groups, unlike_pair_text
from dh_bridge.checking.sample import Sample
from dh_bridge.checking.varying_datasets import VaryingDatasetChecker
from dh_bridge.identity.hints import decode_facet
from dh_bridge.naming.datasets import dataset_name, enumerate_datasets
from dh_bridge.naming.name import BY_FACET, BY_FACET_TEXT, UNKNOWN_NAMESPACE
from dh_bridge.naming.rules import Locations
from dh_bridge.settings.naming import PATTERN_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.checking.trial import NameSample
    from dh_bridge.naming import Name
    from dh_bridge.openlineage.events import Dataset, Event
    from dh_bridge.options import Options

_MAX_NAMESPACES = 8
"""Maximum number of namespaces that are stored for one dataset; more add no evidence."""


class _NamespacePair(NamedTuple):
    reason: str | None
    names: list[str]
    #: datasets of which both namespaces have columns, and of these those with different columns
    compared: int
    differ: int


class DatasetChecker:
    """Follows the datasets of events; bounded by ``limit`` datasets and as many namespaces."""

    def __init__(self, options: Options, limit: int, sample: NameSample) -> None:
        self._naming = options.naming
        self._sample = sample
        self._varying_datasets = VaryingDatasetChecker(options, limit)
        self._locations = Locations(options.settings.naming.locations)
        #: key of a dataset -> namespace -> hash of its columns, the largest in any order of events (0: no columns)
        self._columns_by_dataset: Sample[dict[str, int]] = Sample(limit, dict)
        self._namespaces: Sample[list[int]] = Sample(limit, lambda: [0])
        self._unknown: Sample[Counter[str]] = Sample(limit, Counter)
        #: unknown namespaces of which facets name the datasets
        self._by_facet: Sample[Counter[str]] = Sample(limit, Counter)
        self._numbers: Sample[Counter[str]] = Sample(limit, Counter)
        #: dataset and table of BigQuery -> project ids
        self._projects: Sample[set[str]] = Sample(limit, set)
        self._incomplete_names = IncompleteNameChecker(options, limit)
        self._double_names = DoubleNameChecker(options, limit)

    def see(self, event: Event) -> None:
        """Add the datasets of one event."""
        for datasets, is_output in ((event.inputs, False), (event.outputs, True)):
            for _, dataset in enumerate_datasets(datasets, self._naming):
                name = self._see_dataset(dataset)
                self._varying_datasets.see(event, dataset, name, is_output=is_output)
        if event.dataset is not None:
            for _, dataset in enumerate_datasets([event.dataset], self._naming):
                self._see_dataset(dataset)

    def _see_dataset(self, dataset: Dataset) -> Name:
        name = dataset_name(dataset, self._naming)
        if name.endpoint is not None:
            self._sample.add_dataset(dataset)
            self._see(dataset, name)
            self._double_names.see(dataset, name)
        return name

    def findings(self) -> Iterator[Finding]:
        """Yield the findings."""
        counts = {namespace: counter[0] for namespace, counter in self._namespaces.items()}
        pairs = self._pairs()
        yield from _alias_findings(pairs, counts)
        yield from self._collisions(pairs, counts)
        yield from self._incomplete_names.findings(self._columns_by_dataset)
        yield from self._double_names.findings()
        yield from self._varying_datasets.findings()
        yield from self._project_numbers()
        for namespace, names in self._unknown.items():
            yield _unknown_namespace_finding(namespace, names)
        for namespace, names in self._by_facet.items():
            text = f"{one_line(namespace) or repr('')}: {BY_FACET_TEXT} ({list_examples(sorted(names))})"
            yield Finding("unknown-namespace", text, names.total())

    @property
    def sampled_fraction(self) -> float:
        """The part of all datasets that was followed."""
        return self._columns_by_dataset.sampled_fraction

    def _see(self, dataset: Dataset, name: Name) -> None:
        namespace = self._namespace_of(name)
        counter = self._namespaces.note_of(namespace)
        if counter is not None:
            counter[0] += 1
        column_hashes = self._columns_by_dataset.note_of(
            f"{namespace.partition(':')[0]}:{name.name}" if name.system is None else str(name.endpoint)
        )
        column_hash = _column_hash(dataset)
        if column_hashes is not None and (namespace in column_hashes or len(column_hashes) < _MAX_NAMESPACES):
            column_hashes[namespace] = max(column_hashes.get(namespace, 0), column_hash)
        self._incomplete_names.see(namespace, name, column_hash)
        if (BY_FACET in name.notes and (names := self._by_facet.note_of(name.safe_namespace)) is not None) or (
            UNKNOWN_NAMESPACE in name.notes and (names := self._unknown.note_of(name.safe_namespace)) is not None
        ):
            _count_name(names, name.name)
        if name.platform == "bigquery":
            self._see_project(name)

    def _see_project(self, name: Name) -> None:
        project, dot, table = name.dataset_name.partition(".")
        if not dot:
            return
        if "project-number" in name.notes:
            if (names := self._numbers.note_of(project)) is not None:
                _count_name(names, table)
        elif (projects := self._projects.note_of(table)) is not None and len(projects) < _MAX_NAMESPACES:
            projects.add(project)

    def _namespace_of(self, name: Name) -> str:
        """Return the namespace without credentials and in canonical form, several addresses of a known location as one."""
        text = self._naming.canonical(name.namespace).text
        return self._locations.canonical([name.namespace, text]) or text

    def _pairs(self) -> dict[tuple[str, str], _NamespacePair]:
        pairs: dict[tuple[str, str], _NamespacePair] = {}
        for key, column_hashes in self._columns_by_dataset.items():
            for first, second in combinations(sorted(column_hashes), 2):
                if _differ_only_in_scheme(first, second):
                    continue
                pair = pairs.get((first, second))
                if pair is None:
                    pair = pairs[first, second] = _NamespacePair(alias_reason(first, second), [], 0, 0)
                pair.names.append(_name_of_key(key))
                if column_hashes[first] and column_hashes[second]:
                    differ = pair.differ + (column_hashes[first] != column_hashes[second])
                    pairs[first, second] = pair._replace(compared=pair.compared + 1, differ=differ)
        return pairs

    def _collisions(self, pairs: dict[tuple[str, str], _NamespacePair], counts: dict[str, int]) -> Iterator[Finding]:
        for (first, second), pair in pairs.items():
            if pair.reason is not None or self._have_same_fqn(first, second, pair.names[0]):
                continue
            text = (
                f"{one_line(first)} and {one_line(second)} have {count_text(len(pair.names), 'dataset')} with the same URN"
                f" ({list_examples(pair.names)}){_difference_text(pair.differ)}: if these are two servers, give each an instance; if it is one server, add a location"
            )
            rarer = min((first, second), key=lambda namespace: (counts.get(namespace, 0), namespace))
            rule = {"namespace": rarer, "platform_instance": "INSTANCE"}
            yield Finding("collision", text, len(pair.names), ("naming", "rules"), rule, sure=False)

    def _have_same_fqn(self, first_namespace: str, second_namespace: str, name: str) -> bool:
        """Whether the naming system itself maps two namespaces to one: ``s3://aws@lake`` is the bucket ``s3://lake``."""
        first_fqn, second_fqn = (self._naming(namespace, name).fqn for namespace in (first_namespace, second_namespace))
        return first_fqn is not None and first_fqn == second_fqn

    def _project_numbers(self) -> Iterator[Finding]:
        for number, names in self._numbers.items():
            ids: Counter[str] = Counter()
            for table in names:
                ids.update(self._projects.note_of(table) or ())
            count = names.total()
            text = f"{number} is a project number: seen {count_text(count, 'time')} ({list_examples(sorted(names))})"
            if len(ids) == 1:
                ((project, tables),) = ids.items()
                text += f"; {count_text(tables, 'table')} of the same name in {one_line(project)}: check that it is the same project"
                yield Finding("project-number", text, count, ("naming", "project_numbers"), (number, project))
            else:
                text += "; `gcloud projects describe` shows its id"
                yield Finding(
                    "project-number", text, count, ("naming", "project_numbers"), (number, "PROJECT-ID"), sure=False
                )


def _differ_only_in_scheme(first: str, second: str) -> bool:
    """Whether two namespaces differ in the spelling of their scheme alone: ``s3a://lake`` is ``s3://lake``."""
    return first.partition("://")[1:] == second.partition("://")[1:]


def _alias_findings(pairs: dict[tuple[str, str], _NamespacePair], counts: dict[str, int]) -> Iterator[Finding]:
    for group in connected_groups(pair for pair, compared_pair in pairs.items() if compared_pair.reason is not None):
        group_pairs = [pairs[pair] for pair in combinations(group, 2) if pair in pairs]
        names = sorted({name for compared_pair in group_pairs for name in compared_pair.names})
        reasons = sorted({compared_pair.reason for compared_pair in group_pairs if compared_pair.reason is not None})
        preferred_namespace = best_spelling(group, counts)
        aliases = [namespace for namespace in group if namespace != preferred_namespace]
        difference = unlike_pair_text(group)
        differ, compared = (
            sum(compared_pair.differ for compared_pair in group_pairs),
            sum(compared_pair.compared for compared_pair in group_pairs),
        )
        yield Finding(
            "one-location",
            f"{'; '.join(reasons)}: {count_text(len(names), 'dataset')} seen under several of these names ({list_examples(names)}){difference}"
            + _difference_text(differ),
            sum(counts.get(namespace, 0) for namespace in group),
            ("naming", "locations"),
            (preferred_namespace, aliases),
            sure=not difference
            and 2 * differ <= compared
            and not any(PATTERN_CHARS & set(namespace) for namespace in aliases),
        )


def _difference_text(count: int) -> str:
    return f"; the columns of {count:,} differ" if count else ""


def _unknown_namespace_finding(namespace: str, names: Counter[str]) -> Finding:
    scheme, separator, _ = namespace.partition("://")
    platform = scheme.lower() if separator and scheme.isascii() and scheme.isalnum() else "PLATFORM"
    text = f"no naming system matches {one_line(namespace) or repr('')}: {count_text(len(names), 'dataset', limit=MAX_EVIDENCE_NAMES)} ({list_examples(sorted(names))})"
    rule = {"namespace": namespace, "platform": platform}
    return Finding("unknown-namespace", text, names.total(), ("naming", "rules"), rule, sure=False)


def _column_hash(dataset: Dataset) -> int:
    """Return a hash of the columns' names, 0 if the event has no columns."""
    fields = decode_facet(dataset.facets, "schema").get("fields")
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


def _count_name(names: Counter[str], name: str) -> None:
    """Count a name; beyond MOST names only those that are known."""
    if name in names or len(names) < MAX_EVIDENCE_NAMES:
        names[name] += 1


def _name_of_key(key: str) -> str:
    """Return the dataset's name in a URN, or in the key of a dataset of no known system."""
    if key.startswith("urn:li:dataset:("):
        return key.partition(",")[2].rpartition(",")[0]
    return key.partition(":")[2]
