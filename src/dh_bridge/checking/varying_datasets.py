"""Datasets that each run or day creates: staging folders, temporary tables, part files, dates and queries in names."""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.checking.finding import MAX_EXAMPLES, Finding, count_text, one_line
from dh_bridge.checking.sample import Sample
from dh_bridge.checking.varying import DATE, VaryingGroup, mark_glob, mark_name, stable_text, varying_groups
from dh_bridge.naming.name import TEMPORARY_NAME
from dh_bridge.settings.naming import PATTERN_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.naming import Name, Naming
    from dh_bridge.openlineage.events import Dataset, Event
    from dh_bridge.options import Options

_MAX_RUNS = 4
"""Runs and jobs that are remembered for each dataset. More of them change no decision."""
_QUERY = re.compile(r"\(\s*(?:select|with)\b|^\s*(?:select|with)\s.*\b(?:from|as)\b", re.IGNORECASE | re.DOTALL).search
_QUERY_PLACEHOLDER = "COMPLEX"
"""The name that OpenLineage's Spark integration gives to a query of JDBC that it cannot parse."""
_TEMPORARY_WORD = re.compile(r"(?:^|[._/#-])(?:tmp|temp|temporary|scratch)(?:$|[._/-]|(?=\d))", re.IGNORECASE).search
_PART_WORDS = frozenset(("part", "chunk", "split", "file", "batch", "data", "out", "output", "result", "results", ""))
#: What follows the first word of a part file: a number, an attempt (``c000``), a hash, a mapper or reducer (``part-r-00000``).
_PART_TOKEN = re.compile(r"[a-z]?\d+|[0-9a-f]{4,}|of|part|[mr]", re.IGNORECASE).fullmatch
#: Files of one table behind its name: ``orders-00000-of-00004`` (Apache Beam, TensorFlow), ``orders-000000000000`` (exports of
#: BigQuery), ``orders_0000_part_00`` (UNLOAD of Redshift).
_SHARD = re.compile(r"[-_](?:\d{4,}[-_](?:of[-_]\d{4,}|part[-_]\d{2,})|\d{12})\Z", re.IGNORECASE).search
_GLOB_SIGNS = re.compile(r"([*?[])")


class DatasetUse(msgspec.Struct):
    """How the events of a sample use one name of a dataset."""

    endpoint: str = ""
    is_path: bool = False
    reader_runs: tuple[str, ...] = ()
    writer_runs: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    #: whether the name has the date of its event
    has_event_date: bool = False
    event_count: int = 0


