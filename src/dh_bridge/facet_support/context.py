"""Where a facet stands: the entities around it, how names resolve there, and where losses are noted."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dh_bridge.model.trace import FieldTargets
from dh_bridge.naming.name import TEMPORARY_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dh_bridge.assertions import Check
    from dh_bridge.identity import EventIdentity, Identity, Job
    from dh_bridge.model.merge import Version
    from dh_bridge.model.trace import FieldNote, FieldTarget, TracedFact
    from dh_bridge.naming import Name, Naming
    from dh_bridge.openlineage.events import Dataset, Event
    from dh_bridge.options import Options

#: Prefix of a note that a field is about a dataset, followed by its URN: see `report/written.py`
DATASET_NOTE = "about:"
#: An input or output that covers a part of its dataset: (version of the event, role, `entry_number` of the version)
EntryId = tuple[Any, str, int]
Role = Literal["input", "output", "dataset"]
#: A dataset of an event that no filter drops, its name, its role and its path in the event
EventDataset = tuple["Dataset", "Name", Role, str]
AttachPoint = Literal["run", "job", "dataset"]

#: Weights of stamps: the run's facets come after those of outputs, these after those of inputs, a later dataset after an
#: earlier one; below the weight of one dataset there is room to order its bags.
RUN_WEIGHT, OUTPUT_WEIGHT, DATASET_WEIGHT = 1 << 40, 1 << 20, 4


def entry_number(version: Version) -> int:
    """Return which dataset of its event a statement is about: its side and place, as one number that orders them."""
    return int(version[3] // DATASET_WEIGHT)


class PartitionSpec(msgspec.Struct, frozen=True, gc=False):
    """What an entry of an event covers: the type and partition of a partitionSpec, its parts as JSON.

    ``entries``: how many entries of the event name the dataset on the same side, with a subset or without.
    """

    kind: Literal["PARTITION", "QUERY"]
    partition: str
    members: tuple[str, ...]
    entries: int = 1

    def to_json(self) -> dict[str, str]:
        """Return the partitionSpec; never with a timePartition, which the server refuses beside a partition."""
        return {"partition": self.partition, "type": self.kind}


class FacetContext:
    """The surroundings of the facet that is being read; one object per event, moved from facet to facet.

    What most places do not have is set where it is known, so that making a place costs little.
    """

    #: URN of the run; "" for job and dataset events
    run_urn: str = ""
    job: Job | None = None
    #: URN that facets of the job belong to: a flow-level job's dataFlow, else the dataJob
    owner_urn: str = ""
    #: URN of the dataJob that carries inputs and outputs
    task_urn: str = ""
    #: the event's datasets
    entries: Sequence[EventDataset] = ()
    #: who checks, and what its checks are called, where facets tell of some
    assertion_platform: str = ""
    assertion_label: str = ""
    #: URNs of the datasets whose lineage a ``lineage`` facet of the event tells
    explicit_urns: frozenset[str] = frozenset()
    #: whether the event is of a statement that is folded into a node of dbt
    is_statement: bool = False
    #: the part of its datasets that the whole event is about
    batch: PartitionSpec | None = None
    #: (path in the event, reason) of each leaf that ends on the way; None where nobody asks for the report
    notes: list[tuple[str, FieldNote]] | None = None
    #: the facts by the path of the facet that stated them; None where nobody asks for the report
    traced: dict[str, list[TracedFact]] | None = None

    #: the dataset whose bag is being read: its URN, its name, its side, its columns and their paths once its schema was read
    dataset_urn: str = ""
    name: Name | None = None
    role: Role = "dataset"
    columns: dict[str, str] | None = None
    #: keys of all of its facets
    facet_keys: frozenset[str] = frozenset()
    #: side and dataset -> times that it is named, predicate; known once a subset was read
    subsets: dict[tuple[Role, str], tuple[int, str]] | None = None
    #: dataset and assertion URN -> the entry that told of it; known once a subset was read
    entry_ids: dict[tuple[str, str], EntryId | None] | None = None

    #: the facet: what it is attached to, its bag, its key, its path in the event, its JSON
    attach: AttachPoint = "run"
    facet_group: str = "facets"
    key: str = ""
    path: str = ""
    raw: bytes = b""

    def __init__(self, event: Event, options: Options, version: Version) -> None:
        self.event = event
        self.options = options
        self.identity: Identity | EventIdentity = options.identity.for_event(event)
        self.version = version
        #: dataset and name -> the checks of that name that were read so far, by URN
        self.checks: dict[tuple[str, str], dict[str, Check]] = {}
        #: namespace and name of each dataset of the event, as they were sent -> what it is called
        self.aliases: dict[tuple[str, str], Name] = {}
        #: URN of a dataset of the event -> its columns, as they were sent, and their paths; of those whose schema was read
        self.schemas: dict[str, dict[str, str]] = {}
        #: the URI by which the producer of the event is known
        self.sender: str | None = options.identity.sender_of(event)
        #: URNs of temporary datasets that only facets name
        self.temporary_urns: set[str] = set()
        #: the names of the event's datasets; a rule about its job may give them an environment and an instance
        self.naming: Naming = options.naming
        self.dataset_domains: tuple[str, ...] = ()
        self.resolve_name: Callable[[str, str], Name] = options.naming

    def apply_dataset_rules(self, event: Event) -> None:
        """Give the datasets of the event the environment, instance and domain that a rule about its job sets for them."""
        identity = self.options.identity
        if event.kind == "dataset" or not identity.has_dataset_rules:
            return
        defaults = identity.dataset_defaults(event.namespace, event.name, event.producer)
        self.naming = self.resolve_name = self.options.naming_for(defaults)
        self.dataset_domains = () if defaults.domain is None else (defaults.domain,)

    def mention(self, name: Name) -> None:
        """Note a dataset that only a facet names: lineage skips it if its name is that of a temporary one."""
        if (
            name.notes
            and TEMPORARY_NAME in name.notes
            and name.endpoint is not None
            and self.options.skips_known_temporary
            and not self.options.filters.can_affect_datasets  # patterns are asked when the name is resolved
        ):
            self.temporary_urns.add(name.endpoint)

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
    def dataset_urns(self) -> frozenset[str]:
        """The URNs of both."""
        return self.inputs.union(self.outputs)

    @cached_property
    def tested_urns(self) -> tuple[str, ...]:
        """The URNs that the event's tests are about: its inputs, else its outputs."""
        return tuple(sorted(self.inputs)) or tuple(sorted(self.outputs))

    @cached_property
    def names_by_urn(self) -> dict[str, Name]:
        """What the datasets of the event are called, by URN."""
        return {name.endpoint: name for _, name, _, _ in self.entries if name.endpoint}

    def note_dropped(self, field_path: str, reason: str) -> None:
        """Note that a leaf of the facet (``fields[2].type``; "" for all of it) ends here, and why."""
        if self.notes is not None:
            self.notes.append((f"{self.path}.{field_path}" if field_path else self.path, reason))

    def note_dataset(self, field_path: str, dataset_urn: str | None) -> None:
        """Note which dataset a part of the facet names: the report judges its leaves by what was written of that one."""
        if self.notes is not None and dataset_urn is not None:
            self.note_dropped(field_path, DATASET_NOTE + dataset_urn)

    def entry_id(self) -> EntryId | None:
        """Return the mark of the entry of inputs or outputs that is being read if it tells of a part only."""
        if ("subset" not in self.facet_keys and self.batch is None) or not self.dataset_urn:
            return None
        return self.version[:3], self.role, entry_number(self.version)

    def note_outcome(self, field_path: str, *targets: FieldTarget) -> None:
        """Note that a field went elsewhere than its row of the facet's table says."""
        if self.notes is not None:
            self.notes.append((f"{self.path}.{field_path}" if field_path else self.path, FieldTargets(targets)))

    def dataset_name(self, namespace: Any, name: Any) -> Name:
        """Return the name of a dataset that a facet mentions, as the event's own inputs and outputs are named."""
        alias = self.aliases.get((namespace, name))
        return alias if alias is not None else self.resolve_name(namespace or "", name or "")
