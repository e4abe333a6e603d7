"""What the names of jobs and runs tell: dotted flows, stamps in names, two addresses, two installations, dbt's two names."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

from dh_bridge.learning.finding import MOST, Finding, listed, shown, times
from dh_bridge.learning.namespace_aliases import alike, best, groups, unlike, url
from dh_bridge.learning.sample import Sample
from dh_bridge.translation.identity.dbt_nodes import unique_name
from dh_bridge.translation.identity.hints import hints
from dh_bridge.translation.identity.normalize import Words
from dh_bridge.translation.identity.runs import bare
from dh_bridge.translation.identity.warnings import LINTS, Sightings, flow_dot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dh_bridge.openlineage.events import Event
    from dh_bridge.translation.identity import Job
    from dh_bridge.translation.identity.hints import Hints
    from dh_bridge.translation.options import Options

_Key = TypeVar("_Key")

_FEW = 8
_NOBODYS = "platform: identity.default_platform"
_VERSION = re.compile(r"v?\d+(?:[.-]\w+)+", re.IGNORECASE).fullmatch
#: Stamps at the end of an application's name, as Spark's listener writes them: lower case, all else an underscore.
STAMPS = (
    r"\d{4}[_-]\d{2}[_-]\d{2}(?:[t_-]\d{2}(?:[_-]?\d{2}){0,2}(?:[_-]\d+)?z?)?",
    r"\d{8}(?:[t_-]?\d{4,6})?",
    r"\d{10,14}",
    r"[0-9a-f]{8}(?:[_-][0-9a-f]{4}){3}[_-][0-9a-f]{12}",
)
_STAMPED = [re.compile(rf"(?P<app>.*[^_-])[_-]+{stamp}", re.IGNORECASE) for stamp in STAMPS]
_SURE_JOBS = 3


class Jobs:
    """Follows the jobs and runs of events; bounded by ``limit`` jobs and runs."""

    def __init__(self, options: Options, limit: int) -> None:
        self._identity = options.identity
        self._words = Words(options.settings.identity)
        self._named_by_id = options.settings.dbt.node_identity == "unique_id"
        self._salted = options.settings.identity.salt is not None
        self._sightings = Sightings(limit)
        self._lints: Counter[str] = Counter()
        self._examples: dict[str, str] = {}
        #: platform and name of a job -> namespaces
        self._places: Sample[Counter[str]] = Sample(limit, Counter)
        #: namespace -> dotted names of flows; those with a stamp in them apart, by the key of `_stems`
        self._dotted: Sample[Counter[str]] = Sample(limit, Counter)
        #: namespace, stem and form of stamp -> names
        self._stems: Sample[Counter[str]] = Sample(limit, Counter)
        #: name by unique id -> names
        self._nodes: Sample[Counter[str]] = Sample(limit, Counter)
        #: run id -> namespace of its job and of its root's -> STARTs
        self._runs: Sample[Counter[tuple[str, str]]] = Sample(limit, Counter)
        self._strangers: Sample[Counter[str]] = Sample(limit, Counter)

    @property
    def share(self) -> float:
        """The part of all runs that was followed."""
        return self._runs.share

    def see(self, event: Event) -> None:
        """Note the job and the run of one event."""
        if event.kind == "dataset":
            return
        job = self._identity.of(event).job(event.namespace, event.name, event.producer)
        if job.placeholder or job.skip:
            return
        said = hints(event)
        self._see_places(job)
        self._see_names(job, said)
        self._see_lints(job, event)
        if said.run_id is not None:
            starts = self._runs.at(bare(said.run_id))
            if starts is not None:
                _note(starts, (job.namespace, said.root[0] if said.root else ""), int(event.type == "START"))
        if event.producer and _NOBODYS in job.rules:
            _note(self._strangers.at(_any_version(event.producer)), job.name, most=MOST)

    def findings(self) -> Iterator[Finding]:
        """Yield what there is to say."""
        places = list(self._one_place())
        yield from places
        # rules see the namespace that a group makes of its aliases
        meant = {alias: found.value["canonical"] for found in places if found.sure for alias in found.value["aliases"]}
        yield from self._rules(meant)
        yield from self._two_installations()
        yield from self._two_names()
        for producer, jobs in self._strangers.items():
            yield _stranger(producer, jobs)
        for lint, count in sorted(self._lints.items()):
            text = f"{LINTS[lint]} ({shown(self._examples[lint])})"
            yield Finding(lint, text, count)

    # -- seeing ---------------------------------------------------------------------------------------------------------

    def _see_places(self, job: Job) -> None:
        places = self._places.at(f"{job.platform}\n{job.name}")
        if places is not None:
            _note(places, job.namespace)

    def _see_names(self, job: Job, said: Hints) -> None:
        name, dag = self._words.name(job.name), self._words.name(said.task.dag_id or "")  # as rules see them
        dotted = None
        if flow_dot(job, said.job_type):
            dotted = name
        elif "." in dag and name.startswith(f"{dag}.") and job.flow_name != dag:
            dotted = dag
        key = job.namespace
        for position, form in enumerate(_STAMPED):
            match = form.fullmatch(dotted or job.flow_name)
            if match is not None:
                key = f"{job.namespace}\n{match['app']}\n{position}"
                _note(self._stems.at(key), match[0], most=MOST)
                break
        if dotted is not None:
            _note(self._dotted.at(key), dotted, most=MOST)
        if said.node is not None and job.platform == "dbt" and not self._named_by_id:
            _note(self._nodes.at(unique_name(said.node.unique_id, said.job_type)), job.name)

    def _see_lints(self, job: Job, event: Event) -> None:
        urn = self._identity.run_urn(event.namespace, event.name, event.run_id) if event.kind == "run" else None
        for lint in self._sightings.see(job, urn):
            self._lints[lint] += 1
            self._examples.setdefault(lint, f"{event.namespace} {event.name}")

    # -- telling --------------------------------------------------------------------------------------------------------

    def _one_place(self) -> Iterator[Finding]:
        counts: Counter[str] = Counter()
        shared: dict[tuple[str, str], list[str]] = {}
        for key, places in self._places.items():
            counts.update(places)
            for pair in combinations(sorted(places), 2):
                shared.setdefault(pair, []).append(key.partition("\n")[2])
        reasons = {pair: why for pair in shared if (why := alike(*pair)) is not None}
        for group in groups(reasons):
            pairs = [pair for pair in combinations(group, 2) if pair in shared]
            jobs = sorted({name for pair in pairs for name in shared[pair]})
            why = "; ".join(sorted({reasons[pair] for pair in pairs if pair in reasons}))
            apart = unlike(group)
            text = f"{why}: {times(len(jobs), 'job')} under several of them ({listed(jobs)}){apart}"
            yield _alias(group, counts, text, sure=not apart)
        for pair, jobs in shared.items():
            both = [found for namespace in pair if (found := url(namespace)) is not None]
            if pair not in reasons and len(both) == len(pair) and len(jobs) >= _SURE_JOBS:
                text = (
                    f"{times(len(jobs), 'job')} under both ({listed(jobs)}): one installation, or two of the same jobs?"
                )
                yield _alias(list(pair), counts, text, sure=False)

    def _rules(self, meant: Mapping[str, str]) -> Iterator[Finding]:
        """Yield the rules; ``meant`` is what namespaces will be called. One that takes the stamp off leaves no dotted flow."""
        stems = _by_place(self._stems, meant)
        stamped = {key for key, names in stems.items() if len(names) > 1}
        dotted: dict[str, Counter[str]] = {}
        for key, names in _by_place(self._dotted, meant).items():
            if key not in stamped:
                dotted.setdefault(key.partition("\n")[0], Counter()).update(names)
        for namespace, names in sorted(dotted.items()):
            yield _dotted(namespace, names)
        for key in sorted(stamped):
            yield _stamped(key, stems[key])

    def _two_installations(self) -> Iterator[Finding]:
        found = []
        for run_id, starts in self._runs.items():
            began = [place for place, count in starts.items() if count]
            if len(began) > 1 and not all(alike(one[0], other[0]) for one, other in combinations(began, 2)):
                found.append((run_id, sorted({" under ".join(filter(None, place)) for place in began})))
        if not found:
            return
        places = sorted({place for _, named in found for place in named})
        text = f"{times(len(found), 'run id')} began more than once: in {listed(places)} (such as {shown(found[0][0])})"
        apart = len({place.partition(" under ")[0] for place in places}) > 1
        if apart and not self._salted:
            yield Finding("two-installations", text, len(found), ("identity", "salt"), "namespace")
        elif not apart:
            text += ": one namespace for both; give each its own in OpenLineage's settings"
            yield Finding("two-installations", text, len(found))

    def _two_names(self) -> Iterator[Finding]:
        found = [(name, sorted(names)) for name, names in self._nodes.items() if len(names) > 1]
        if found:
            first, names = found[0]
            text = f"{times(len(found), 'dbt node')} under several names: {shown(first)} is {listed(names)}"
            yield Finding("two-names", text, len(found), ("dbt", "node_identity"), "unique_id")


def _by_place(sample: Sample[Counter[str]], meant: Mapping[str, str]) -> dict[str, Counter[str]]:
    """Return the notes of keys that begin with a namespace, those of one namespace as one."""
    found: dict[str, Counter[str]] = {}
    for key, names in sample.items():
        namespace, mark, rest = key.partition("\n")
        found.setdefault(f"{meant.get(namespace, namespace)}{mark}{rest}", Counter()).update(names)
    return found


def _alias(group: list[str], counts: Counter[str], text: str, *, sure: bool) -> Finding:
    canonical = best(group, counts)
    value = {"canonical": canonical, "aliases": [namespace for namespace in group if namespace != canonical]}
    seen = sum(counts[namespace] for namespace in group)
    return Finding("one-namespace", text, seen, ("identity", "namespaces"), value, sure=sure)


def _dotted(namespace: str, names: Counter[str]) -> Finding:
    flows = "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))
    rule = {"namespace": re.escape(namespace), "name": rf"(?P<flow>{flows})(?:\.(?P<task>.+))?", "flow": "{flow}"}
    text = f"{times(len(names), 'flow', most=MOST)} whose name has a dot: {listed(sorted(names))}"
    if len(names) >= MOST:
        text += f"; the rule names {len(names):,} of them: learn again with it"
    return Finding("dotted-flow", text, names.total(), ("identity", "rules"), rule)


def _stamped(key: str, names: Counter[str]) -> Finding:
    namespace, stem, position = key.split("\n")
    name = rf"(?P<app>{re.escape(stem)})[_-]+(?i:{STAMPS[int(position)]})(?P<rest>\..*)?"
    rule = {"namespace": re.escape(namespace), "name": name, "flow": "{app}", "job": "{app}{rest}"}
    text = f"{times(len(names), 'name', most=MOST)} with a time in it are one application: {listed(sorted(names))}"
    return Finding("timestamped-name", text, names.total(), ("identity", "rules"), rule)


def _stranger(producer: str, jobs: Counter[str]) -> Finding:
    rule = {"producer": producer, "platform": "PLATFORM"}
    text = f"nobody's we know, {shown(producer)} sends {times(len(jobs), 'job', most=MOST)} ({listed(sorted(jobs))})"
    return Finding("unknown-producer", text, jobs.total(), ("identity", "rules"), rule, sure=False)


def _any_version(producer: str) -> str:
    """Return a regular expression for a producer's URI that fits its other versions, too."""
    return "/".join("[^/]+" if _VERSION(part) else re.escape(part) for part in producer.split("/"))


def _note(counter: Counter[_Key] | None, key: _Key, count: int = 1, most: int = _FEW) -> None:
    """Count ``key``; beyond ``most`` keys only those that are known."""
    if counter is not None and (key in counter or len(counter) < most):
        counter[key] += count