class VaryingDatasetChecker:
    """Collects how names of datasets are used; bounded by ``limit`` names."""

    def __init__(self, options: Options, limit: int) -> None:
        self._naming: Naming = options.naming
        self._filters = options.filters
        #: namespace and name -> its use
        self._uses: Sample[DatasetUse] = Sample(limit, DatasetUse)
        #: namespace -> names that are queries
        self._queries: Sample[Counter[str]] = Sample(limit, Counter)

    def see(self, event: Event, dataset: Dataset, name: Name, *, is_output: bool) -> None:
        """Add one mention of a dataset."""
        if _is_query(dataset.name):
            names = self._queries.note_of(name.safe_namespace)
            if names is not None and (dataset.name in names or len(names) < _MAX_QUERIES):
                names[dataset.name] += 1
            return
        is_known = TEMPORARY_NAME in name.notes
        if name.endpoint is None or self._filters.is_temporary(dataset.namespace, dataset.name, is_known=is_known):
            return
        use = self._uses.note_of(f"{dataset.namespace}\n{dataset.name}")
        if use is None:
            return
        use.endpoint = max(use.endpoint, name.endpoint)
        use.is_path = "/" in dataset.name or (name.system is not None and "/" in name.dataset_name)
        use.event_count += 1
        if is_output:
            use.writer_runs = _add(use.writer_runs, event.run_id)
        else:
            use.reader_runs = _add(use.reader_runs, event.run_id)
        job = stable_text(mark_name(f"{event.namespace} {event.name.partition('.')[0]}").pieces[::2])
        use.jobs = _add(use.jobs, sys.intern(job))
        if not use.has_event_date and _date_text(event.time) in re.sub(r"\D", "", dataset.name):
            use.has_event_date = True

    def findings(self) -> Iterator[Finding]:
        """Yield a finding for each group of names that vary, and for the queries of each namespace."""
        names: dict[str, list[str]] = defaultdict(list)
        uses = dict(self._uses.items())
        for key in uses:
            namespace, _, name = key.partition("\n")
            names[namespace].append(name)
        for namespace, namespace_names in names.items():
            grouped: set[str] = set()
            for group in varying_groups(namespace_names):
                finding = self._group_finding(
                    namespace, group, {name: uses[f"{namespace}\n{name}"] for name in group.names}
                )
                if finding is not None:
                    grouped |= set(group.names)
                    yield finding
            single_names = [name for name in namespace_names if name not in grouped]
            yield from self._dated_findings(namespace, single_names, uses)
            yield from _temporary_findings(namespace, single_names, uses)
        for namespace, queries in self._queries.items():
            text = f"{count_text(len(queries), 'query', plural='queries', limit=_MAX_QUERIES)} of {one_line(namespace)}"
            yield Finding(
                "query-name", text, queries.total(), examples=tuple(map(one_line, sorted(queries)[:MAX_EXAMPLES]))
            )

    def _group_finding(self, namespace: str, group: VaryingGroup, uses: dict[str, DatasetUse]) -> Finding | None:
        """Return the finding about names that vary, None if these are probably different datasets."""
        if len({use.endpoint for use in uses.values()}) == 1 or (group.is_random and not _is_per_run(uses.values())):
            return None
        is_path = any(use.is_path for use in uses.values())
        kind = None
        if group.is_random:
            kind = "staging-folder" if is_path else "temporary-table"
            if not is_path or _is_intermediate(uses.values()):
                return self._collapse_finding(kind, namespace, group, uses)
        elif DATE in group.forms:
            kind = "dated-name"
        if is_path and _is_part_file(group):
            kind = "part-file"
        return None if kind is None else self._rename_finding(kind, namespace, group, uses)

    def _dated_findings(self, namespace: str, names: list[str], uses: dict[str, DatasetUse]) -> Iterator[Finding]:
        """Yield a finding for each name with the date of its event: one day has one of them, and tomorrow has another."""
        for name in names:
            use = uses[f"{namespace}\n{name}"]
            marked = mark_name(name)
            if not use.has_event_date or DATE not in marked.forms:
                continue
            literals, values = [marked.pieces[0]], []
            for position, form in enumerate(marked.forms):
                mark, literal = marked.pieces[2 * position + 1 : 2 * position + 3]
                if form == DATE:
                    values.append((mark,))
                    literals.append(literal)
                else:
                    literals[-1] += mark + literal
            group = VaryingGroup((name,), tuple(literals), (DATE,) * len(values), tuple(values))
            stable_endpoint = self._naming(namespace, _stable_name(group)).endpoint
            if stable_endpoint not in (None, use.endpoint):
                yield self._rename_finding("dated-name", namespace, group, {name: use})

    def _collapse_finding(self, kind: str, namespace: str, group: VaryingGroup, uses: dict[str, DatasetUse]) -> Finding:
        pieces = [_escape_glob(f"{namespace}/{group.literals[0]}")]
        for values, literal in zip(group.values, group.literals[1:], strict=True):
            pieces += [mark_glob(values), _escape_glob(literal)]
        effect = f"{_datasets(len(group.names))} are not written. Lineage skips them"
        return Finding(
            kind, _text(namespace, group), sum(use.event_count for use in uses.values()), ("temporary", "datasets"),
            "".join(pieces), examples=group.names[:MAX_EXAMPLES], effect=effect,
            promise={f"{namespace}\n{name}": None for name in group.names},
        )  # fmt: skip

    def _rename_finding(self, kind: str, namespace: str, group: VaryingGroup, uses: dict[str, DatasetUse]) -> Finding:
        count = sum(use.event_count for use in uses.values())
        finding = Finding(kind, _text(namespace, group), count, examples=group.names[:MAX_EXAMPLES])
        stable_name = _stable_name(group)
        endpoint = self._naming(namespace, stable_name).endpoint if stable_name.strip("/") else None
        pattern = _name_pattern(group)
        if endpoint is None or PATTERN_CHARS & set(f"{namespace}{stable_name}{''.join(group.literals)}"):
            return finding
        endpoints = len({use.endpoint for use in uses.values()})
        effect = f"{_datasets(endpoints)} {'becomes' if endpoints == 1 else 'become'} 1: {one_line(stable_name)}"
        if endpoints == 1:
            effect = f"one dataset instead of one for each day: {one_line(stable_name)}"
        return msgspec.structs.replace(
            finding, path=("naming", "rules"), value={"namespace": namespace, "name": pattern, "rename": stable_name},
            effect=effect, promise={f"{namespace}\n{name}": endpoint for name in group.names},
        )  # fmt: skip


_MAX_QUERIES = 100
"""Queries of one namespace that are remembered."""


def _add(texts: tuple[str, ...], text: str) -> tuple[str, ...]:
    """Return the texts with one more, at most `_MAX_RUNS`. A tuple needs a quarter of the memory of a set."""
    return texts if text in texts or len(texts) >= _MAX_RUNS else (*texts, text)


def _date_text(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1_000_000, timezone.utc).strftime("%Y%m%d")


def _is_query(name: str) -> bool:
    return name.rpartition(".")[2] == _QUERY_PLACEHOLDER or (" " in name and _QUERY(name) is not None)


def _is_per_run(uses: Iterable[DatasetUse]) -> bool:
    """Return whether each name is written once, or read by one run, and all names have the same job.

    UUIDs that several runs share are ids of tables or workspaces. Different jobs have different tables.
    """
    uses = list(uses)
    once = all(len(use.writer_runs) <= 1 and (use.writer_runs or len(use.reader_runs) <= 1) for use in uses)
    return once and bool(set.intersection(*(set(use.jobs) for use in uses)))


