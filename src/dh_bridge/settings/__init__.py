"""Settings: one model per area. Each field has a description; unknown keys are rejected.

In Python: ``Settings(datahub_version="1.0", filters={"jobs": ["!tmp_*"]})``. Only ``dh_bridge.settings.loading`` reads files,
environment and flags. The generated table of all settings is docs/settings.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from dh_bridge.settings.airflow import AirflowSettings
from dh_bridge.settings.assertions import AssertionSettings
from dh_bridge.settings.dbt import DbtSettings
from dh_bridge.settings.domains import DomainSettings
from dh_bridge.settings.filters import FilterSettings
from dh_bridge.settings.identity import IdentitySettings
from dh_bridge.settings.kafka import KafkaSettings
from dh_bridge.settings.ledger import LedgerSettings
from dh_bridge.settings.links import Links
from dh_bridge.settings.log import LogSettings
from dh_bridge.settings.naming import NamingSettings
from dh_bridge.settings.output import (
    ColumnLineageSettings,
    EventTimeSettings,
    ExcludedMetadata,
    JobSettings,
    LifecycleSettings,
    Materialize,
    OptionalMetadata,
    OwnerSettings,
    PropertySettings,
    Redaction,
    RunSettings,
    SchemaSettings,
    SourceCode,
    SubsetSettings,
    TagSettings,
)
from dh_bridge.settings.receiver import ReceiverSettings
from dh_bridge.settings.rest import RestSettings
from dh_bridge.settings.spark import SparkSettings
from dh_bridge.settings.temporary import TemporarySettings
from dh_bridge.settings.writes import WritesSettings

__all__ = [
    "AirflowSettings",
    "AssertionSettings",
    "ColumnLineageSettings",
    "DbtSettings",
    "DomainSettings",
    "EventTimeSettings",
    "FilterSettings",
    "IdentitySettings",
    "JobSettings",
    "KafkaSettings",
    "LedgerSettings",
    "LifecycleSettings",
    "LogSettings",
    "NamingSettings",
    "OwnerSettings",
    "PropertySettings",
    "RestSettings",
    "RunSettings",
    "SchemaSettings",
    "Settings",
    "SparkSettings",
    "SubsetSettings",
    "TagSettings",
    "TemporarySettings",
    "WritesSettings",
]


class Settings(BaseModel):
    """All settings. The defaults need no settings file; docs/settings.md lists every key.

    Args:
        **data: settings by their keys. Areas are objects or mappings.

    Raises:
        pydantic.ValidationError: a setting is unknown or has a wrong value. ``dh_bridge.settings.loading`` raises a
            SettingsError instead, which names the key.

    Example:
        >>> settings = Settings(datahub_version="1.4", naming={"env": "DEV"})
        >>> settings.datahub_version, settings.naming.env
        ('1.4', 'DEV')
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={"description": "All settings of dh_bridge. docs/settings.md lists every key."},
    )

    datahub_version: str | None = Field(
        default=None,
        min_length=1,
        description="DataHub version to write for, such as `0.15.0` or `1.4`. Default: the version that the server reports, else"
        " the newest.",
    )
    mappings: Path | None = Field(
        default=None,
        description="Folder with your own mapping files, in the subfolders `naming`, `producers` and `tables`. A file replaces the"
        " built-in file of the same name.",
    )
    window: int = Field(
        default=20000,
        ge=1,
        description="Events in one window, at most 16 MiB of them. After each window, runs that ended before it and runs without an"
        " event for four windows are written. It limits the memory of calls without a ledger.",
    )
    filters: FilterSettings = Field(default=FilterSettings(), description="Filters of events, datasets and facets.")
    naming: NamingSettings = Field(default=NamingSettings(), description="Names of datasets.")
    identity: IdentitySettings = Field(default=IdentitySettings(), description="Identity of jobs and runs.")
    dbt: DbtSettings = Field(default=DbtSettings(), description="Events of dbt.")
    ledger: LedgerSettings = Field(
        default=LedgerSettings(), description="The ledger, which stores the state of runs between calls."
    )
    log: LogSettings = Field(default=LogSettings(), description="The event log of a ledger, which stores every event.")
    event_time: EventTimeSettings = Field(default=EventTimeSettings(), description="Times of events.")
    redaction: Redaction = Field(
        default="default",
        description="Masking of secrets in events, before events are processed: by name and shape (`default`), also all values of"
        " environment variables and configurations (`strict`), or none (`off`).",
    )
    properties: PropertySettings = Field(default=PropertySettings(), description="Custom properties.")
    runs: RunSettings = Field(default=RunSettings(), description="Runs of a job.")
    jobs: JobSettings = Field(default=JobSettings(), description="Jobs.")
    edges: str = Field(
        default="accumulate",
        pattern=r"^(accumulate|last_run|window(:[1-9]\d{0,3}d)?)$",
        description="When an input or output of a job is removed: never (`accumulate`), if the newest COMPLETE run does not have it"
        " (`last_run`), or if no run had it in the days before the newest COMPLETE run (`window:14d`; `window` is 30 days). Only"
        " edges that dh_bridge wrote are removed. Requires a ledger.",
    )
    links: Links = Field(
        default={},
        description="URL templates of pages about runs and jobs. `databricks`: runs of jobs, such as"
        " `https://dbc-1.cloud.databricks.com/jobs/{job}/runs/{run}`. `dataproc`: batches, jobs and sessions, such as"
        " `https://console.cloud.google.com/dataproc/{section}/europe-west1/{id}?project={project}`. `dbt`: files of nodes, such"
        " as `https://github.com/example/shop/blob/main/{path}`. Any other key is a `source` of the facet `externalQuery`, such as"
        " `snowflake: https://app.snowflake.com/org/account/#/compute/history/queries/{id}`.",
    )
    spark: SparkSettings = Field(default=SparkSettings(), description="Events of Spark.")
    materialize: Materialize = Field(
        default="all",
        description="Datasets that are created with at least their key, so that lineage leads to existing entities: `all`,"
        " `outputs`, or `none`.",
    )
    temporary: TemporarySettings = Field(
        default=TemporarySettings(), description="Temporary datasets, which lineage skips."
    )
    schema_: SchemaSettings = Field(default=SchemaSettings(), alias="schema", description="Schemas of datasets.")
    column_lineage: ColumnLineageSettings = Field(
        default=ColumnLineageSettings(), description="Lineage between columns."
    )
    assertions: AssertionSettings = Field(default=AssertionSettings(), description="Checks and their results.")
    lifecycle: LifecycleSettings = Field(default=LifecycleSettings(), description="Datasets that come and go.")
    subset: SubsetSettings = Field(default=SubsetSettings(), description="Conditions and partitions of a run.")
    owners: OwnerSettings = Field(default=OwnerSettings(), description="Owners.")
    tags: TagSettings = Field(default=TagSettings(), description="Tags.")
    domains: DomainSettings = Field(default=DomainSettings(), description="Domains of datasets, flows and jobs.")
    optional_metadata: tuple[OptionalMetadata, ...] = Field(
        default=(),
        description="Metadata that is written only if it is listed here: `containers` (the levels of the facet `hierarchy`; DataHub's"
        " connectors write their own), `queries` (a query entity for each SQL text), `siblings` (a table and its files shown as one"
        " dataset), `run_edges` (inputs and outputs of runs with times and statistics; each run becomes a lineage node; DataHub 1.0"
        " and later), `dataplex_fqn` (the property `openlineage.dataplex.fqn` of datasets).",
    )
    excluded_metadata: tuple[ExcludedMetadata, ...] = Field(
        default=(),
        description="Metadata that is written unless it is listed here: `unknown_facets` (facets without a mapping, one property"
        " each; `filters.facets` selects facets by name), `ip_addresses` (of clients, such as those of Hive),"
        " `profiles_of_overwrites` (profiles of tables from the statistics of runs that replace the whole table), `nested_fields`"
        " (schema fields parsed from type texts such as `array<struct<a:int,b:string>>`).",
    )
    source_code: SourceCode = Field(
        default="hash",
        description="Source code that is not SQL: write its `hash` and length, or `keep` its first 4,000 characters.",
    )
    pipeline_name: str = Field(
        default="dh_bridge",
        min_length=1,
        description="Pipeline name in the systemMetadata of each proposal.",
    )
    state: Literal["none", "read"] = Field(
        default="none",
        description="State from earlier calls: `none`, or `read` the present aspects of the target (`rest:`, `catalog:`) and merge"
        " them with the new ones. A ledger (`emit --ledger`) keeps more state.",
    )
    writes: WritesSettings = Field(default=WritesSettings(), description="Allow-lists of what is written.")
    max_new_entities_per_hour: int | None = Field(
        default=None,
        ge=0,
        description="Maximum number of new entities, runs not counted, that are written to a server within one hour. Proposals of"
        " further entities are queued in the ledger, which this setting requires. Default: no limit.",
    )
    rest: RestSettings = Field(default=RestSettings(), description="DataHub's metadata service, for `rest:` targets.")
    kafka: KafkaSettings = Field(default=KafkaSettings(), description="Brokers and registry, for `kafka:` targets.")
    receiver: ReceiverSettings = Field(
        default=ReceiverSettings(), description="The web server that takes events over HTTP (`dh-bridge serve`)."
    )
    airflow: AirflowSettings = Field(
        default=AirflowSettings(), description="Events of Airflow, and callbacks inside it (`dh_bridge.airflow`)."
    )
