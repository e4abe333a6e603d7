"""Settings: one model per area, composed here; every field has a description and is refused when misspelt.

In Python: ``Settings(datahub_version="1.0", filters={"job_name": {"deny": ["tmp_*"]}})``. Files, environment and flags are read
by ``dh_bridge.settings.loading`` and nowhere else. The generated table of all settings is docs/settings.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from dh_bridge.settings.airflow import AirflowSettings
from dh_bridge.settings.assertions import AssertionSettings
from dh_bridge.settings.dbt import DbtSettings
from dh_bridge.settings.domains import DomainRule, DomainSettings
from dh_bridge.settings.filters import AllowDeny, FilterSettings
from dh_bridge.settings.identity import IdentitySettings
from dh_bridge.settings.kafka import KafkaSettings
from dh_bridge.settings.ledger import LedgerSettings
from dh_bridge.settings.links import LinkSettings
from dh_bridge.settings.naming import NamingSettings
from dh_bridge.settings.output import (
    ColumnLineageSettings,
    Containers,
    DataplexFqn,
    Edges,
    EventTimeSettings,
    JobSettings,
    LifecycleSettings,
    Materialize,
    OperationSettings,
    OwnerSettings,
    PropertySettings,
    Queries,
    Redaction,
    RunSettings,
    SchemaSettings,
    SourceCode,
    SubsetSettings,
    SymlinkSettings,
    TagSettings,
    Temporary,
)
from dh_bridge.settings.receiver import ReceiverSettings
from dh_bridge.settings.rest import RestSettings
from dh_bridge.settings.spark import SparkSettings
from dh_bridge.settings.writes import WritesSettings

__all__ = [
    "AirflowSettings",
    "AllowDeny",
    "AssertionSettings",
    "ColumnLineageSettings",
    "DbtSettings",
    "DomainRule",
    "DomainSettings",
    "EventTimeSettings",
    "FilterSettings",
    "IdentitySettings",
    "JobSettings",
    "KafkaSettings",
    "LedgerSettings",
    "LifecycleSettings",
    "LinkSettings",
    "NamingSettings",
    "OperationSettings",
    "OwnerSettings",
    "PropertySettings",
    "RestSettings",
    "RunSettings",
    "SchemaSettings",
    "Settings",
    "SparkSettings",
    "SubsetSettings",
    "SymlinkSettings",
    "TagSettings",
    "WritesSettings",
]


class Settings(BaseModel):
    """Everything a user may choose; the defaults need no file at all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    datahub_version: str | None = Field(
        default=None,
        min_length=1,
        description="DataHub version to write for, such as `0.15.0` or `1.4`; none means that of the server, or the newest"
        " version where no server can be asked.",
    )
    mappings: Path | None = Field(
        default=None,
        description="Folder with your own mapping files, in `naming`, `producers` and `tables` as ours; a `.yaml` there shadows"
        " ours of the same name.",
    )
    window: int = Field(
        default=20000,
        ge=1,
        description="Events that a run may wait for its end before it is written (bounds the memory).",
    )
    follow_links: bool = Field(
        default=False,
        description="Follow symbolic links that lead out of a folder of events; else they are skipped, and counted.",
    )
    filters: FilterSettings = Field(
        default=FilterSettings(), description="What is left out, each drop counted with its rule."
    )
    naming: NamingSettings = Field(default=NamingSettings(), description="Names of datasets.")
    identity: IdentitySettings = Field(default=IdentitySettings(), description="Identity of jobs and runs.")
    dbt: DbtSettings = Field(default=DbtSettings(), description="Events of dbt.")
    ledger: LedgerSettings = Field(
        default=LedgerSettings(), description="What is remembered of runs from one call to the next."
    )
    event_time: EventTimeSettings = Field(default=EventTimeSettings(), description="Times of events.")
    redaction: Redaction = Field(
        default="default",
        description="Secrets in events: masked by name and shape before anything else reads the event (`default`); `strict`: also,"
        " environment variables and configurations keep their names only; `off`: nothing is masked.",
    )
    actor: str = Field(
        default="urn:li:corpuser:datahub",
        pattern=r"^urn:li:(corpuser|corpGroup):.+$",
        description="Who stands in audit stamps when the event names no user.",
    )
    properties: PropertySettings = Field(default=PropertySettings(), description="Custom properties.")
    runs: RunSettings = Field(default=RunSettings(), description="Runs of a job.")
    jobs: JobSettings = Field(default=JobSettings(), description="Jobs.")
    edges: Edges = Field(
        default="accumulate",
        description="With a ledger, inputs and outputs of a job that its runs name no more: they stay (`accumulate`), leave with"
        " the newest COMPLETE run (`last_run`), or when no run named them in the `edges_window_days` before it (`window`)."
        " Only edges that the bridge wrote leave.",
    )
    edges_window_days: int = Field(default=30, ge=1, description="Days for `edges: window`.")
    operations: OperationSettings = Field(default=OperationSettings(), description="What runs do to datasets.")
    links: LinkSettings = Field(default=LinkSettings(), description="Pages of runs and jobs.")
    spark: SparkSettings = Field(default=SparkSettings(), description="Events of Spark.")
    materialize: Materialize = Field(
        default="all",
        description="Datasets that get at least their key, so that no edge points at nothing: `all`, `outputs`, `none`.",
    )
    temporary: Temporary = Field(
        default="keep",
        description="Datasets that the facet `datasetType` calls TEMPORARY or JOB_OUTPUT: as others (`keep`), without edges"
        " of lineage (`drop_edges`), or not written, lineage running through them as with `filters.through` (`collapse`); one"
        " that another event names without that facet is written, without edges.",
    )
    schema_: SchemaSettings = Field(default=SchemaSettings(), alias="schema", description="Schemas of datasets.")
    column_lineage: ColumnLineageSettings = Field(
        default=ColumnLineageSettings(), description="Lineage between columns."
    )
    assertions: AssertionSettings = Field(default=AssertionSettings(), description="Checks and their results.")
    lifecycle: LifecycleSettings = Field(default=LifecycleSettings(), description="Datasets that come and go.")
    subset: SubsetSettings = Field(default=SubsetSettings(), description="Conditions and partitions of a run.")
    owners: OwnerSettings = Field(default=OwnerSettings(), description="Owners.")
    symlinks: SymlinkSettings = Field(default=SymlinkSettings(), description="Other names of datasets.")
    tags: TagSettings = Field(default=TagSettings(), description="Tags.")
    domains: DomainSettings = Field(default=DomainSettings(), description="Domains, which no event tells.")
    containers: Containers = Field(
        default="off",
        description="The levels of the facet `hierarchy` as containers, and datasets inside them: `on`, or `off`, since"
        " connectors place their datasets themselves.",
    )
    dataplex_fqn: DataplexFqn = Field(
        default="off",
        description="Dataplex's fully qualified name of a dataset: as the custom property `openlineage.dataplex.fqn`"
        " (`property`), or not written.",
    )
    queries: Queries = Field(
        default="off",
        description="The SQL of a job as a query of its own in DataHub, which lineage between columns and operations name:"
        " `on`, or `off`, since every other statement becomes one.",
    )
    source_code: SourceCode = Field(
        default="hash",
        description="Source code that is not SQL: its `hash` and length, or `keep` its first characters.",
    )
    pipeline_name: str = Field(
        default="dh_bridge",
        min_length=1,
        description="Name of the pipeline in the systemMetadata of what is written.",
    )
    state: Literal["none", "read"] = Field(
        default="none",
        description="What is known of earlier calls: `none`, or `read`: what the target has (`rest:`, `catalog:`) is read first,"
        " and what would be replaced is joined with it. A ledger (`emit --ledger`) knows more.",
    )
    writes: WritesSettings = Field(default=WritesSettings(), description="What may be written at all.")
    max_new_entities_per_hour: int | None = Field(
        default=None,
        ge=0,
        description="Entities that may be new at a server within an hour, runs not counted; the proposals of the others wait"
        " in the ledger, which this needs. None is no limit.",
    )
    ask_new_entities: int | None = Field(
        default=1000,
        ge=0,
        description="New entities, runs not counted, that `emit` writes without asking the person at its terminal; none: it"
        " never asks.",
    )
    rest: RestSettings = Field(default=RestSettings(), description="DataHub's metadata service, for `rest:` targets.")
    kafka: KafkaSettings = Field(default=KafkaSettings(), description="Brokers and registry, for `kafka:` targets.")
    receiver: ReceiverSettings = Field(
        default=ReceiverSettings(), description="The web server that takes events over HTTP (`dh-bridge serve`)."
    )
    airflow: AirflowSettings = Field(
        default=AirflowSettings(), description="Events of Airflow, and callbacks inside it (`dh_bridge.airflow`)."
    )
