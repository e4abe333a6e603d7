"""How datasets are named: environment, compatibility switches, and the user's rules about namespaces and names."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

_MODEL = ConfigDict(extra="forbid", frozen=True)

_FabricType = Literal[
    "CERT", "CORP", "DEV", "EI", "NON_PROD", "PRD", "PRE", "PROD",
    "QA", "RVW", "SANDBOX", "SBX", "SIT", "STG", "TEST", "TST", "UAT",
]  # fmt: skip
FABRIC_TYPES = frozenset(get_args(_FabricType))
"""What DataHub's environment filter knows."""


def _upper(env: Any) -> Any:
    return env.upper() if isinstance(env, str) else env


Env = Annotated[_FabricType, BeforeValidator(_upper)]
"""DataHub's FabricType, in any case, as in recipes of its connectors."""
PATTERN_CHARS = frozenset("{}[]*")
"""What means something in the patterns of rules and locations, and can stand for itself in none."""
Text = Annotated[str, StringConstraints(min_length=1)]
Platform = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Instance = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^\S(.*\S)?$")]


class NamingRule(BaseModel):
    """What holds for the datasets of a namespace (and a name); the rule with the most literal text wins."""

    model_config = _MODEL

    namespace: str = Field(
        description="Namespace pattern: text, {part}, [optional], {*rest}. Compared with the namespace as sent, in "
        "canonical form, with and without the default port, and with each host of a list. '': the empty one (tables of Flink "
        "whose connector names no place)."
    )
    name: Text | None = Field(default=None, description="Name pattern in the same signs; absent: every name.")
    platform: Platform | None = Field(default=None, description="DataHub platform id to use instead.")
    platform_instance: Instance | None = Field(
        default=None,
        description="Platform instance: the prefix of the dataset name. BigQuery has none; Kinesis and DynamoDB take it for the account.",
    )
    env: Env | None = Field(default=None, description="Environment (fabric) of these datasets.")
    case: Literal["keep", "lower", "upper"] | None = Field(
        default=None, description="Case of the names, where it differs from the connector's default."
    )
    default_database: Text | None = Field(
        default=None, description="Database, catalogue or project of names that lack one."
    )
    default_schema: Text | None = Field(default=None, description="Schema of names that lack one.")
    database_map: dict[str, str] = Field(default={}, description="Database, catalogue or project names to replace.")
    catalogs: frozenset[str] = Field(
        default=frozenset(), description="Names that are catalogues besides AwsDataCatalog (Athena)."
    )
    parts: dict[str, str] = Field(
        default={}, description="Parts as if the namespace gave them: account, region, instance, bucket …"
    )
    rename: Text | None = Field(
        default=None, description="Template over the parts of the rule's patterns that replaces the name."
    )
    path_depth: int | None = Field(default=None, ge=1, description="How many segments of a path make the dataset.")
    variants: frozenset[str] = Field(
        default=frozenset(), description="Variants of the naming system, such as with-database (Oracle)."
    )
    select: Text | None = Field(default=None, description="Opt-in naming system, such as delta or iceberg.")
    drop: bool = Field(default=False, description="Leave these datasets out.")


class Location(BaseModel):
    """Several addresses of one server, cluster or bucket."""

    model_config = _MODEL

    canonical: Text = Field(description="The namespace that stands for all.")
    aliases: tuple[Text, ...] = Field(default=(), description="Namespaces, or patterns of them, that mean the same.")


class NamingSettings(BaseModel):
    """How a namespace and a name become a DataHub dataset."""

    model_config = _MODEL

    env: Env = Field(default="PROD", description="Environment (fabric) of datasets, where no rule says another.")
    unknown: Literal["keep", "drop", "fail"] = Field(
        default="keep",
        description="Datasets of namespaces that no naming system knows: of platform unknown, left out, or a dead letter of the event.",
    )
    inmemory: Literal["skip", "keep"] = Field(
        default="skip", description="Temporary datasets in memory: no dataset, or one of platform unknown."
    )
    urn_to_lower: bool = Field(
        default=False, description="Dataset names in lower case, as DATAHUB_DATASET_URN_TO_LOWER does in recipes."
    )
    azure: Literal["container", "authority", "adls"] = Field(
        default="container",
        description="Azure storage: container/path (abs source), authority/path (DataHub's OpenLineage reader), or platform adls (Hive storage lineage).",
    )
    local_files: Literal["slash", "bare"] = Field(
        default="slash", description="Local files: /data/x (Hive storage lineage) or data/x (s3 source)."
    )
    rules: tuple[NamingRule, ...] = Field(default=(), description="Rules by namespace and name.")
    locations: tuple[Location, ...] = Field(default=(), description="Groups of addresses that are one location.")
    project_numbers: dict[str, str] = Field(default={}, description="Google project ids by project number.")
    dbfs_workspaces: frozenset[str] = Field(
        default=frozenset(), description="Authorities of hdfs:// namespaces that are Databricks workspaces."
    )
