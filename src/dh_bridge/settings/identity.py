"""Identity of jobs and runs: what becomes which dataFlow, dataJob and run."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from dh_bridge.settings.naming import Env

_MODEL = ConfigDict(extra="forbid", frozen=True)
_GROUP = re.compile(r"\{(\w*)\}")


def _check_regex(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"`{text}` is no regular expression: {error}") from error
    return text


def _check_length(text: str) -> str:
    if len(text.encode("utf-8", "replace")) > 100:
        raise ValueError("takes more than 100 bytes: nothing would be left of an URN's 512")
    return text


Granularity = Literal["operation", "task", "application"]
Regex = Annotated[str, AfterValidator(_check_regex)]
Platform = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,50}$")]
Instance = Annotated[str, Field(min_length=1), AfterValidator(_check_length)]


class NamespaceGroup(BaseModel):
    """Job namespaces that are one place under several names."""

    model_config = _MODEL

    canonical: str = Field(min_length=1, description="The namespace that all of them become.")
    aliases: tuple[str, ...] = Field(min_length=1, description="Other spellings of it, compared whole.")


class LowercaseSettings(BaseModel):
    """Letter case of jobs; OpenLineage's names have one, some catalogues do not."""

    model_config = _MODEL

    namespace: bool = Field(default=False, description="Job namespaces become lower case.")
    name: bool = Field(default=False, description="Job names become lower case, also in rules.")


class JobRule(BaseModel):
    """What holds for the jobs that match: all keys are optional, those of a match must all match."""

    model_config = _MODEL

    namespace: Regex | None = Field(default=None, description="Regular expression over the whole job namespace.")
    name: Regex | None = Field(
        default=None, description="Regular expression over the whole job name; its groups serve `flow` and `job`."
    )
    producer: Regex | None = Field(default=None, description="Regular expression found anywhere in the producer's URI.")
    platform: Platform | None = Field(default=None, description="Platform id, such as `airflow`.")
    instance: Instance | None = Field(default=None, description="Platform instance; it also prefixes the flow's id.")
    cluster: str | None = Field(default=None, min_length=1, description="Cluster instead of the job namespace.")
    env: Env | None = Field(default=None, description="Environment shown by DataHub, where the cluster names none.")
    flow: str | None = Field(
        default=None, min_length=1, description="Id of the flow: text with `{group}`, `{namespace}`, `{job}`."
    )
    job: str | None = Field(
        default=None,
        min_length=1,
        description="Id of the job, as `flow`; a group that took no part makes a flow-level job.",
    )
    granularity: Granularity | None = Field(default=None, description="Granularity of these jobs.")
    skip: bool = Field(default=False, description="Write nothing for these jobs and their runs.")

    @model_validator(mode="after")
    def _check_effects(self) -> JobRule:
        groups = {"namespace", "job", *(re.compile(self.name).groupindex if self.name else ())}
        for key, template in (("flow", self.flow), ("job", self.job)):
            for group in _GROUP.findall(template or ""):
                if group not in groups:
                    raise ValueError(f"`{key}` uses {{{group}}}, but `name` has no such group")
        effects = (self.platform, self.instance, self.cluster, self.env, self.flow, self.job, self.granularity)
        if not self.skip and not any(effects):
            raise ValueError(
                "the rule says nothing: give platform, instance, cluster, env, flow, job, granularity or skip"
            )
        return self


class CompatSettings(BaseModel):
    """`mode: compat`: the ids that DataHub's own OpenLineage endpoint gives."""

    model_config = _MODEL

    orchestrator: Platform | None = Field(default=None, description="The endpoint's `orchestrator`.")
    env: Env | None = Field(default=None, description="The endpoint's `env`: in lower case the cluster of all flows.")
    platform_instance: Instance | None = Field(
        default=None, description="The endpoint's `platform-instance`: the cluster of all flows, before `env`."
    )
    pipeline_name: str | None = Field(
        default=None, min_length=1, description="The endpoint's `pipeline-name`: the id of all flows."
    )


class AirflowJoin(BaseModel):
    """`mode: join` with DataHub's Airflow plugin: its ids for flows, tasks and their runs."""

    model_config = _MODEL

    cluster: str = Field(
        default="prod", min_length=1, description="The plugin's `cluster`; it needs a value that no other mode uses."
    )
    platform_instance: Instance | None = Field(default=None, description="The plugin's `platform_instance`.")
    runs: Literal["links", "plugin", "openlineage"] = Field(
        default="links",
        description="Runs of tasks: `links` adds parents to the plugin's runs, `plugin` writes whole runs under the"
        " plugin's ids, `openlineage` whole runs under their own (both for `capture_executions=False`).",
    )
    lineage: Literal["off", "patch"] = Field(
        default="off",
        description="Inputs and outputs of tasks: the plugin's alone, or added to them (for"
        " `enable_datajob_lineage=False`).",
    )


