"""Names of datasets: environment, and the user's rules about namespaces and names."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

_MODEL = ConfigDict(extra="forbid", frozen=True)

_FabricType = Literal[
    "CERT", "CORP", "DEV", "EI", "NON_PROD", "PRD", "PRE", "PROD",
    "QA", "RVW", "SANDBOX", "SBX", "SIT", "STG", "TEST", "TST", "UAT",
]  # fmt: skip
FABRIC_TYPES = frozenset(get_args(_FabricType))
"""The values of DataHub's environment filter."""


def _upper(env: Any) -> Any:
    return env.upper() if isinstance(env, str) else env


Env = Annotated[_FabricType, BeforeValidator(_upper)]
"""DataHub's FabricType, in any case, as in recipes of its connectors."""
PATTERN_CHARS = frozenset("{}[]*")
"""What means something in the patterns of rules and locations, and can stand for itself in none."""
BRACES = frozenset("{}")
"""What begins and ends a part of a template. It is refused in settings that are no templates."""
Text = Annotated[str, StringConstraints(min_length=1)]
Platform = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Instance = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^\S(.*\S)?$")]


class NamingRule(BaseModel):
    """Names of the datasets that a namespace pattern and a name pattern match.

    Patterns are texts with `{part}`, `[optional]` and `{*rest}`. Of the rules that match, the one with the most literal text
    applies alone.
    """

    model_config = _MODEL

    namespace: str = Field(
        description="Pattern of the namespace. It is compared with the namespace as sent, in canonical form, with and without"
        " the default port, and with each host of a list. `''` is the empty namespace (tables of Flink whose connector has no"
        " address)."
    )
    name: Text | None = Field(default=None, description="Pattern of the name. Default: all names.")
    platform: Platform | None = Field(default=None, description="DataHub platform id instead of the system's own.")
    platform_instance: Instance | None = Field(
        default=None,
        description="Platform instance, the prefix of the dataset name. BigQuery has none. For Kinesis and DynamoDB it replaces"
        " the account.",
    )
    env: Env | None = Field(default=None, description="Environment of these datasets. Default: `naming.env`.")
    case: Literal["keep", "lower", "upper"] | None = Field(
        default=None, description="Letter case of the names. Default: as DataHub's connector of the system."
    )
    default_database: Text | None = Field(
        default=None, description="Database, catalogue or project of names that lack one."
    )
    default_schema: Text | None = Field(default=None, description="Schema of names that lack one.")
    database_map: dict[str, str] = Field(
        default={}, description="Replacements of database, catalogue or project names: `{Sales: sales_eu}`."
    )
    parts: dict[str, str] = Field(
        default={}, description="Values of parts that the namespace lacks: account, region, instance, bucket …"
    )
    rename: Text | None = Field(
        default=None, description="New name, a template over the parts of both patterns: `{schema}.{*table}`."
    )
    path_depth: int | None = Field(
        default=None, ge=1, description="Number of path segments that make one dataset. Default: the whole path."
    )
    variants: frozenset[str] = Field(
        default=frozenset(),
        description="Other forms of names, for connectors that disagree: `azure-authority` (`container@host/path`, DataHub's"
        " OpenLineage reader) or `azure-adls` (platform `adls`, Hive storage lineage) instead of `container/path` (`abs` source);"
        " `local-files-bare` (`data/x`, `s3` source) instead of `/data/x`; `with-database` (Oracle, `add_database_name_to_urn`);"
        " `hive-metastore` (containers of that source).",
    )
    select: Text | None = Field(
        default=None, description="Opt-in naming system: `delta` (folders are Delta tables) or `iceberg`."
    )


class NamingSettings(BaseModel):
    """Names of datasets: from namespace and name of an event to DataHub's URN."""

    model_config = _MODEL

    env: Env = Field(
        default="PROD", description="Environment (fabric) of datasets, also of those of DataHub's dbt source."
    )
    unknown: Literal["keep", "drop", "fail"] = Field(
        default="keep",
        description="Datasets of namespaces that no naming system knows: written with the platform `unknown` (`keep`), not"
        " written (`drop`), or the event becomes a dead letter (`fail`).",
    )
    urn_to_lower: bool = Field(
        default=False,
        description="Write dataset names in lower case. Use it if the recipes of DataHub run with `DATAHUB_DATASET_URN_TO_LOWER`.",
    )
    rules: tuple[NamingRule, ...] = Field(
        default=(), description="Rules for datasets, by patterns of namespace and name."
    )
    locations: dict[Text, tuple[Text, ...]] = Field(
        default={},
        description="Aliases of dataset namespaces, by the namespace to use:"
        " `{'postgres://db:5432': ['postgres://10.0.0.5:5432']}`. Aliases may be patterns as in `naming.rules`."
        " `{'dbfs://ws': ['hdfs://ws']}` reads the old form of a Databricks workspace.",
    )
    project_numbers: dict[str, str] = Field(
        default={}, description="Google project ids by project number: `{'123456789': my-project}`."
    )

    @model_validator(mode="after")
    def _check_braces(self) -> NamingSettings:
        for position, rule in enumerate(self.rules):
            texts = {key: getattr(rule, key) for key in ("platform_instance", "default_database", "default_schema")}
            texts |= {f"database_map.{key}": text for key, text in rule.database_map.items()}
            texts |= {f"parts.{key}": text for key, text in rule.parts.items()}
            for key, text in texts.items():
                if BRACES & set(text or ""):
                    raise ValueError(
                        f"`rules[{position}].{key}` has a brace, but only `rename` is a template: write a rule for each value"
                    )
        return self
