"""The context of a facet: the entities of its event, the resolution of names, and the notes for the report."""

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
UNKNOWN_ENV = "rule-unknown-environment"
"""The note of an event whose rule (`identity.rules`) makes an environment that DataHub does not have."""
#: An input or output that covers a part of its dataset: (version of the event, role, `entry_number` of the version)
EntryId = tuple[Any, str, int]
Role = Literal["input", "output", "dataset"]
#: A dataset of an event that no filter drops, its name, its role and its path in the event
EventDataset = tuple["Dataset", "Name", Role, str]
AttachPoint = Literal["run", "job", "dataset"]

#: Positions in versions: facets of the run come after those of outputs, and these after those of inputs. Later datasets come
#: after earlier ones. Numbers below the position of a dataset order the groups of its facets.
RUN_WEIGHT, OUTPUT_WEIGHT, DATASET_WEIGHT = 1 << 40, 1 << 20, 4


def entry_number(version: Version) -> int:
    """Return the side and position of a fact's dataset in the event, as one number that orders the datasets."""
    return int(version[3] // DATASET_WEIGHT)


class PartitionSpec(msgspec.Struct, frozen=True, gc=False):
    """The part of a dataset that an entry of an event covers: type and partition of a partitionSpec, its parts as JSON.

    ``entries``: how many entries of the event name the dataset on the same side, with a subset or without.
    """

    kind: Literal["PARTITION", "QUERY"]
    partition: str
    members: tuple[str, ...]
    entries: int = 1

    def to_json(self) -> dict[str, str]:
        """Return the partitionSpec; without a timePartition, which the server rejects beside a partition."""
        return {"partition": self.partition, "type": self.kind}


class FacetContext:
    """The context of the facet that is read. One object per event is updated from facet to facet.

    Rare attributes have defaults in the class and are set only if they are known, so that a context is cheap to create.
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
    #: platform and display name of the tool whose assertions the facets describe
    assertion_platform: str = ""
    assertion_label: str = ""
    #: URNs of the datasets whose lineage is stated in a ``lineage`` facet of the event
    explicit_urns: frozenset[str] = frozenset()
    #: whether the event is of a statement that is merged into a dbt node
    is_statement: bool = False
    #: the part of its datasets that the complete event is about
    batch: PartitionSpec | None = None
    #: (path in the event, reason) of each field that is dropped on the way; None without a report
    notes: list[tuple[str, FieldNote]] | None = None
    #: the facts by the path of the facet that stated them; None without a report
    traced: dict[str, list[TracedFact]] | None = None

    #: the dataset whose facets are read: its URN, name and role; its columns and their paths after its schema was read
    dataset_urn: str = ""
    name: Name | None = None
    role: Role = "dataset"
    columns: dict[str, str] | None = None
    #: keys of all facets of the dataset
    facet_keys: frozenset[str] = frozenset()
    #: side and dataset -> number of entries, predicate; set after a subset was read
    subsets: dict[tuple[Role, str], tuple[int, str]] | None = None
    #: dataset and assertion URN -> the entry that has the assertion; set after a subset was read
    entry_ids: dict[tuple[str, str], EntryId | None] | None = None

    #: the facet: what it is attached to, its group, its key, its path in the event, its JSON
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
        #: dataset and name -> the checks of that name that were read before, by URN
        self.checks: dict[tuple[str, str], dict[str, Check]] = {}
        #: namespace and name of each dataset of the event, as they were sent -> its name
        self.aliases: dict[tuple[str, str], Name] = {}
        #: URN of a dataset of the event -> its columns as they were sent, and their paths; only after its schema was read
        self.schemas: dict[str, dict[str, str]] = {}
        #: the URI that identifies the producer of the event
        self.sender: str | None = options.identity.sender_of(event)
        #: URNs of temporary datasets that only facets name
        self.temporary_urns: set[str] = set()
        #: the names of the event's datasets; a rule about its job may set an environment and an instance
        self.naming: Naming = options.naming
        self.dataset_domains: tuple[str, ...] = ()
        self.resolve_name: Callable[[str, str], Name] = options.naming

    def apply_dataset_rules(self, event: Event) -> None:
        """Apply the environment, instance and domain that a rule about the job sets for its datasets."""
        identity = self.options.identity
        if event.kind == "dataset" or not identity.has_dataset_rules:
            return
        defaults = identity.dataset_defaults(event.namespace, event.name, event.producer)
        self.naming = self.resolve_name = self.options.naming_for(defaults)
        self.dataset_domains = () if defaults.domain is None else (defaults.domain,)
        is_newer_env = defaults.env is not None and defaults.env not in self.options.profile.environments
        if defaults.has_unknown_env or is_newer_env:
            event.notes += (UNKNOWN_ENV,)

    def mention(self, name: Name) -> None:
        """Note a dataset that only a facet names: lineage skips it if its name is that of a temporary dataset."""
        if (
            name.notes
            and TEMPORARY_NAME in name.notes
            and name.endpoint is not None
            and self.options.skips_known_temporary
            and not self.options.filters.can_affect_datasets  # patterns are applied when the name is resolved
        ):
            self.temporary_urns.add(name.endpoint)

    # Only few facets use these.

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
        """The URNs of inputs and outputs."""
        return self.inputs.union(self.outputs)

    @cached_property
    def tested_urns(self) -> tuple[str, ...]:
        """The URNs of the datasets that the event's tests are about: its inputs, else its outputs."""
        return tuple(sorted(self.inputs)) or tuple(sorted(self.outputs))

    @cached_property
    def names_by_urn(self) -> dict[str, Name]:
        """The names of the event's datasets by URN."""
        return {name.endpoint: name for _, name, _, _ in self.entries if name.endpoint}

    def note_dropped(self, field_path: str, reason: str) -> None:
        """Note that a field of the facet (``fields[2].type``; "" for the complete facet) is dropped, with the reason."""
        if self.notes is not None:
            self.notes.append((f"{self.path}.{field_path}" if field_path else self.path, reason))

    def note_dataset(self, field_path: str, dataset_urn: str | None) -> None:
        """Note which dataset a part of the facet names. The report uses what was written of that dataset."""
        if self.notes is not None and dataset_urn is not None:
            self.note_dropped(field_path, DATASET_NOTE + dataset_urn)

    def entry_id(self) -> EntryId | None:
        """Return the id of the entry of inputs or outputs that is read, if the entry covers only a part of its dataset."""
        if ("subset" not in self.facet_keys and self.batch is None) or not self.dataset_urn:
            return None
        return self.version[:3], self.role, entry_number(self.version)

    def note_outcome(self, field_path: str, *targets: FieldTarget) -> None:
        """Note that a field has other targets than its row in the facet's table."""
        if self.notes is not None:
            self.notes.append((f"{self.path}.{field_path}" if field_path else self.path, FieldTargets(targets)))

    def dataset_name(self, namespace: Any, name: Any) -> Name:
        """Return the name of a dataset that a facet mentions, resolved like the inputs and outputs of the event."""
        alias = self.aliases.get((namespace, name))
        return alias if alias is not None else self.resolve_name(namespace or "", name or "")