class DbtJoin(BaseModel):
    """`mode: join` with DataHub's dbt source: its ids for the runs of nodes."""

    model_config = _MODEL

    env: Env = Field(default="PROD", description="The source's `env`.")
    platform_instance: Instance | None = Field(default=None, description="The source's `platform_instance`.")
    lowercase: bool = Field(
        default=True,
        description="The source's `convert_urns_to_lowercase`: `true` by default since 1.6, before it `false`.",
    )


class JoinSettings(BaseModel):
    """`mode: join`: whose ids to use; events of other producers keep the default identity."""

    model_config = _MODEL

    tools: tuple[Literal["airflow", "dbt"], ...] = Field(
        default=(), description="Tools to join: `airflow` (DataHub's Airflow plugin), `dbt` (DataHub's dbt source)."
    )
    airflow: AirflowJoin = Field(default=AirflowJoin(), description="How DataHub's Airflow plugin is configured.")
    dbt: DbtJoin = Field(default=DbtJoin(), description="How DataHub's dbt source is configured.")


class IdentitySettings(BaseModel):
    """Identity of jobs and runs. The defaults need no configuration; every change here moves entities."""

    model_config = _MODEL

    mode: Literal["default", "compat", "join"] = Field(
        default="default",
        description="How jobs and runs are named: `default` is stable from one event to the next, `compat` gives the ids"
        " of DataHub's OpenLineage endpoint, `join` those of DataHub's Airflow plugin and dbt source.",
    )
    compat: CompatSettings = Field(default=CompatSettings(), description="How that endpoint is configured.")
    join: JoinSettings = Field(default=JoinSettings(), description="Which tools of DataHub to join.")
    default_platform: Platform = Field(
        default="openlineage", description="Platform id of jobs whose producer and namespace say nothing."
    )
    cluster: str | None = Field(
        default=None, min_length=1, description="Cluster of all flows; none means each job's namespace."
    )
    lowercase: LowercaseSettings = Field(default=LowercaseSettings(), description="Letter case of jobs.")
    namespaces: tuple[NamespaceGroup, ...] = Field(
        default=(), description="Groups of job namespaces that are one: `{canonical: airflow-prod, aliases: [...]}`."
    )
    rules: tuple[JobRule, ...] = Field(
        default=(), description="Exceptions for jobs that match; the first rule that matches holds."
    )
    flow_level_jobs: Literal["flow", "flow+task"] = Field(
        default="flow",
        description="A job named like its flow (an Airflow DAG, a Spark application) is the flow; it is a task too when it"
        " has inputs or outputs, or always (`flow+task`, for servers without runs of flows).",
    )
    granularity: Granularity = Field(
        default="operation",
        description="How much is one job: each `operation`, or folded into the `task` (SQL of an Airflow task or a dbt node),"
        " or into the `application` too (all that a Spark application ran). Joins with DataHub's Airflow plugin fold tasks.",
    )
    fold_runs: Literal["drop", "keep"] = Field(
        default="drop",
        description="Runs of folded operations: the run above carries what they read and wrote (`drop`), or they are"
        " written, too.",
    )
    parent_job_edge: bool = Field(
        default=False,
        description="Lineage from the job that started another one, of another flow: from an Airflow task to the application that"
        " it submits, from a triggering task to the tasks with which the triggered DAG begins.",
    )
    salt: Literal["namespace"] | None = Field(
        default=None,
        description="`namespace` keeps equal run ids of two installations apart by their job namespaces; run ids then no"
        " longer stand in the URNs.",
    )

    register_platform: bool = Field(
        default=True,
        description="Tell DataHub the platform `openlineage`, once per call that writes a flow of it; it has no such platform"
        " by itself.",
    )

    @model_validator(mode="after")
    def _check_joined_tools(self) -> IdentitySettings:
        if self.mode == "join" and not self.join.tools:
            raise ValueError("`mode: join` joins nobody: add `join: {tools: [airflow]}`, `[dbt]` or both")
        return self

    @model_validator(mode="after")
    def _check_alias_groups(self) -> IdentitySettings:
        owner: dict[str, str] = {}
        for group in self.namespaces:
            for alias in {*group.aliases, group.canonical}:
                if owner.setdefault(alias, group.canonical) != group.canonical:
                    raise ValueError(f"`{alias}` stands in two groups: {owner[alias]} and {group.canonical}")
        return self
