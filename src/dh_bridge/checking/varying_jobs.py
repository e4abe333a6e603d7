"""Names of flows and jobs that change with every run: a date, hash, UUID, number or word in the name."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from dh_bridge.checking.finding import MAX_EXAMPLES, Finding, count_text, one_line
from dh_bridge.checking.sample import Sample
from dh_bridge.checking.varying import (
    DATE,
    NUMBER,
    WORD,
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
_MIN_NAMES = {NUMBER: 3, WORD: 5}
"""Names that make a group, by the form that varies; 2 for the others. Numbers and words also mark different flows."""
_REGEX_SIGNS = re.compile(r"([.^$*+?{}\[\]\\|()])")


class NameUse(msgspec.Struct):
    """The runs, datasets and jobs of one name of a flow, or of a job in a flow."""

    runs: set[str] = msgspec.field(default_factory=set)
    datasets: set[str] = msgspec.field(default_factory=set)
    #: namespace and name of jobs, as sent -> their own run ids
    jobs: dict[str, set[str]] = msgspec.field(default_factory=dict)
    #: URN of the job, for names of jobs
    urn: str = ""
    #: whether the id of the job begins with the name of its flow
    has_flow_in_id: bool = True

    @property
    def flow_runs(self) -> set[str]:
        """The runs of the flow; if no event names one, those of the job that ran most often."""
        return self.runs or max(self.jobs.values(), key=lambda runs: (len(runs), sorted(runs)), default=set())


class _NameGroup(NamedTuple):
    """Names that differ only in their marks; ``flow`` is the flow of jobs, None for names of flows."""

    namespace: str
    flow: str | None
    varying: VaryingGroup
    uses: list[NameUse]


class VaryingJobChecker:
    """Collects the names of flows and jobs; bounded by ``limit`` names of each."""

    def __init__(self, limit: int) -> None:
        #: namespace, platform and name of a flow -> its use
        self._flows: Sample[NameUse] = Sample(limit, NameUse)
        #: namespace, platform, flow and name of a job in it -> its use
        self._jobs: Sample[NameUse] = Sample(limit, NameUse)

    def see(self, event: Event, job: Job, flow: str, hints: Hints) -> None:
        """Add one event of a flow or a job."""
        # A job without a parent does not name the run of its flow.
        run = hints.run_id if job.level == "flow" else hints.parent[2] if hints.parent is not None else None
        key = f"{job.namespace}\n{job.platform}\n{flow}"
        _add_use(self._flows.note_of(key), event, run)
        if job.level == "job" and job.name.startswith(f"{flow}."):
            use = self._jobs.note_of(f"{key}\n{job.name[len(flow) + 1 :]}")
            _add_use(use, event, run)
            if use is not None:
                use.urn = job.job_urn or ""
                use.has_flow_in_id = job.job_id.startswith(f"{job.flow_id}.")

    def findings(self, canonical_namespaces: Mapping[str, str]) -> Iterator[Finding]:
        """Yield a finding for each group; ``canonical_namespaces`` is what proposed aliases make of namespaces."""
        varying_flows: set[str] = set()
        for group in _groups(self._flows, canonical_namespaces, depth=2):
            finding = _flow_finding(group)
            if finding is not None:
                varying_flows |= set(group.varying.names)
                yield finding
        for group in _groups(self._jobs, canonical_namespaces, depth=3):
            if group.flow not in varying_flows and (finding := _job_finding(group)) is not None:
                yield finding


def _add_use(use: NameUse | None, event: Event, run: str | None) -> None:
    if use is None:
        return
    if run is not None and len(use.runs) < _MAX_RUNS:
        use.runs.add(run)
    job = f"{event.namespace}\n{event.name}"
    if job in use.jobs or len(use.jobs) < _MAX_JOBS:
        job_runs = use.jobs.setdefault(job, set())
        if event.kind == "run" and len(job_runs) < _MAX_RUNS:
            job_runs.add(event.run_id)
    for dataset in (*event.inputs, *event.outputs):
        if len(use.datasets) < _MAX_DATASETS:
            use.datasets.add(f"{dataset.namespace} {stable_text(mark_name(dataset.name).pieces[::2])}")


def _groups(sample: Sample[NameUse], canonical_namespaces: Mapping[str, str], *, depth: int) -> Iterator[_NameGroup]:
    """Yield the groups of names of each namespace, platform and, for jobs, flow."""
    uses_by_parent: dict[tuple[str, ...], dict[str, NameUse]] = defaultdict(dict)
    for key, use in sample.items():
        namespace, *parents, name = key.split("\n", depth)
        parent_key = (canonical_namespaces.get(namespace, namespace), *parents)
        uses_by_parent[parent_key][name] = use
    for (namespace, _, *flow), uses in sorted(uses_by_parent.items()):
        grouped: set[str] = set()
        for varying in _candidates(uses):
            if grouped.isdisjoint(varying.names):
                group = _NameGroup(
                    namespace, flow[0] if flow else None, varying, [uses[name] for name in varying.names]
                )
                if _is_per_run(group):
                    grouped |= set(varying.names)
                    yield group


def _candidates(uses: dict[str, NameUse]) -> Iterator[VaryingGroup]:
    yield from varying_groups(uses)
    single_runs = {name: use for name, use in uses.items() if len(use.flow_runs) == 1 and use.datasets}
    names_by_datasets: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, use in sorted(single_runs.items()):
        names_by_datasets[tuple(sorted(use.datasets))].append(name)
    for _, names in sorted(names_by_datasets.items()):
        yield from word_groups(names, min_names=_MIN_NAMES[WORD])


def _is_per_run(group: _NameGroup) -> bool:
    """Return whether names vary with the run, so that they are probably one flow or one job.

    A date is evidence for flows. Other marks, and jobs, need a run of its own for each name: jobs of one run are different
    jobs. Numbers and words, which also mark different flows, need the same datasets, too.
    """
    varying = group.varying
    is_strong = varying.is_random or DATE in varying.forms
    if not is_strong and (len(varying.names) < _MIN_NAMES[varying.forms[0]] or not _share_datasets(group.uses)):
        return False
    if is_strong and not varying.is_random and group.flow is None:
        return True
    if any(len(use.flow_runs) > 1 for use in group.uses):
        return False
    if group.flow is not None and len({use.urn for use in group.uses}) == 1:
        return False  # a rule of the user gives them one name
    # Jobs of one run of their flow are different jobs. Jobs without a parent do not name that run.
    runs = [use.runs if group.flow is not None else use.flow_runs for use in group.uses]
    return len(set().union(*runs)) >= len(varying.names)


def _flow_finding(group: _NameGroup) -> Finding | None:
    varying, name = group.varying, group.varying.stable_name
    value = {
        "namespace": _escape_regex(group.namespace),
        "name": rf"{_regex(varying)}(?P<rest>\..*)?",
        "flow": name,
        "job": f"{name}{{rest}}",
    }
    return _finding(group, name, value, noun="flow", promise=name)


def _job_finding(group: _NameGroup) -> Finding | None:
    varying, flow = group.varying, group.flow or ""
    task = varying.stable_name
    job = f"{flow}.{task}" if group.uses[0].has_flow_in_id else task
    value = {
        "namespace": _escape_regex(group.namespace),
        "name": f"{_escape_regex(flow)}\\.{_regex(varying)}",
        "flow": flow,
        "job": job,
    }
    return _finding(group, task, value, noun="job", promise=f"{flow}\n{job}")


def _finding(group: _NameGroup, name: str, rule: dict[str, str], *, noun: str, promise: str) -> Finding:
    names, share_datasets = group.varying.names, _share_datasets(group.uses)
    form = group.varying.display if group.flow is None else f"{group.flow}.{group.varying.display}"
    text = f"{count_text(len(names), 'name')} of the form {one_line(form)} in {one_line(group.namespace)}"
    if share_datasets:
        text += ". They use the same datasets"
    finding = Finding("name-per-run", text, len(names), examples=names[:MAX_EXAMPLES])
    if not name or "{" in f"{name}{group.flow}" or (share_datasets is False and group.varying.is_random):
        return finding
    jobs = sorted({job for use in group.uses for job in use.jobs})
    return msgspec.structs.replace(
        finding, path=("identity", "rules"), value=rule, promise=dict.fromkeys(jobs, promise),
        effect=f"{count_text(len(names), noun)} become 1: {one_line(name)}",
    )  # fmt: skip


def _share_datasets(uses: Iterable[NameUse]) -> bool | None:
    """Return whether most names share a dataset, None if fewer than two have datasets."""
    with_datasets = [use for use in uses if use.datasets]
    if len(with_datasets) < 2:
        return None
    counts = Counter(dataset for use in with_datasets for dataset in use.datasets)
    return 2 * max(counts.values()) > len(with_datasets)


def _regex(varying: VaryingGroup) -> str:
    """Return a regular expression for the names of a group."""
    pieces = [_escape_regex(varying.literals[0])]
    for form, values, literal in zip(varying.forms, varying.values, varying.literals[1:], strict=True):
        pieces += [mark_pattern(form, values), _escape_regex(literal)]
    return "".join(pieces)


def _escape_regex(text: str) -> str:
    """Return text as a regular expression, without the escapes that only re.VERBOSE needs."""
    return _REGEX_SIGNS.sub(r"\\\1", text)
