"""Names that lack a part: ``shop.orders``, as Spark reads it by JDBC, is ``shop.public.orders`` of all others."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.checking.finding import MAX_EVIDENCE_NAMES, Finding, count_text, list_examples, one_line
from dh_bridge.checking.namespace_aliases import alias_reason
from dh_bridge.checking.sample import Sample
from dh_bridge.naming import Naming
from dh_bridge.naming.name import FIRST_TIER, SECOND_TIER
from dh_bridge.naming.reader import DATASET_LEVELS
from dh_bridge.settings.naming import BRACES, PATTERN_CHARS, NamingRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dh_bridge.naming import Name
    from dh_bridge.options import Options

_MAX_TRIED_RULES = 50
"""Rules that are tried; each compiles the naming systems again."""


class _Gap(NamedTuple):
    """Names of a namespace with a common prefix, and the levels that they lack."""

    namespace: str
    prefix: str
    defaults: tuple[tuple[str, str], ...]

    @property
    def rule(self) -> dict[str, str]:
        name = f"{self.prefix}.{{table}}" if self.prefix else "{table}"
        return {"namespace": self.namespace, "name": name, **dict(self.defaults)}


class _ShortName(NamedTuple):
    """A name as sent, the dataset that it makes, the one that it means, and the hashes of the columns of both."""

    name: str
    dataset: str
    full_urn: str
    columns: int
    full_columns: frozenset[int]


class IncompleteNameChecker:
    """Follows names that lack a database or a schema; bounded by ``limit`` of them."""

    def __init__(self, options: Options, limit: int) -> None:
        self._settings = options.settings
        #: namespace and name as sent -> its dataset -> hash of its columns
        self.short_names: Sample[dict[str, int]] = Sample(limit, dict)
        #: namespace and missing levels -> names as sent
        self._gaps_by_namespace: Sample[Counter[str]] = Sample(limit, Counter)

    def see(self, namespace: str, name: Name, columns: int) -> None:
        """Note a name, if it stops short of a table."""
        if name.system is None or (name.level in DATASET_LEVELS and "missing-part" not in name.notes):
            return
        self._see_gap(namespace, name)
        columns_by_dataset = self.short_names.note_of(f"{namespace}\n{name.name}")
        if columns_by_dataset is not None:
            dataset = str(name.endpoint)
            columns_by_dataset[dataset] = max(columns_by_dataset.get(dataset, 0), columns)

    def findings(self, columns_by_urn: Sample[dict[str, int]]) -> Iterator[Finding]:
        """Yield a rule for the names whose complete form is in ``columns_by_urn``: dataset -> namespace -> hash of columns."""
        gaps = self._gaps(dict(columns_by_urn.items()))
        prefix_counts = Counter((gap.namespace, gap.prefix) for gap in gaps)
        candidates = sorted(gaps.items(), key=lambda item: (-len(item[1]), item[0]))[:_MAX_TRIED_RULES]
        completed: set[tuple[str, str]] = set()
        for gap, shorts in sorted(candidates):
            naming = self._naming(gap)
            completed_names = [
                short for short in shorts if naming(gap.namespace, short.name).endpoint == short.full_urn
            ]
            if completed_names:
                completed |= {(gap.namespace, short.name) for short in completed_names}
                yield _build_finding(gap, completed_names, is_only_gap=prefix_counts[gap.namespace, gap.prefix] == 1)

        for key, names in self._gaps_by_namespace.items():
            namespace, _, levels = key.partition("\n")
            remaining = Counter({name: count for name, count in names.items() if (namespace, name) not in completed})
            if remaining:
                yield _lacking_finding(namespace, levels.split(","), remaining)

    def _see_gap(self, namespace: str, name: Name) -> None:
        if not name.missing_levels:
            return
        names = self._gaps_by_namespace.note_of(f"{namespace}\n{','.join(name.missing_levels)}")
        if names is not None and (name.name in names or len(names) < MAX_EVIDENCE_NAMES):
            names[name.name] += 1

    def _gaps(self, columns_by_urn: Mapping[str, Mapping[str, int]]) -> dict[_Gap, list[_ShortName]]:
        datasets = {dataset for _, columns_by_dataset in self.short_names.items() for dataset in columns_by_dataset}
        full_names: dict[tuple[str, str, str], list[tuple[list[str], str]]] = {}
        for urn in columns_by_urn:
            if urn not in datasets and (parts := _parts(urn)):
                full_names.setdefault(_match_key(urn, parts), []).append((parts, urn))
        gaps: dict[_Gap, list[_ShortName]] = {}
        for key, columns_by_dataset in self.short_names.items():
            namespace, _, name = key.partition("\n")
            prefix = name.rpartition(".")[0]
            if PATTERN_CHARS & set(namespace + prefix):
                continue
            for dataset, columns in columns_by_dataset.items():
                parts = _parts(dataset)
                for full_parts, urn in full_names.get(_match_key(dataset, parts), ()) if parts else ():
                    defaults = _missing_defaults(parts, full_parts)
                    if any(BRACES & set(value) for _, value in defaults):
                        continue  # no setting holds such a value
                    if defaults and any(
                        namespace == full_namespace or alias_reason(namespace, full_namespace)
                        for full_namespace in columns_by_urn[urn]
                    ):
                        full_columns = frozenset(filter(None, columns_by_urn[urn].values()))
                        short = _ShortName(name, dataset, urn, columns, full_columns)
                        gaps.setdefault(_Gap(namespace, prefix, defaults), []).append(short)
        return gaps

    def _naming(self, gap: _Gap) -> Naming:
        """Return the naming with the gap's rule."""
        settings = self._settings.naming
        rules = (NamingRule.model_validate(gap.rule), *settings.rules)
        return Naming(settings.model_copy(update={"rules": rules}), self._settings.mappings)


