from __future__ import annotations

import pytest
from pydantic import ValidationError
from support.sample_events import dataset, event, packed

from dh_bridge import Bridge
from dh_bridge.identity import Identity
from dh_bridge.settings.identity import IdentitySettings

SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
STAMPED = {
    "producer": "integration/spark",
    "name": r"(?P<app>.+?)_\d{8,14}(?P<rest>\..*)?",
    "flow": "{app}",
    "job": "{app}{rest}",
}
DOTTED = {"name": r"(?P<dag>fin\.daily)(\.(?P<t>.+))?", "flow": "{dag}"}


def job(rule, namespace, name, producer=SPARK, **settings):
    return Identity(IdentitySettings(rules=[rule], **settings)).job(namespace, name, producer)


@pytest.mark.parametrize(
    ("rule", "name", "expected"),
    [
        (STAMPED, "etl_20240131", ("flow", "etl", "etl", "etl")),
        (STAMPED, "etl_20240131.collect", ("job", "etl", "etl.collect", "collect")),
        (STAMPED, "etl.collect", ("job", "etl", "etl.collect", "collect")),
        (DOTTED, "fin.daily", ("flow", "fin.daily", "fin.daily", "fin.daily")),
        (DOTTED, "fin.daily.x", ("job", "fin.daily", "fin.daily.x", "x")),
        ({"flow": "all {namespace}"}, "etl", ("job", "all ns", "etl", "etl")),
        ({"flow": "all", "job": "{job}"}, "etl.x", ("job", "all", "etl.x", "etl.x")),
        ({"job": "only"}, "etl.x", ("job", "etl", "only", "only")),
        ({"name": "(?P<a>x)?etl", "flow": "{a}"}, "etl", ("flow", "etl", "etl", "etl")),
        ({"name": "etl(?P<a> *)x", "flow": "{a}"}, "etl x", ("flow", "etl x", "etl x", "etl x")),
        ({"name": r"(?P<a>etl)\..+", "flow": "{a}"}, "etl.x", ("job", "etl", "etl.x", "x")),
    ],
)
def test_templates_make_flow_and_job(rule, name, expected):
    made = job(rule, "ns", name)
    assert (made.level, made.flow_id, made.job_id, made.job_name) == expected


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        ({"namespace": "ns"}, True),
        ({"namespace": "n"}, False),
        ({"name": "etl"}, False),
        ({"name": r"etl\..*"}, True),
        ({"producer": "integration/spark"}, True),
        ({"producer": "^integration"}, False),
        ({"namespace": "ns", "name": "x"}, False),
        ({}, True),
    ],
)
def test_all_keys_of_a_rule_must_match(rule, matches):
    assert (job({**rule, "platform": "mine"}, "ns", "etl.x").platform == "mine") is matches


def test_first_matching_rule_applies_alone():
    rules = [{"name": "a", "platform": "one"}, {"name": "a|b", "cluster": "two"}]
    identity = Identity(IdentitySettings(rules=rules))
    a, b = identity.job("ns", "a", SPARK), identity.job("ns", "b", SPARK)
    assert (a.platform, a.cluster) == ("one", "ns")
    assert (b.platform, b.cluster) == ("spark", "two")


def test_rule_sees_the_canonical_namespace():
    groups = {"prod": ["http://x"]}
    assert job({"namespace": "prod", "cluster": "c"}, "http://x", "a", namespaces=groups).cluster == "c"


def test_rules_platform_also_splits_the_name():
    assert job({"platform": "flink"}, "ns", "a.b").level == "flow"


def test_instance_prefixes_the_flow_and_never_the_job():
    identity = Identity(IdentitySettings(rules=[{"instance": "west"}]))
    made = identity.job("ns", "etl", SPARK)
    assert (made.flow_id, made.job_id, made.flow_name, made.instance) == ("west.etl", "etl", "etl", "west")
    assert made.level == "flow"
    assert identity.platform_instance(made) == "urn:li:dataPlatformInstance:(urn:li:dataPlatform:spark,west)"


@pytest.mark.parametrize(
    ("rule", "cluster", "env"),
    [
        ({"cluster": "prod"}, "prod", "PROD"),
        ({"cluster": "Non_Prod"}, "Non_Prod", "NON_PROD"),
        ({"cluster": "eu", "env": "TEST"}, "eu", "TEST"),
        ({"platform": "x"}, "ns", None),
    ],
)
def test_environment_is_the_rules_or_that_of_the_cluster(rule, cluster, env):
    made = job(rule, "ns", "etl")
    assert (made.cluster, made.env) == (cluster, env)


