"""Names of flows that change with every run: a date, hash, UUID, number or word in the name of an application or a DAG."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.checking.finding import MAX_EXAMPLES, Finding, count_text, one_line
from dh_bridge.checking.sample import Sample
from dh_bridge.checking.varying import (
    DATE,
    VaryingGroup,
    mark_name,
    mark_pattern,
    stable_text,
    varying_groups,
    word_groups,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dh_bridge.identity import Job
    from dh_bridge.identity.hints import Hints
    from dh_bridge.openlineage.events import Event

_MAX_RUNS = 2
_MAX_DATASETS = 16
_MAX_JOBS = 16
"""Runs, datasets and jobs that are remembered for each flow. More of them change no decision."""
_MIN_NAMES = {"number": 3, "word": 5}
"""Names that make a group, by the form that varies; 2 for the others. Numbers and words also mark different flows."""
_REGEX_SIGNS = re.compile(r"([.^$*+?{}\[\]\\|()])")


class FlowUse(msgspec.Struct):
    """The runs, datasets and jobs of one name of a flow."""

    runs: set[str] = msgspec.field(default_factory=set)
    datasets: set[str] = msgspec.field(default_factory=set)
    #: namespace and name of jobs, as sent
    jobs: set[str] = msgspec.field(default_factory=set)


class VaryingJobChecker:
    """Collects the names of flows; bounded by ``limit`` names."""

    def __init__(self, limit: int) -> None:
        #: namespace, platform and name of a flow -> its use
        self._uses: Sample[FlowUse] = Sample(limit, FlowUse)

    def see(self, event: Event, job: Job, flow: str, hints: Hints) -> None:
        """Add one event of a flow."""
        use = self._uses.note_of(f"{job.namespace}\n{job.platform}\n{flow}")
        if use is None:
            return
        # A job without a parent does not name the run of its flow.
        run = hints.run_id if job.level == "flow" else hints.parent[2] if hints.parent is not None else None
        if run is not None and len(use.runs) < _MAX_RUNS:
            use.runs.add(run)
        if len(use.jobs) < _MAX_JOBS:
            use.jobs.add(f"{event.namespace}\n{event.name}")
        for dataset in (*event.inputs, *event.outputs):
            if len(use.datasets) < _MAX_DATASETS:
                marked = mark_name(dataset.name)
                use.datasets.add(f"{dataset.namespace} {stable_text(marked.pieces[::2])}")

    def findings(self, canonical_namespaces: Mapping[str, str]) -> Iterator[Finding]:
        """Yield a finding for each group; ``canonical_namespaces`` is what proposed aliases make of namespaces."""
        flows: dict[tuple[str, str], dict[str, FlowUse]] = defaultdict(dict)
        for key, use in self._uses.items():
            namespace, platform, flow = key.split("\n", 2)
            flows[canonical_namespaces.get(namespace, namespace), platform][flow] = use
        for (namespace, _), uses in sorted(flows.items()):
            grouped: set[str] = set()
            for group in varying_groups(uses):
                finding = _group_finding(namespace, group, {name: uses[name] for name in group.names})
                if finding is not None:
                    grouped |= set(group.names)
                    yield finding
            candidates = {name: use for name, use in uses.items() if name not in grouped and len(use.runs) == 1}
            for datasets in {frozenset(use.datasets) for use in candidates.values() if use.datasets}:
                names = sorted(name for name, use in candidates.items() if use.datasets == datasets)
                for group in word_groups(names, min_names=_MIN_NAMES["word"]):
                    finding = _group_finding(namespace, group, {name: uses[name] for name in group.names})
                    if finding is not None:
                        yield finding


def _group_finding(namespace: str, group: VaryingGroup, uses: dict[str, FlowUse]) -> Finding | None:
    """Return the finding about names of flows, None if these are probably different flows."""
    has_strong_form = group.is_random or DATE in group.forms
    if not has_strong_form and len(group.names) < _MIN_NAMES[group.forms[0]]:
        return None
    if not has_strong_form or group.is_random:
        runs = set().union(*(use.runs for use in uses.values()))
        if any(len(use.runs) > 1 for use in uses.values()) or (runs and len(runs) < len(group.names)):
            return None
    shares_datasets = _shares_datasets(uses.values())
    if not shares_datasets and not has_strong_form:
        return None
    text = f"{count_text(len(group.names), 'name')} of {one_line(namespace)} differ only in one part: {one_line(group.display)}"
    if shares_datasets:
        text += ". All of them use the same datasets"
    finding = Finding("name-per-run", text, len(group.names), examples=group.names[:MAX_EXAMPLES])
    stable_name = group.stable_name
    if not stable_name or "{" in stable_name or (shares_datasets is False and group.is_random):
        return finding
    jobs = sorted({job for use in uses.values() for job in use.jobs})
    return msgspec.structs.replace(
        finding, path=("identity", "rules"), value=_rule(namespace, group), promise=dict.fromkeys(jobs, stable_name),
        effect=f"{count_text(len(group.names), 'flow')} become 1: {one_line(stable_name)}",
    )  # fmt: skip


def _shares_datasets(uses: Iterable[FlowUse]) -> bool | None:
    """Return whether most names share a dataset, None if fewer than two have datasets."""
    with_datasets = [use for use in uses if use.datasets]
    if len(with_datasets) < 2:
        return None
    counts = Counter(dataset for use in with_datasets for dataset in use.datasets)
    return 2 * max(counts.values()) > len(with_datasets)


def _rule(namespace: str, group: VaryingGroup) -> dict[str, str]:
    pieces = [_escape_regex(group.literals[0])]
    for form, values, literal in zip(group.forms, group.values, group.literals[1:], strict=True):
        pieces += [mark_pattern(form, values), _escape_regex(literal)]
    name = "".join(pieces) + r"(?P<rest>\..*)?"
    stable_name = group.stable_name
    return {"namespace": _escape_regex(namespace), "name": name, "flow": stable_name, "job": f"{stable_name}{{rest}}"}


def _escape_regex(text: str) -> str:
    """Return text as a regular expression, without the escapes that only re.VERBOSE needs."""
    return _REGEX_SIGNS.sub(r"\\\1", text)
