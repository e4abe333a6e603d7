"""Identity of jobs and runs: the URNs of dataFlows, dataJobs and runs."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from dh_bridge.settings.domains import DOMAIN_URN_PATTERN
from dh_bridge.settings.naming import BRACES, FABRIC_TYPES

_MODEL = ConfigDict(extra="forbid", frozen=True)
_GROUP = re.compile(r"\{(\w*)\}")
_BRACES = re.compile(r"[{}]")


def _check_regex(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"`{text}` is not a regular expression: {error}") from error
    return text


def _check_env(text: str) -> str:
    env = text if "{" in text else text.upper()
    if "{" not in text and env not in FABRIC_TYPES:
        raise ValueError(f"`{text}` is not an environment: use one of {', '.join(sorted(FABRIC_TYPES))}")
    return env


def _check_length(text: str) -> str:
    if len(text.encode("utf-8", "replace")) > 100:
        raise ValueError("takes more than 100 bytes: nothing would be left of an URN's 512")
    return text


def _split_modes(modes: Any) -> Any:
    return tuple(mode.strip() for mode in modes.split(",")) if isinstance(modes, str) else modes


def _check_endpoint(endpoint: dict[EndpointKey, str]) -> dict[EndpointKey, str]:
    env = endpoint.get("env", "PROD")
    if env.upper() not in FABRIC_TYPES:
        raise ValueError(f"`env` is `{env}`, not one of {', '.join(sorted(FABRIC_TYPES))}")
    return endpoint


IdentityMode = Literal["default", "datahub-openlineage", "datahub-airflow-plugin", "datahub-dbt-source"]
_MODE_SCHEMA = {"enum": list(get_args(IdentityMode)), "type": "string"}
IdentityModes = Annotated[
    tuple[IdentityMode, ...],
    BeforeValidator(_split_modes),
    WithJsonSchema({"anyOf": [_MODE_SCHEMA, {"items": _MODE_SCHEMA, "type": "array"}]}),
]
"""One mode, or the modes that can be combined."""
EndpointKey = Literal["orchestrator", "env", "platform-instance", "pipeline-name"]
Endpoint = Annotated[
    dict[EndpointKey, Annotated[str, Field(min_length=1)]],
    AfterValidator(_check_endpoint),
]
Granularity = Literal["operation", "task", "application"]
Regex = Annotated[str, AfterValidator(_check_regex)]
Platform = Annotated[str, Field(pattern=r"^[A-Za-z0-9._{}-]{1,50}$")]
Instance = Annotated[str, Field(min_length=1), AfterValidator(_check_length)]
RuleEnv = Annotated[
    str,
    AfterValidator(_check_env),
    WithJsonSchema(
        {"anyOf": [{"enum": sorted(FABRIC_TYPES), "type": "string"}, {"pattern": r"\{\w+\}", "type": "string"}]}
    ),
]
RuleDomain = Annotated[str, Field(pattern=DOMAIN_URN_PATTERN)]


class RuleDatasets(BaseModel):
    """Names and domains of the datasets that jobs of a rule read and write. A rule of `naming.rules` wins over them."""

    model_config = _MODEL

    env: RuleEnv | None = Field(default=None, description="Environment of the datasets. Default: the rule's `env`.")
    instance: Instance | None = Field(
        default=None, description="Platform instance of the datasets, as `platform_instance` of `naming.rules`."
    )
    domain: RuleDomain | None = Field(default=None, description="Domain of the datasets. Default: the rule's `domain`.")


_WHOLE_TEXTS = frozenset({"namespace", "job"})
_TEMPLATE_KEYS = ("platform", "instance", "cluster", "env", "domain", "flow", "job")


class JobRule(BaseModel):
    """Exceptions for the jobs that a rule matches. A rule without `namespace`, `name` and `producer` matches all jobs.

    The values of `platform`, `instance`, `cluster`, `env`, `domain`, `flow`, `job` and `datasets` may be templates: `{team}` is the
    group `(?P<team>…)` of `namespace` or `name`; `{namespace}` and `{job}` are the whole texts. A value whose group did not
    match is not set.
    """

    model_config = _MODEL

    namespace: Regex | None = Field(
        default=None,
        description="Regular expression for the whole job namespace, with groups for templates:"
        " `airflow-(?P<team>\\w+)-(?P<stage>dev|prod)`.",
    )
    name: Regex | None = Field(
        default=None,
        description="Regular expression for the whole job name, with groups for templates: `(?P<app>[^.]+)_.*`.",
    )
    producer: Regex | None = Field(default=None, description="Regular expression for any part of the producer's URI.")
    platform: Platform | None = Field(
        default=None,
        description="Platform id, such as `airflow`. Default: that of the producer, else `openlineage`.",
    )
    instance: Instance | None = Field(
        default=None,
        description="Platform instance, which is also the prefix of the flow's id. For `datahub-airflow-plugin` and"
        " `datahub-dbt-source`: their `platform_instance`. Match jobs of Airflow by namespace: other events may refer to them.",
    )
    cluster: str | None = Field(
        default=None, min_length=1, description="Cluster of the flow. Default: `identity.cluster`."
    )
    env: RuleEnv | None = Field(
        default=None,
        description="Environment of the jobs and of the datasets that they read and write. Default: the cluster, if it is the name"
        " of an environment, for jobs; `naming.env` for datasets. A template may also give `production`, `staging`, `development`"
        " or `testing`.",
    )
    domain: RuleDomain | None = Field(
        default=None,
        description="URN of the domain of the jobs, their flows, and the datasets that they read and write, such as"
        " `urn:li:domain:{team}`. Entities that a pattern of `domains` matches get that domain instead.",
    )
    datasets: RuleDatasets = Field(
        default=RuleDatasets(), description="Other values for the datasets that the jobs read and write."
    )
    flow: str | None = Field(
        default=None,
        min_length=1,
        description="Id of the flow: text with `{group}`, `{namespace}`, `{job}`.",
    )
    job: str | None = Field(
        default=None,
        min_length=1,
        description="Id of the job, in the form of `flow`. If a group of it did not match, the job is a flow-level job.",
    )
    granularity: Granularity | None = Field(
        default=None, description="Granularity of these jobs. Default: `identity.granularity`."
    )
    skip: bool = Field(default=False, description="Write neither these jobs nor their runs.")

    @model_validator(mode="after")
    def _check_effects(self) -> JobRule:
        groups = set(_WHOLE_TEXTS)
        for pattern in (self.namespace, self.name):
            names = set(re.compile(pattern).groupindex if pattern else ())
            if whole_texts := sorted(names & _WHOLE_TEXTS):
                raise ValueError(f"a group cannot be called `{whole_texts[0]}`: {{{whole_texts[0]}}} is the whole text")
            groups |= names
        templates = {key: getattr(self, key) for key in _TEMPLATE_KEYS}
        templates |= {f"datasets.{key}": getattr(self.datasets, key) for key in ("env", "instance", "domain")}
        for key, template in templates.items():
            for group in _GROUP.findall(template or ""):
                if group not in groups:
                    raise ValueError(f"`{key}` uses {{{group}}}, but `namespace` and `name` have no such group")
            if _BRACES.search(_GROUP.sub("", template or "")):
                raise ValueError(f"`{key}` has a brace without its pair: write {{group}}")
        if not self.skip and not self.granularity and not any(templates.values()):
            raise ValueError(
                "the rule has no effect: set platform, instance, cluster, env, domain, datasets, flow, job, granularity or skip"
            )
        return self


class AirflowPluginSettings(BaseModel):
    """`mode: datahub-airflow-plugin`: configuration of the plugin, and which of the two writes runs and lineage."""

    model_config = _MODEL

    cluster: str = Field(
        default="prod",
        min_length=1,
        description="The plugin's `cluster`. Do not use it for Airflow in another mode: the plugin's clean-up removes such jobs.",
    )
    runs: Literal["links", "plugin", "openlineage"] = Field(
        default="links",
        description="Runs of tasks: add parents to the plugin's runs (`links`), or write the runs under the plugin's ids"
        " (`plugin`) or under their own ids (`openlineage`). Use the last two with `capture_executions=False`.",
    )
    lineage: Literal["off", "patch"] = Field(
        default="off",
        description="Inputs and outputs of tasks: left to the plugin (`off`), or added by patches (`patch`, with"
        " `enable_datajob_lineage=False`).",
    )


class IdentitySettings(BaseModel):
    """URNs of flows, jobs and runs. A change of a setting of this area moves entities to other URNs."""

    model_config = _MODEL

    mode: IdentityModes = Field(
        default=("default",),
        description="Ids of jobs and runs: `default` (stable from event to event), or the ids of DataHub's own tools:"
        " `datahub-openlineage` (its OpenLineage endpoint), or `datahub-airflow-plugin`, `datahub-dbt-source` or both. Jobs of"
        " other producers keep the default ids.",
    )
    endpoint: Endpoint = Field(
        default={},
        description="For `mode: datahub-openlineage`: the endpoint's own configuration, by the endpoint's names:"
        " `{env: PROD, platform-instance: west, orchestrator: spark, pipeline-name: nightly}`.",
    )
    airflow_plugin: AirflowPluginSettings = Field(
        default=AirflowPluginSettings(), description="For `mode: datahub-airflow-plugin`."
    )
    dbt_urns_to_lowercase: bool = Field(
        default=True,
        description="For `mode: datahub-dbt-source`: `convert_urns_to_lowercase` of the source. Its default is `true` since 1.6,"
        " and `false` before.",
    )
    cluster: str | None = Field(
        default=None,
        min_length=1,
        description="Cluster of all flows. Default: the namespace of the job.",
    )
    lowercase: frozenset[Literal["namespace", "name"]] = Field(
        default=frozenset(),
        description="Parts of jobs that are read in lower case, before rules: `namespace`, `name`. Use it if producers disagree.",
    )
    varying_names: Literal["cut", "keep"] = Field(
        default="cut",
        description="Parts of job names that change with every run, such as `_jr_<hash>`, UUIDs, dates and YARN ids"
        " (mappings/tables/varying_names.yaml): left out of the ids of flows and jobs (`cut`), so that all runs belong to one job;"
        " or part of them (`keep`). The run has the whole name. A rule's `flow` and `job` apply instead.",
    )
    namespaces: dict[Annotated[str, Field(min_length=1)], tuple[str, ...]] = Field(
        default={},
        description="Aliases of job namespaces, by the namespace to use: `{airflow-prod: ['http://airflow:8080']}`.",
    )
    rules: tuple[JobRule, ...] = Field(
        default=(), description="Exceptions for some jobs. The first rule that matches applies alone."
    )
    flow_level_jobs: Literal["flow", "flow+task"] = Field(
        default="flow",
        description="Jobs with the name of their flow (an Airflow DAG, a Spark application): a flow, and also a job if it has"
        " inputs or outputs (`flow`); or always both (`flow+task`, for servers without runs of flows).",
    )
    granularity: Granularity = Field(
        default="operation",
        description="What one job contains: each `operation`; a `task` of Airflow or a node of dbt with its SQL; or also a whole"
        " Spark `application`. In `datahub-airflow-plugin` at least `task`.",
    )
    fold_runs: Literal["drop", "keep"] = Field(
        default="drop",
        description="Runs of operations that `granularity` merges: not written (`drop`), since the run of the task or application"
        " has their inputs and outputs; or written, too (`keep`).",
    )
    parent_job_edge: bool = Field(
        default=False,
        description="Write lineage from the job that started another one, if they are of different flows: from an Airflow task to"
        " the application that it submits, from a triggering task to the first tasks of the triggered DAG.",
    )
    salt: Literal["namespace"] | None = Field(
        default=None,
        description="`namespace`: hash the job namespace into the ids of runs. Use it if two installations send equal run ids.",
    )

    @property
    def has_default_ids(self) -> bool:
        """Whether no tool of DataHub gives the ids."""
        return self.mode == ("default",)

    @property
    def shares_entities(self) -> bool:
        """Whether the bridge writes beside a connector of DataHub, under the connector's ids."""
        return "datahub-airflow-plugin" in self.mode or "datahub-dbt-source" in self.mode

    @model_validator(mode="after")
    def _check_cluster(self) -> IdentitySettings:
        if BRACES & set(self.cluster or ""):
            raise ValueError(
                "`cluster` has a brace, but templates are not filled here: set `cluster` in a rule of `rules`"
            )
        return self

    @model_validator(mode="after")
    def _check_modes(self) -> IdentitySettings:
        if not self.mode or (
            len(self.mode) > 1 and not set(self.mode) <= {"datahub-airflow-plugin", "datahub-dbt-source"}
        ):
            raise ValueError(
                "`mode` is one of default, datahub-openlineage, datahub-airflow-plugin and datahub-dbt-source, or a list of the"
                " last two"
            )
        return self

    @model_validator(mode="after")
    def _check_aliases(self) -> IdentitySettings:
        owner: dict[str, str] = {}
        for canonical, aliases in self.namespaces.items():
            for alias in {*aliases, canonical}:
                if owner.setdefault(alias, canonical) != canonical:
                    raise ValueError(f"`{alias}` is an alias of two namespaces: {owner[alias]} and {canonical}")
        return self