def _lacking_finding(namespace: str, levels: list[str], names: Counter[str]) -> Finding:
    """Return the finding about names that lack levels, of which no event has the whole."""
    text = (
        f"{count_text(len(names), 'name', limit=MAX_EVIDENCE_NAMES)} of {one_line(namespace)} without {' and '.join(levels)}: "
        f"what a connector writes has another name ({list_examples(sorted(names))})"
    )
    rule: dict[str, object] = {"namespace": namespace}
    for level in levels:
        key = "default_database" if level in FIRST_TIER else "default_schema" if level in SECOND_TIER else None
        if key is None:
            rule.setdefault("parts", {})[level] = level.upper()  # type: ignore[index]  # the value of this key is a dict
        else:
            rule[key] = level.upper()
    return Finding("incomplete-name", text, names.total(), ("naming", "rules"), rule, sure=False)


def _build_finding(gap: _Gap, shorts: list[_ShortName], *, is_only_gap: bool) -> Finding:
    comparable_names = [short for short in shorts if short.columns and short.full_columns]
    difference_count = sum(short.columns not in short.full_columns for short in comparable_names)
    pairs = sorted(f"{'.'.join(_parts(short.dataset))} is {'.'.join(_parts(short.full_urn))}" for short in shorts)
    lacking_parts = " and ".join(key.removeprefix("default_") for key, _ in gap.defaults)
    text = f"{count_text(len(shorts), 'dataset')} without {lacking_parts} also seen with it ({list_examples(pairs)})"
    if difference_count:
        text += f"; the columns of {difference_count:,} differ"
    if not is_only_gap:
        text += f"; other names of this namespace belong to another {lacking_parts}"
    sure = is_only_gap and 2 * difference_count <= len(comparable_names)
    promise: dict[str, str | None] = {f"{gap.namespace}\n{short.name}": short.full_urn for short in shorts}
    return Finding("short-name", text, len(shorts), ("naming", "rules"), gap.rule, sure=sure, promise=promise)


def _missing_defaults(short_parts: list[str], full_parts: list[str]) -> tuple[tuple[str, str], ...]:
    """Return the defaults that make a name the ``full_parts`` one, () when it is another."""
    if len(short_parts) == 1 and full_parts[2:] == short_parts:
        return ("default_database", full_parts[0]), ("default_schema", full_parts[1])
    if full_parts[1:] == short_parts:
        return (("default_database", full_parts[0]),)
    return (("default_schema", full_parts[1]),) if [*full_parts[:1], *full_parts[2:]] == short_parts else ()


def _parts(urn: str) -> list[str]:
    """Return the parts of a dataset's name with its instance; [] for a text that is no URN, or no name of a table."""
    name = urn.partition(",")[2].rpartition(",")[0]
    return [] if "/" in name or not urn.startswith("urn:") else name.split(".")


def _match_key(urn: str, parts: list[str]) -> tuple[str, str, str]:
    """Return platform, last part of the name, and environment: the parts that a short and a complete name share."""
    return urn.partition(",")[0], parts[-1] if parts else "", urn.rpartition(",")[2]
