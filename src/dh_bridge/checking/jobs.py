"""Findings from names of jobs and runs: dotted flows, times in names, two addresses, two installations, dbt's two names."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

import msgspec

from dh_bridge.checking.finding import MAX_EVIDENCE_NAMES, Finding, count_text, list_examples, one_line
from dh_bridge.checking.namespace_aliases import (
    alias_reason,
    best_spelling,
    connected_groups,
    parse_namespace_url,
    unlike_pair_text,
)
from dh_bridge.checking.sample import Sample
from dh_bridge.checking.varying_jobs import VaryingJobChecker
from dh_bridge.identity.dbt_nodes import node_job_name
from dh_bridge.identity.hints import read_hints
from dh_bridge.identity.normalize import NameNormalizer
from dh_bridge.identity.runs import normalize_run_id
from dh_bridge.identity.warnings import LINTS, Sightings, is_dotted_flow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dh_bridge.identity import Job
    from dh_bridge.identity.hints import Hints
    from dh_bridge.openlineage.events import Event
    from dh_bridge.options import Options

_Key = TypeVar("_Key")
_Origin = tuple[str, str]

_MAX_KEYS = 8
_MAX_ORIGINS = 1_000
"""Pairs of namespaces that runs share in memory."""
_DEFAULT_PLATFORM_RULE = "platform: default"
_VERSION = re.compile(r"v?\d+(?:[.-]\w+)+", re.IGNORECASE).fullmatch
_MIN_SHARED_JOBS = 3


class _RunOrigins(msgspec.Struct):
    origins: tuple[_Origin, ...] = ()


class JobChecker:
    """Follows the jobs and runs of events; bounded by ``limit`` jobs and runs."""

    def __init__(self, options: Options, limit: int) -> None:
        self._identity = options.identity
        self._normalizer = NameNormalizer(options.settings.identity)
        self._has_unique_ids = options.settings.dbt.node_identity == "unique_id"
        self._has_salt = options.settings.identity.salt is not None
        self._sightings = Sightings(limit)
        self._lints: Counter[str] = Counter()
        self._examples: dict[str, str] = {}
        #: platform and name of a job -> namespaces
        self._namespaces_by_job: Sample[Counter[str]] = Sample(limit, Counter)
        #: namespace -> dotted names of flows
        self._dotted: Sample[Counter[str]] = Sample(limit, Counter)
        self._varying_jobs = VaryingJobChecker(limit)
        #: name by unique id -> names
        self._nodes: Sample[Counter[str]] = Sample(limit, Counter)
        #: run id -> namespaces of the job and of its root, for each START that names others
        self._runs: Sample[_RunOrigins] = Sample(limit, _RunOrigins)
        #: each pair of namespaces once, however many runs have it
        self._origins: dict[_Origin, _Origin] = {}
        self._unknown_producers: Sample[Counter[str]] = Sample(limit, Counter)

    @property
    def sampled_fraction(self) -> float:
        """The part of all runs that was followed."""
        return self._runs.sampled_fraction

    def see(self, event: Event) -> None:
        """Note the job and the run of one event."""
        if event.kind == "dataset":
            return
        job = self._identity.for_event(event).job(event.namespace, event.name, self._identity.sender_of(event))
        if job.placeholder or job.skip:
            return
        event_hints = read_hints(event)
        self._see_namespaces(job)
        self._see_names(event, job, event_hints)
        self._see_lints(job, event)
        if event_hints.run_id is not None:
            run = self._runs.note_of(normalize_run_id(event_hints.run_id))
            if run is not None and event.type == "START":
                origin = job.namespace, event_hints.root[0] if event_hints.root else ""
                if origin not in run.origins and len(run.origins) < _MAX_KEYS:
                    run.origins += (self._shared_origin(origin),)
        if event.producer and _DEFAULT_PLATFORM_RULE in job.rules:
            _count_key(
                self._unknown_producers.note_of(_version_pattern(event.producer)), job.name, max_keys=MAX_EVIDENCE_NAMES
            )

    def findings(self) -> Iterator[Finding]:
        """Yield the findings."""
        alias_findings = list(self._alias_findings())
        yield from alias_findings
        # rules see the namespace that a group makes of its aliases
        canonical_namespaces = {
            alias: finding.value[0] for finding in alias_findings if finding.sure for alias in finding.value[1]
        }
        yield from self._rule_findings(canonical_namespaces)
        yield from self._installation_findings()
        yield from self._node_findings()
        for producer, jobs in self._unknown_producers.items():
            yield _unknown_producer_finding(producer, jobs)
        for lint, count in sorted(self._lints.items()):
            text = f"{LINTS[lint]} ({one_line(self._examples[lint])})"
            yield Finding(lint, text, count)

    # -- seeing ---------------------------------------------------------------------------------------------------------

    def _see_namespaces(self, job: Job) -> None:
        namespaces = self._namespaces_by_job.note_of(f"{job.platform}\n{job.name}")
        if namespaces is not None:
            _count_key(namespaces, job.namespace)

    def _see_names(self, event: Event, job: Job, event_hints: Hints) -> None:
        name, dag = (
            self._normalizer.name(job.name),
            self._normalizer.name(event_hints.task.dag_id or ""),
        )  # as rules see them
        dotted = None
        if is_dotted_flow(job, event_hints.job_type):
            dotted = name
        elif "." in dag and name.startswith(f"{dag}.") and job.flow_name != dag:
            dotted = dag
        self._varying_jobs.see(event, job, dotted or job.flow_name, event_hints)
        if dotted is not None:
            _count_key(self._dotted.note_of(job.namespace), dotted, max_keys=MAX_EVIDENCE_NAMES)
        if event_hints.node is not None and job.platform == "dbt" and not self._has_unique_ids:
            _count_key(self._nodes.note_of(node_job_name(event_hints.node.unique_id, event_hints.job_type)), job.name)

    def _shared_origin(self, origin: _Origin) -> _Origin:
        if len(self._origins) >= _MAX_ORIGINS:
            return self._origins.get(origin, origin)
        return self._origins.setdefault(origin, origin)

    def _see_lints(self, job: Job, event: Event) -> None:
        urn = self._identity.run_urn(event.namespace, event.name, event.run_id) if event.kind == "run" else None
        for lint in self._sightings.see(job, urn):
            self._lints[lint] += 1
            self._examples.setdefault(lint, f"{event.namespace} {event.name}")

    # -- findings -------------------------------------------------------------------------------------------------------

    def _alias_findings(self) -> Iterator[Finding]:
        counts: Counter[str] = Counter()
        shared: dict[tuple[str, str], list[str]] = {}
        for key, namespaces in self._namespaces_by_job.items():
            counts.update(namespaces)
            for pair in combinations(sorted(namespaces), 2):
                shared.setdefault(pair, []).append(key.partition("\n")[2])
        reasons = {pair: reason for pair in shared if (reason := alias_reason(*pair)) is not None}
        for group in connected_groups(reasons):
            pairs = [pair for pair in combinations(group, 2) if pair in shared]
            jobs = sorted({name for pair in pairs for name in shared[pair]})
            reason = "; ".join(sorted({reasons[pair] for pair in pairs if pair in reasons}))
            difference = unlike_pair_text(group)
            text = f"{reason}: {count_text(len(jobs), 'job')} seen under several of these names ({list_examples(jobs)}){difference}"
            yield _alias_finding(group, counts, text, sure=not difference)
        for pair, jobs in shared.items():
            urls = [
                namespace_url for namespace in pair if (namespace_url := parse_namespace_url(namespace)) is not None
            ]
            if pair not in reasons and len(urls) == len(pair) and len(jobs) >= _MIN_SHARED_JOBS:
                text = f"{count_text(len(jobs), 'job')} seen under both names ({list_examples(jobs)}): check whether this is one installation, or two with the same jobs"
                yield _alias_finding(list(pair), counts, text, sure=False)

    def _rule_findings(self, canonical_namespaces: Mapping[str, str]) -> Iterator[Finding]:
        """Yield the rules; ``canonical_namespaces`` is what namespaces will be called."""
        varying_findings = list(self._varying_jobs.findings(canonical_namespaces))
        # The rule of varying names also gives them a flow.
        solved_jobs = {job.partition("\n")[2] for finding in varying_findings for job in finding.promise}
        for namespace, names in sorted(_by_namespace(self._dotted, canonical_namespaces).items()):
            remaining = Counter({name: count for name, count in names.items() if name not in solved_jobs})
            if remaining:
                yield _dotted_flow_finding(namespace, remaining)
        yield from varying_findings

    def _installation_findings(self) -> Iterator[Finding]:
        repeated_runs = []
        for run_id, run in self._runs.items():
            start_origins = run.origins
            if len(start_origins) > 1 and not all(
                alias_reason(first[0], second[0]) for first, second in combinations(start_origins, 2)
            ):
                repeated_runs.append(
                    (run_id, sorted({" under ".join(filter(None, origin)) for origin in start_origins}))
                )
        if not repeated_runs:
            return
        origins = sorted({origin for _, run_origins in repeated_runs for origin in run_origins})
        text = f"{count_text(len(repeated_runs), 'run id')} started more than once: in {list_examples(origins)} (e.g. {one_line(repeated_runs[0][0])})"
        has_several_namespaces = len({origin.partition(" under ")[0] for origin in origins}) > 1
        if has_several_namespaces and not self._has_salt:
            yield Finding("two-installations", text, len(repeated_runs), ("identity", "salt"), "namespace")
        elif not has_several_namespaces:
            text += ": two installations use one namespace; give each its own in OpenLineage's settings"
            yield Finding("two-installations", text, len(repeated_runs))

    def _node_findings(self) -> Iterator[Finding]:
        renamed_nodes = [(name, sorted(names)) for name, names in self._nodes.items() if len(names) > 1]
        if renamed_nodes:
            first, names = renamed_nodes[0]
            text = f"{count_text(len(renamed_nodes), 'dbt node')} with several names: {one_line(first)} is {list_examples(names)}"
            yield Finding("two-names", text, len(renamed_nodes), ("dbt", "node_identity"), "unique_id")


def _by_namespace(sample: Sample[Counter[str]], canonical_namespaces: Mapping[str, str]) -> dict[str, Counter[str]]:
    """Return the notes of keys that begin with a namespace, those of one namespace as one."""
    counters: dict[str, Counter[str]] = {}
    for key, names in sample.items():
        namespace, separator, suffix = key.partition("\n")
        counters.setdefault(f"{canonical_namespaces.get(namespace, namespace)}{separator}{suffix}", Counter()).update(
            names
        )
    return counters


def _alias_finding(group: list[str], counts: Counter[str], text: str, *, sure: bool) -> Finding:
    canonical_namespace = best_spelling(group, counts)
    value = (canonical_namespace, [namespace for namespace in group if namespace != canonical_namespace])
    count = sum(counts[namespace] for namespace in group)
    return Finding("one-namespace", text, count, ("identity", "namespaces"), value, sure=sure)


def _dotted_flow_finding(namespace: str, names: Counter[str]) -> Finding:
    flows = "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))
    rule = {"namespace": re.escape(namespace), "name": rf"(?P<flow>{flows})(?:\.(?P<task>.+))?", "flow": "{flow}"}
    text = f"{count_text(len(names), 'flow', limit=MAX_EVIDENCE_NAMES)} with a dot in the name: {list_examples(sorted(names))}"
    if len(names) >= MAX_EVIDENCE_NAMES:
        text += f"; the rule lists {len(names):,} of them: add it, and run this command again"
    return Finding("dotted-flow", text, names.total(), ("identity", "rules"), rule)


def _unknown_producer_finding(producer: str, jobs: Counter[str]) -> Finding:
    rule = {"producer": producer, "platform": "PLATFORM"}
    text = f"unknown producer: {one_line(producer)} sends {count_text(len(jobs), 'job', limit=MAX_EVIDENCE_NAMES)} ({list_examples(sorted(jobs))})"
    return Finding("unknown-producer", text, jobs.total(), ("identity", "rules"), rule, sure=False)


def _version_pattern(producer: str) -> str:
    """Return a regular expression for a producer's URI that fits its other versions, too."""
    return "/".join("[^/]+" if _VERSION(part) else re.escape(part) for part in producer.split("/"))


def _count_key(counter: Counter[_Key] | None, key: _Key, count: int = 1, max_keys: int = _MAX_KEYS) -> None:
    """Count ``key``; beyond ``max_keys`` keys only those that are known."""
    if counter is not None and (key in counter or len(counter) < max_keys):
        counter[key] += count
