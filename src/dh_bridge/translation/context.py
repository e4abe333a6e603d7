"""Where a facet stands: the entities around it, how names resolve there, and where losses are noted."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dh_bridge.translation.trace import Reached

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dh_bridge.openlineage.events import Dataset, Event
    from dh_bridge.translation.assertions import Check
    from dh_bridge.translation.identity import Identity, Job, Seen
    from dh_bridge.translation.merge import Stamp
    from dh_bridge.translation.naming import Name
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.trace import Destination, Note, TracedFact

#: Note of a place in the event that is said of a dataset, or names one, with its URN: see `Written.near`
ABOUT = "about:"
#: An entry of an event that is read in part: (stamp of the event, role, `entry_of` its stamp)
Mark = tuple[Any, str, int]
Role = Literal["input", "output", "dataset"]
#: A dataset of an event that is not left out, its name, its role and its path in the event
Entry = tuple["Dataset", "Name", Role, str]
Attach = Literal["run", "job", "dataset"]

#: Weights of stamps: the run's facets come after those of outputs, these after those of inputs, a later dataset after an
#: earlier one; below the weight of one dataset there is room to order its bags.
RUN_WEIGHT, OUTPUT_WEIGHT, DATASET_WEIGHT = 1 << 40, 1 << 20, 4


def entry_of(stamp: Stamp) -> int:
    """Return which dataset of its event a statement is about: its side and place, as one number that orders them."""
    return int(stamp[3] // DATASET_WEIGHT)


class Part(msgspec.Struct, frozen=True, gc=False):
    """What an entry of an event covers: the type and partition of a partitionSpec, its parts as JSON.

    ``entries``: how many entries of the event name the dataset on the same side, with a subset or without.
    """

    kind: Literal["PARTITION", "QUERY"]
    partition: str
    members: tuple[str, ...]
    entries: int = 1

    def spec(self) -> dict[str, str]:
        """Return the partitionSpec; never with a timePartition, which the server refuses beside a partition."""
        return {"partition": self.partition, "type": self.kind}


class Place:
    """The surroundings of the facet that is being read; one object per event, moved from facet to facet.

    What most places do not have is set where it is known, so that making a place costs little.
    """

    #: URN of the run; "" for job and dataset events
    run: str = ""
    job: Job | None = None
    #: URN that facets of the job belong to: a flow-level job's dataFlow, else the dataJob
    owner: str = ""
    #: URN of the dataJob that carries inputs and outputs
    task: str = ""
    #: the event's datasets
    entries: Sequence[Entry] = ()
    #: who checks, and what its checks are called, where facets tell of some
    assertion_platform: str = ""
    assertion_label: str = ""
    #: URNs of the datasets whose lineage a ``lineage`` facet of the event tells
    explicit: frozenset[str] = frozenset()
    #: the part of its datasets that the whole event is about
    batch: Part | None = None
    #: (path in the event, reason) of each leaf that ends on the way; None where nobody asks for the report
    notes: list[tuple[str, Note]] | None = None
    #: the facts by the path of the facet that stated them; None where nobody asks for the report
    traced: dict[str, list[TracedFact]] | None = None

    #: the dataset whose bag is being read: its URN, its name, its side, its columns and their paths once its schema was read
    dataset: str = ""
    name: Name | None = None
    role: Role = "dataset"
    columns: dict[str, str] | None = None
    #: keys of all of its facets
    keys: frozenset[str] = frozenset()
    #: side and dataset -> times that it is named, predicate; known once a subset was read
    subsets: dict[tuple[Role, str], tuple[int, str]] | None = None
    #: dataset and assertion URN -> the entry that told of it; known once a subset was read
    marks: dict[tuple[str, str], Mark | None] | None = None

    #: the facet: what it is attached to, its bag, its key, its path in the event, its JSON
    attach: Attach = "run"
    bag: str = "facets"
    key: str = ""
    where: str = ""
    raw: bytes = b""

    def __init__(self, event: Event, options: Options, stamp: Stamp) -> None:
        self.event = event
        self.options = options
        self.identity: Identity | Seen = options.identity.of(event)
        self.stamp = stamp
        #: dataset and name -> the checks of that name that were read so far, by URN
        self.checks: dict[tuple[str, str], dict[str, Check]] = {}
        #: namespace and name of each dataset of the event, as they were sent -> what it is called
        self.aliases: dict[tuple[str, str], Name] = {}
        #: URN of a dataset of the event -> its columns, as they were sent, and their paths; of those whose schema was read
        self.schemas: dict[str, dict[str, str]] = {}
        self.resolve: Callable[[str, str], Name] = options.naming

    # Few facets ask for these.

    @cached_property
    def inputs(self) -> frozenset[str]:
        """The URNs of the event's inputs."""
        return frozenset([name.endpoint for _, name, role, _ in self.entries if role == "input" and name.endpoint])

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The URNs of the event's outputs, in their order."""
        return tuple([name.endpoint for _, name, role, _ in self.entries if role == "output" and name.endpoint])

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """The URNs of both."""
        return self.inputs.union(self.outputs)

    @cached_property
    def tested(self) -> tuple[str, ...]:
        """The URNs that the event's tests are about: its inputs, else its outputs."""
        return tuple(sorted(self.inputs)) or tuple(sorted(self.outputs))

    @cached_property
    def named(self) -> dict[str, Name]:
        """What the datasets of the event are called, by URN."""
        return {name.endpoint: name for _, name, _, _ in self.entries if name.endpoint}

    def withheld(self, leaf: str, reason: str) -> None:
        """Note that a leaf of the facet (``fields[2].type``; "" for all of it) ends here, and why."""
        if self.notes is not None:
            self.notes.append((f"{self.where}.{leaf}" if leaf else self.where, reason))

    def about(self, leaf: str, dataset: str | None) -> None:
        """Note which dataset a part of the facet names: the report judges its leaves by what was written of that one."""
        if self.notes is not None and dataset is not None:
            self.withheld(leaf, ABOUT + dataset)

    def entry(self) -> Mark | None:
        """Return the mark of the entry of inputs or outputs that is being read if it tells of a part only."""
        if ("subset" not in self.keys and self.batch is None) or not self.dataset:
            return None
        return self.stamp[:3], self.role, entry_of(self.stamp)

    def reached(self, leaf: str, *targets: Destination) -> None:
        """Note that a field went elsewhere than its row of the facet's table says."""
        if self.notes is not None:
            self.notes.append((f"{self.where}.{leaf}" if leaf else self.where, Reached(targets)))

    def endpoint(self, namespace: Any, name: Any) -> Name:
        """Return the name of a dataset that a facet mentions, as the event's own inputs and outputs are named."""
        found = self.aliases.get((namespace, name))
        return found if found is not None else self.resolve(namespace or "", name or "")