@pytest.mark.parametrize(("env", "count"), [("{stage}", 1), ("{area}", 0)])
def test_environment_that_datahub_does_not_have_is_counted(env, count):
    rule = {"namespace": "(?P<stage>[a-z]+)-(?P<area>[a-z]+)", "env": env}
    sent_event = event(namespace="shop-dev", job="load", outputs=[dataset("db.s.t")])
    translation = Bridge({"identity": {"rules": [rule]}}).translate(packed([sent_event]))
    assert translation.counts.notes["rule-unknown-environment"] == count
    written = {proposal.entity_urn for proposal in translation.proposals if proposal.entity_type == "dataset"}
    assert all(urn.endswith(",PROD)" if count else ",DEV)") for urn in written)
    assert written


def test_skip_marks_the_job():
    identity = Identity(IdentitySettings(rules=[{"name": "tmp_.*", "skip": True}]))
    made = identity.job("ns", "tmp_x", None)
    assert made.skip
    assert not identity.has_job(made, has_io=True)
    assert identity.template(made, has_io=True) is None
    assert not identity.job("ns", "etl", None).skip


def test_job_lists_the_origin_of_each_part():
    rule = {"instance": "w", "cluster": "prod", "flow": "f", "platform": "spark", "skip": True}
    assert job(rule, "ns", "etl.x").rules == (
        "platform: rules[0]",
        "flow: rules[0]",
        "job: rules[0]",
        "cluster: rules[0]",
        "instance: rules[0]",
        "env: cluster",
        "skip: rules[0]",
    )
    plain = Identity().job("trino://h", "20240131_101112_00042_abcde", None)
    assert plain.rules == (
        "platform: namespace scheme of trino",
        "flow: name form of trino",
        "job: name form of trino",
        "cluster: job namespace",
    )
    assert Identity().job("ns", "a.b", SPARK).rules[:2] == ("platform: producer spark", "flow: first dot")
    assert Identity().job("ns", "a", None).rules[:2] == ("platform: default", "flow: whole name")
    assert "cluster: identity.cluster" in Identity(IdentitySettings(cluster="c")).job("ns", "a", None).rules


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"rules": [{"name": "("}]}, "regular expression"),
        ({"rules": [{}]}, "has no effect"),
        ({"rules": [{"namespace": "x"}]}, "has no effect"),
        ({"rules": [{"flow": "{dag}"}]}, "no such group"),
        ({"rules": [{"name": "(?P<a>.)", "flow": "{a}", "job": "{}"}]}, "no such group"),
        ({"rules": [{"instance": "é" * 51}]}, "100 bytes"),
        ({"rules": [{"platform": "a,b"}]}, "pattern"),
        ({"rules": [{"env": "PRODUCTION"}]}, "not an environment"),
        ({"rules": [{"instance": "{team}"}]}, "no such group"),
        ({"rules": [{"cluster": "{team"}]}, "a brace without its pair"),
        ({"rules": [{"namespace": "(?P<a>.)", "domain": "urn:li:domain:{b}"}]}, "no such group"),
        ({"rules": [{"namespace": "(?P<a>.)", "datasets": {"instance": "{b}"}}]}, "no such group"),
        ({"rules": [{"namespace": "(?P<a>.)", "env": "{a}}"}]}, "a brace without its pair"),
        (
            {"rules": [{"namespace": "(?P<namespace>.)x", "instance": "{namespace}"}]},
            "a group cannot be called `namespace`",
        ),
        ({"rules": [{"name": "(?P<job>.)x", "flow": "{job}"}]}, "a group cannot be called `job`"),
        ({"cluster": "{team}"}, "templates are not filled here"),
        ({"rules": [{"granularity": "dag"}]}, "'operation', 'task' or 'application'"),
        ({"mode": "joined"}, "'default', 'datahub-openlineage', 'datahub-airflow-plugin' or 'datahub-dbt-source'"),
        ({"mode": []}, "is one of default"),
        ({"endpoint": {"env": "production"}}, "`env` is `production`, not one of CERT, "),
        ({"endpoint": {"platform_instance": "west"}}, "'orchestrator', 'env', 'platform-instance' or 'pipeline-name'"),
        ({"mode": ["default", "datahub-dbt-source"]}, "is one of default"),
        ({"mode": "datahub-openlineage,datahub-airflow-plugin"}, "a list of the last two"),
        ({"namespaces": {"a": ["x"], "b": ["x"]}}, "two namespaces"),
        ({"namespaces": {"a": ["b"], "b": ["c"]}}, "two namespaces"),
        ({"upstream_runs": "explicit"}, "Extra inputs"),
    ],
)
def test_invalid_identity_settings_are_refused(settings, word):
    with pytest.raises(ValidationError, match=word):
        IdentitySettings(**settings)


def test_every_setting_has_a_description():
    def walk(model):
        for name, field in model.model_fields.items():
            yield name, field.description
            for inner in getattr(field.annotation, "__args__", (field.annotation,)):
                if hasattr(inner, "model_fields"):
                    yield from walk(inner)

    assert [name for name, description in walk(IdentitySettings) if not description] == []
