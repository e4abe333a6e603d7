"""What is written: one small model per concern, each field a choice of the user's."""

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
Temporary = Literal["keep", "drop_edges", "collapse"]
SourceCode = Literal["hash", "keep"]
DataplexFqn = Literal["off", "property"]
Edges = Literal["accumulate", "last_run", "window"]
Queries = Literal["off", "on"]
Containers = Literal["off", "on"]


class PropertySettings(BaseModel):
    """Custom properties: what has no field of its own in DataHub is kept there."""

    model_config = _MODEL

    prefix: str = Field(
        default="openlineage", min_length=1, description="First part of every key that the bridge writes."
    )
    unknown_facets: Literal["keep", "drop"] = Field(
        default="keep",
        description="Facets that the bridge does not know: one property each, or not written; `filters.facet` chooses by"
        " name.",
    )
    ip_addresses: Literal["keep", "drop"] = Field(
        default="keep", description="Addresses of people's machines, such as that of a Hive client."
    )


class RunSettings(BaseModel):
    """Runs of a job: their events and their results."""

    model_config = _MODEL

    abort: Literal["skipped", "failure"] = Field(
        default="skipped", description="Result of an ABORT: `skipped` (the UI shows Cancelled) or `failure`."
    )
    heartbeat: Literal["5m", "hour", "day", "off"] = Field(
        default="hour", description="How often the RUNNING events of a streaming run leave a point in its history."
    )
    other_as: Literal["none", "started"] = Field(
        default="none",
        description="An event of the type OTHER: no point in the run's history, or a `started` one, by which a run that"
        " sends nothing else is seen.",
    )
    start_skew_seconds: int = Field(
        default=0,
        ge=0,
        description="A run's only START that comes less than so many seconds after its end is its own: one clock told the START,"
        " another the end, as Flink's client and its JobManager do. Otherwise it opens the next attempt.",
    )
    edges: bool = Field(
        default=False,
        description="From DataHub 1.0, inputs and outputs of a run as edges with times and statistics, too; every run is then"
        " a node of the lineage.",
    )
    up_for_retry: bool = Field(
        default=False, description="Call a failed Airflow try UP_FOR_RETRY while tries are left; a guess, hence off."
    )


class JobSettings(BaseModel):
    """Jobs."""

    model_config = _MODEL

    revive: Literal["on_run", "off"] = Field(
        default="on_run",
        description="With a ledger: a run of a flow or job that was not written for `ledger.refresh_days` undoes its removal"
        " (`status.removed`), by whomever it was: DataHub's garbage collector removes jobs without runs.",
    )


class OperationSettings(BaseModel):
    """What a run did to a dataset."""

    model_config = _MODEL

    profile_from_overwrite: bool = Field(
        default=True,
        description="Take the statistics of a run that wrote a whole table anew for a profile of that table.",
    )


class SchemaSettings(BaseModel):
    """Schemas of datasets."""

    model_config = _MODEL

    write: Literal["all", "outputs", "never", "if_absent"] = Field(
        default="all",
        description="Datasets whose schema is written: `all`, only those that a job writes, or none; `if_absent` leaves a schema"
        " alone that another writer holds, where the target can be read (`rest:`).",
    )
    expand_types: bool = Field(
        default=True, description="Read nested fields out of type texts such as `array<struct<a:int,b:string>>`."
    )
    types: dict[str, ColumnKind] = Field(
        default={},
        description="DataHub's types of type texts, where they differ from the table: `{jsonb: MapType}`. Case does not"
        " matter; a text with arguments comes before its name alone.",
    )
    field_paths: dict[str, Literal["auto", "v1", "v2"]] = Field(
        default={},
        description="Style of field paths by platform id: `v1` (dotted), `v2` (`[version=2.0]…`), or `auto`, as all others:"
        " v1 unless it could not tell two fields apart.",
    )
    skip_platforms: tuple[str, ...] = Field(
        default=(),
        description="Platform ids whose schemas are left to their own connectors. Spark tells of a table that it reads over JDBC"
        " by a `query` only the columns of that query, in events that look like those of the whole table.",
    )


class ColumnLineageSettings(BaseModel):
    """Lineage between columns."""

    model_config = _MODEL

    indirect: Literal["collapse", "keep", "drop"] = Field(
        default="collapse",
        description="Inputs that only filter, join or sort: `collapse` those that touch every column into the job's"
        " input fields, `keep` each pair, or `drop` them.",
    )
    target: Literal["job", "dataset", "both"] = Field(
        default="job",
        description="Where pairs of columns stand: on the `job` that made them, on the `dataset` that it wrote, with that"
        " dataset's upstreams, or on `both`.",
    )
    pair_lineage: Literal["job", "upstream"] = Field(
        default="job",
        description="Which input feeds which output, where a `lineage` facet says so: `upstream` writes those pairs as"
        " upstreams of the output; an edge of a `job` cannot tell them apart.",
    )


class LifecycleSettings(BaseModel):
    """Datasets that come and go."""

    model_config = _MODEL

    drop_removes: Literal["outputs", "never"] = Field(
        default="outputs",
        description="A completed DROP marks the dataset as removed when it is an output, or never does.",
    )
    rename_removes: bool = Field(
        default=False, description="A completed RENAME marks the dataset of the earlier name as removed."
    )


class SubsetSettings(BaseModel):
    """Subsets: the conditions and partitions that a run read or wrote."""

    model_config = _MODEL

    literals: Literal["keep", "hash", "drop"] = Field(
        default="keep", description="Values compared with in conditions; they may be personal data."
    )


class OwnerSettings(BaseModel):
    """Owners."""

    model_config = _MODEL

    email_domain: str = Field(
        default="keep",
        pattern=r"^(keep|strip|@[^@\s,()]+)$",
        description="The e-mail domain of users, who own something or ran it: `keep` the name as it is, `strip` the domain"
        " (`ann@example.com` becomes the user `ann`), or a domain to add to names that have none, such as `@example.com`.",
    )
    types: dict[str, OwnershipType] = Field(
        default={},
        description="Ownership types of your own (URNs) by the word that a producer writes; other unknown words become"
        " TECHNICAL_OWNER.",
    )
    skip: tuple[str, ...] = Field(
        default=("***", "airflow", "anonymous", "no-name"), description="Owner names that are placeholders, any case."
    )


class SymlinkSettings(BaseModel):
    """Other names of datasets."""

    model_config = _MODEL

    siblings: bool = Field(
        default=False,
        description="Show a table and the files behind it as one in DataHub: siblings, of which the table is the primary"
        " one.",
    )


class TagSettings(BaseModel):
    """Tags."""

    model_config = _MODEL

    exclude: tuple[str, ...] = Field(
        default=("openlineage_client_version",), description="Keys of tags that never become DataHub tags."
    )
    of_runs: Literal["run", "job"] = Field(
        default="run",
        description="Tags of a run, which DataHub does not have: properties of the `run`, or tags of its `job`, too.",
    )


class EventTimeSettings(BaseModel):
    """Times of events."""

    model_config = _MODEL

    default_zone: str = Field(
        default="UTC", description="Zone of an event time that names none, such as `Europe/Berlin`."
    )

    @field_validator("default_zone")
    @classmethod
    def _check_zone(cls, name: str) -> str:
        try:
            name.upper() == "UTC" or ZoneInfo(name)  # UTC needs no table of zones
        except (KeyError, ValueError, OSError) as error:
            raise ValueError("is no zone that this machine knows") from error
        return name
