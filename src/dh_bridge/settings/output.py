"""Settings of the metadata that is written to DataHub: one model per concern."""

from __future__ import annotations

from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

_MODEL = ConfigDict(extra="forbid", frozen=True)

OwnershipType = Annotated[str, StringConstraints(pattern=r"^urn:li:ownershipType:[^\s,()]+$")]
ColumnKind = Literal[
    "ArrayType", "BooleanType", "BytesType", "DateType", "EnumType", "FixedType", "MapType", "NullType", "NumberType",
    "RecordType", "StringType", "TimeType", "UnionType",
]  # fmt: skip
Redaction = Literal["off", "default", "strict"]
Materialize = Literal["all", "outputs", "none"]
SourceCode = Literal["hash", "keep"]
OptionalMetadata = Literal["containers", "queries", "siblings", "run_edges", "dataplex_fqn"]
ExcludedMetadata = Literal["unknown_facets", "ip_addresses", "profiles_of_overwrites", "nested_fields"]


class PropertySettings(BaseModel):
    """Custom properties: values that have no field of their own in DataHub."""

    model_config = _MODEL

    prefix: str = Field(
        default="openlineage", min_length=1, description="First part of the key of each property that dh_bridge writes."
    )


class RunSettings(BaseModel):
    """Runs of a job: events and results."""

    model_config = _MODEL

    abort: Literal["skipped", "failure"] = Field(
        default="skipped",
        description="Result of a run that ends with ABORT: `skipped` (shown as Cancelled) or `failure`.",
    )
    heartbeat: Literal["5m", "hour", "day", "off"] = Field(
        default="hour", description="Interval at which RUNNING events of a streaming run are written to its history."
    )
    other_as: Literal["none", "started"] = Field(
        default="none",
        description="What an event of the type OTHER writes to the history of its run: nothing (`none`), or a start (`started`),"
        " which makes runs visible that send no other events.",
    )
    start_skew_seconds: int = Field(
        default=0,
        ge=0,
        description="Tolerated clock skew: a START up to this many seconds after the end belongs to the same attempt; a later START"
        " begins a new attempt. Use it if two machines report one run, such as Flink's client and its JobManager.",
    )
    up_for_retry: bool = Field(
        default=True,
        description="Result of a failed Airflow try while the task has tries left: UP_FOR_RETRY. The result is FAILURE as soon as"
        " the DAG run ended or the state in `airflowState` is failed; across calls this requires a ledger. `false`: always FAILURE.",
    )


class JobSettings(BaseModel):
    """Jobs."""

    model_config = _MODEL

    undelete: Literal["on_run", "off"] = Field(
        default="on_run",
        description="Restore a soft-deleted flow or job (`status.removed`) when it runs and was not written for 7 days. DataHub's"
        " garbage collector soft-deletes jobs without runs. `off`: never. Requires a ledger.",
    )


class SchemaSettings(BaseModel):
    """Schemas of datasets."""

    model_config = _MODEL

    write: Literal["all", "outputs", "never", "if_absent"] = Field(
        default="all",
        description="Datasets whose schema is written: `all`, `outputs` (those that a job writes), `never`, or `if_absent` (those"
        " whose schema no other writer has written; the target must be readable, as `rest:` is).",
    )
    types: dict[str, ColumnKind] = Field(
        default={},
        description="DataHub types by type text, if they differ from the built-in table: `{jsonb: MapType}`. Case is ignored. An"
        " entry with arguments, such as `decimal(10,2)`, takes precedence over the name alone.",
    )
    field_paths: dict[str, Literal["auto", "v1", "v2"]] = Field(
        default={},
        description="Form of field paths by platform id: `v1` (dotted), `v2` (`[version=2.0]…`) or `auto` (v2 only if two fields"
        " would have the same v1 path). Default for all platforms: `auto`.",
    )
    skip_platforms: tuple[str, ...] = Field(
        default=(),
        description="Platform ids whose schemas are not written, because their own connectors write them. Use it if Spark reads"
        " tables over JDBC with a `query`: its events list only the columns of the query.",
    )


class ColumnLineageSettings(BaseModel):
    """Column-level lineage."""

    model_config = _MODEL

    indirect: Literal["collapse", "keep", "drop"] = Field(
        default="collapse",
        description="Input columns that only filter, join or sort: `collapse` (columns that affect all outputs become input fields"
        " of the job), `keep` each pair, or `drop` them.",
    )
    target: Literal["job", "dataset", "both", "split"] = Field(
        default="job",
        description="Entity on which column lineage is written: the `job`, the output `dataset` (together with its upstreams),"
        " `both`, or `split`: pairs of the facet `lineage` on the dataset, other column lineage on the job. A job does not"
        " state which input feeds which output.",
    )


class LifecycleSettings(BaseModel):
    """Datasets that are dropped or renamed."""

    model_config = _MODEL

    soft_delete: tuple[Literal["drop", "rename"], ...] = Field(
        default=("drop",),
        description="Completed operations that soft-delete a dataset: `drop` (an output that was dropped), `rename` (the dataset"
        " of the earlier name). Empty: none.",
    )


class SubsetSettings(BaseModel):
    """Subsets: conditions and partitions that a run reads or writes."""

    model_config = _MODEL

    literals: Literal["keep", "hash", "drop"] = Field(
        default="keep",
        description="Literals in conditions, which may be personal data: `keep`, write a `hash`, or `drop` them.",
    )


class OwnerSettings(BaseModel):
    """Owners."""

    model_config = _MODEL

    email_domain: str = Field(
        default="keep",
        pattern=r"^(keep|strip|@[^@\s,()]+)$",
        description="E-mail domain in the names of owners and of users who start runs: `keep`, `strip` (`ann@example.com` becomes"
        " `ann`), or a domain to append to names without one, such as `@example.com`.",
    )
    types: dict[str, OwnershipType] = Field(
        default={},
        description="URNs of custom ownership types by the type in the event. Other unknown types become TECHNICAL_OWNER.",
    )
    skip: tuple[str, ...] = Field(
        default=("***", "airflow", "anonymous", "no-name"),
        description="Owner names to ignore, because they are placeholders. Case is ignored.",
    )


class TagSettings(BaseModel):
    """Tags."""

    model_config = _MODEL

    exclude: tuple[str, ...] = Field(
        default=("openlineage_client_version",), description="Keys of tags that are not written as DataHub tags."
    )
    of_runs: Literal["run", "job"] = Field(
        default="run",
        description="Tags of a run, which has no tags in DataHub: properties of the `run`, or also tags of its `job`.",
    )


class EventTimeSettings(BaseModel):
    """Times of events."""

    model_config = _MODEL

    default_zone: str = Field(
        default="UTC",
        description="Time zone of event times without an offset, such as `Europe/Berlin`. With `UTC`, such a time of a run is read in"
        " the offset that the run's other events state.",
    )

    @field_validator("default_zone")
    @classmethod
    def _check_zone(cls, name: str) -> str:
        try:
            name.upper() == "UTC" or ZoneInfo(name)  # UTC needs no table of zones
        except (KeyError, ValueError, OSError) as error:
            raise ValueError("is not a time zone of this machine") from error
        return name