def _is_intermediate(uses: Iterable[DatasetUse]) -> bool:
    """Return whether most names are written by one run and read by another."""
    uses = list(uses)
    count = sum(bool(use.writer_runs and set(use.reader_runs) - set(use.writer_runs)) for use in uses)
    return 2 * count > len(uses)


def _is_part_file(group: VaryingGroup) -> bool:
    """Return whether the last segment of a path is a part file: ``part-00000-7d3c-c000.csv``, ``000000_0``."""
    return _part_prefix(group) is not None


def _part_prefix(group: VaryingGroup) -> str | None:
    """Return the common beginning of the names of part files, "" if only their folder has a name; None for other files."""
    if group.forms[-1] == DATE:
        return None
    last_segments = [name.rstrip("/").rpartition("/")[2] for name in group.names]
    prefixes = {_table_of_part(segment) for segment in last_segments}
    return prefixes.pop() if len(set(last_segments)) > 1 and len(prefixes) == 1 else None


def _table_of_part(segment: str) -> str | None:
    """Return the table's name that a part file begins with, "" if only its extension describes it; None for other files."""
    stem = segment.partition(".")[0]
    if _has_part_name(stem):
        return ""
    shard = _SHARD(stem)
    name = "" if shard is None else stem[: shard.start()]
    return name if any(map(str.isalpha, name)) else None


def _has_part_name(stem: str) -> bool:
    """Return whether the name of a file, without its extension, does not describe its content."""
    first, *others = re.split("[-_]", stem)
    has_number = any(char.isdigit() for char in stem)
    return (
        has_number
        and (first.lower() in _PART_WORDS or first[:1].isdigit())
        and all(not token or _PART_TOKEN(token) for token in others)
    )


def _stable_name(group: VaryingGroup) -> str:
    """Return the name that all names of a group become: without marks; of part files, the folder."""
    name = group.stable_name
    if "/" in group.names[0] and (prefix := _part_prefix(group)) is not None:
        literals = list(group.literals)
        while len(literals) > 1 and "/" not in literals[-1]:
            literals.pop()
        literals[-1] = literals[-1].rpartition("/")[0]
        name = f"{stable_text(literals)}/{prefix}"
    return name.rstrip("/")


def _name_pattern(group: VaryingGroup) -> str:
    """Return the pattern of the names for a rule: ``events/{part1}/{part2}/{part3}``; a mark with slashes has several parts."""
    pieces, number = [group.literals[0]], 0
    for values, literal in zip(group.values, group.literals[1:], strict=True):
        parts = []
        for separator in re.sub(r"[^/.]", "", values[0]) + " ":
            number += 1
            parts.append(f"{{part{number}}}{separator.strip()}")
        pieces += [*parts, literal]
    pattern = "".join(pieces)
    if "/" in pattern and (table := _part_prefix(group)) is not None:  # the other parts of its name belong to one write
        folder, _, file = pattern.rpartition("/")
        prefix = file[: len(table) + 1] if table else re.split("[^A-Za-z]", file, maxsplit=1)[0]
        separator = file[len(prefix) : len(prefix) + 1]
        return f"{folder}/{prefix}{separator if separator in ('-', '_') else ''}{{file}}"
    return pattern


def _temporary_findings(namespace: str, names: list[str], uses: dict[str, DatasetUse]) -> Iterator[Finding]:
    """Yield the finding about names with a word for temporary; a rule for those that another run reads again."""
    temporary_names = sorted(
        name for name in names if _TEMPORARY_WORD(name) and not uses[f"{namespace}\n{name}"].is_path
    )
    if not temporary_names:
        return
    count = sum(uses[f"{namespace}\n{name}"].event_count for name in temporary_names)
    text = f"{count_text(len(temporary_names), 'table')} of {one_line(namespace)} with a word for temporary in the name"
    examples = tuple(map(one_line, temporary_names[:MAX_EXAMPLES]))
    finding = Finding("temporary-table", text, count, examples=examples)
    if len(temporary_names) == 1:
        name = temporary_names[0]
        use = uses[f"{namespace}\n{name}"]
        if use.writer_runs and use.reader_runs:
            finding = msgspec.structs.replace(
                finding, path=("temporary", "datasets"), value=_escape_glob(f"{namespace}/{name}"), promise={f"{namespace}\n{name}": None},
                effect="1 dataset is not written. Lineage skips it",
            )  # fmt: skip
    yield finding


def _escape_glob(text: str) -> str:
    return _GLOB_SIGNS.sub(r"[\1]", text)


def _text(namespace: str, group: VaryingGroup) -> str:
    return f"{count_text(len(group.names), 'name')} of the form {one_line(group.display)} in {one_line(namespace)}"


def _datasets(count: int) -> str:
    return count_text(count, "dataset")
