"""Rules that ``check`` proposes: each with its evidence, and all of them settings that our own loader takes."""

from __future__ import annotations

import json
import random
from itertools import permutations

import pytest
import yaml

from dh_bridge.checking import EventChecker, check_events
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.options import Options
from dh_bridge.settings import Settings
from dh_bridge.settings.loading import load

AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
DBT = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/dbt"
RUN = "018cc251-f400-7026-81fb-56cf8ce0{:04x}"


def event(
    name="dag.task", *, namespace="ns", run=0, kind="START", producer=AIRFLOW, datasets=(), run_facets=None, **job
):
    body = {
        "eventTime": "2026-01-01T00:00:00Z", "eventType": kind, "producer": producer,
        "run": {"runId": RUN.format(run), "facets": run_facets or {}},
        "job": {"namespace": namespace, "name": name, "facets": job},
        "outputs": [
            {"namespace": one[0], "name": one[1], "facets": {"schema": {"fields": [{"name": c} for c in one[2]]}} if len(one) > 2 else {}}
            for one in datasets
        ],
    }  # fmt: skip
    return parse_event(json.dumps(body).encode(), "here")


def findings(*events, **settings):
    return check_events(events, Settings(**settings)).findings()


def loaded(tmp_path, *events, **settings):
    """Return the settings that the page proposes."""
    page = check_events(events, Settings(**settings)).to_yaml()
    file = tmp_path / "learned.yml"
    file.write_text(page)
    return load(file, environ={}).settings, page


# -- datasets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "retained", "why"),
    [
        ("postgres://db.example.com:5432", "postgres://10.0.0.5:5432", 0, "a host name and an IP address"),
        ("postgres://db.example.com", "postgres://db.example.com:5432", 1, "the same host, with and without its port"),
        ("postgres://db:5432", "postgres://db.example.com:5432", 1, "a short and a full host name"),
        ("mysql://localhost:3306", "mysql://db:3306", 1, "a host name and an IP address"),
        ("kafka://a:9092,b:9092", "kafka://b:9092,c:9092", 0, "the same host"),
        (
            "postgres://10.0.0.5",
            "postgres://db.example.com:5432",
            1,
            "a host name and an IP address, with and without its port",
        ),
    ],
)
def test_server_with_two_names_is_one_location(tmp_path, one, other, retained, why):
    events = [event(datasets=[(place, f"shop.public.t{n}")]) for place in (one, other) for n in range(3)]
    (found,) = findings(*events)
    assert (found.kind, found.count) == ("one-location", 6)
    assert found.text.startswith(f"{why}: 3 datasets seen under several of these names (")
    settings, _ = loaded(tmp_path, *events)
    assert settings.naming.locations == {(one, other)[retained]: ((other, one)[retained],)}
    assert findings(*events, naming={"locations": settings.naming.locations}) == []


def test_address_that_a_pattern_cannot_match_is_only_a_comment(tmp_path):
    events = [event(datasets=[("mysql://[::1]:3306", "a.b"), ("mysql://db:3306", "a.b")])]
    settings, page = loaded(tmp_path, *events)
    assert settings == Settings()
    assert "# mysql://db:3306: ['mysql://[::1]:3306']" in page


def test_three_names_of_one_server_are_one_group(tmp_path):
    places = ["postgres://db:5432", "postgres://db.example.com:5432", "postgres://10.0.0.5:5432"]
    settings, _ = loaded(tmp_path, *(event(datasets=[(place, "shop.public.t")]) for place in places))
    ((canonical, aliases),) = settings.naming.locations.items()
    assert canonical == places[1]
    assert sorted(aliases) == sorted([places[0], places[2]])


def test_urn_collision_of_two_servers_is_a_warning_with_evidence(tmp_path):
    events = [
        event(datasets=[(f"postgres://{host}:5432", f"shop.public.t{n}", columns)])
        for host, columns in (("crm", ["id", "a"]), ("erp", ["id", "b"]), ("erp", ["id", "b"]))
        for n in range(2)
    ]
    (found,) = findings(*events)
    assert (found.kind, found.count, found.sure) == ("collision", 2, False)
    assert "the columns of 2 differ" in found.text
    assert found.value == {"namespace": "postgres://crm:5432", "platform_instance": "INSTANCE"}
    settings, page = loaded(tmp_path, *events)
    assert settings == Settings()
    assert "# - {namespace: postgres://crm:5432, platform_instance: INSTANCE}" in page


@pytest.mark.parametrize(
    "hosts",
    [("crm:5432", "erp:5432", "10.0.0.5:5432"), ("db:5432", "db:5433", "db"), ("db", "db.one.com", "db.two.com")],
)
def test_ambiguous_server_names_are_no_location(tmp_path, hosts):
    places = [f"postgres://{host}" for host in hosts]
    settings, page = loaded(tmp_path, *(event(datasets=[(place, "shop.public.t")]) for place in places))
    assert settings == Settings()
    assert "# one-location (3)" in page
    assert " do not look alike" in page
    events = [event("d", namespace=f"http://{host}", run=run, kind="COMPLETE") for run, host in enumerate(hosts)]
    settings, page = loaded(tmp_path, *events)
    assert settings == Settings()
    assert " do not look alike" in page


@pytest.mark.parametrize(("differ", "sure"), [(0, True), (1, True), (2, False)])
def test_name_and_address_with_different_columns_are_unsure(differ, sure):
    events = [
        event(datasets=[(f"postgres://{host}:5432", f"shop.public.t{n}", ["id", host if n < differ else "a"])])
        for host in ("crm", "10.0.0.5")
        for n in range(3)
    ]
    (found,) = findings(*events)
    assert (found.kind, found.sure) == ("one-location", sure)
    assert ("the columns of" in found.text) == (differ > 0)


def test_columns_that_come_and_go_are_the_same_in_any_order():
    events = [
        event(datasets=[(f"postgres://{host}:5432", "shop.public.t", columns)])
        for host, columns in (("crm", ["a"]), ("crm", ["b"]), ("10.0.0.5", ["a"]), ("10.0.0.5", ["b"]))
    ]
    for order in permutations(events):
        (found,) = findings(*order)
        assert found.sure
        assert "columns differ" not in found.text


def test_two_ports_of_a_host_are_two_servers():
    events = [event(datasets=[(f"postgres://db:{port}", "shop.public.t", ["id"])]) for port in (5432, 5433)]
    (found,) = findings(*events)
    assert found.kind == "collision"
    assert "columns differ" not in found.text


def test_buckets_in_the_urn_do_not_collide():
    assert findings(event(datasets=[("s3://a", "x/y"), ("s3://b", "x/y"), ("s3a://a", "x/y")])) == []


def test_equivalent_namespaces_of_one_system_do_not_collide():
    lake = [("s3://aws@lake", "totals"), ("s3a://lake", "totals"), ("gs://gcp@lake", "totals"), ("gs://lake", "totals")]
    here = [("file", "/data/x"), ("file://localhost", "/data/x")]
    jdbc = [("postgres://db:5432/shop", "public.t"), ("postgres://db:5432", "shop.public.t")]
    assert findings(event(datasets=[*lake, *here, *jdbc])) == []


PG = "postgres://db:5432"


@pytest.mark.parametrize(
    ("namespace", "short", "whole", "default"),
    [
        (PG, "shop.orders", "shop.public.orders", {"name": "shop.{table}", "default_schema": "public"}),
        (PG, 'shop."Top Ten"', 'shop."Mart"."Top Ten"', {"name": "shop.{table}", "default_schema": "Mart"}),
        (PG, "public.orders", "shop.public.orders", {"name": "public.{table}", "default_database": "shop"}),
        (PG, "orders", "shop.public.orders", {"name": "{table}", "default_database": "shop", "default_schema": "public"}),
        ("mysql://db:3306", "orders", "shop.orders", {"name": "{table}", "default_database": "shop"}),
        ("sqlserver://db:1433", "shop.orders", "shop.dbo.orders", {"name": "shop.{table}", "default_schema": "dbo"}),
    ],
)  # fmt: skip
def test_name_that_lacks_a_part_becomes_the_one_that_has_it(tmp_path, namespace, short, whole, default):
    events = [event(datasets=[(namespace, name, ["id"])]) for name in (short, whole)]
    (found,) = findings(*events)
    assert (found.kind, found.sure, found.value) == ("short-name", True, {"namespace": namespace, **default})
    settings, page = loaded(tmp_path, *events)
    naming = Options(settings).naming
    assert naming(namespace, short).endpoint == naming(namespace, whole).endpoint
    assert check_events(events, settings).findings() == []
    assert f"{short} is {whole}".replace('"', "") in page


def test_short_name_is_that_of_the_server_under_its_other_name():
    events = [
        event(datasets=[(PG, "shop.orders")]),
        event(datasets=[("postgres://db.example.com", "shop.public.orders")]),
    ]
    assert [found.value["namespace"] for found in findings(*events)] == [PG]
    elsewhere = event(datasets=[("postgres://crm:5432", "shop.public.orders")])
    assert [found.kind for found in findings(events[0], elsewhere)] == ["incomplete-name"]


def test_short_name_of_two_possible_tables_is_only_a_comment(tmp_path):
    events = [event(datasets=[(PG, name)]) for name in ("shop.orders", "shop.public.orders", "shop.archive.orders")]
    assert [(found.value["default_schema"], found.sure) for found in findings(*events)] == [
        ("archive", False),
        ("public", False),
    ]
    assert loaded(tmp_path, *events)[0] == Settings()


def test_short_name_with_other_columns_is_left_to_people():
    events = [event(datasets=[(PG, "shop.orders", ["day"])]), event(datasets=[(PG, "shop.public.orders", ["id"])])]
    (found,) = findings(*events)
    assert not found.sure
    assert "the columns of 1 differ" in found.text


def test_short_name_without_a_full_name_is_unsure():
    events = [event(datasets=[(PG, "shop.orders"), (PG, "shop.public.customers"), ("s3://lake", "shop.orders")])]
    (found,) = findings(*events)
    assert (found.kind, found.sure, found.value) == (
        "incomplete-name",
        False,
        {"namespace": PG, "default_database": "DATABASE"},
    )


def test_short_name_with_a_contrary_rule_is_one_finding():
    events = [event(datasets=[(PG, name)]) for name in ("shop.orders", "shop.public.orders")]
    rules = [{"namespace": PG, "name": "shop.orders", "platform_instance": "crm"}]
    assert [found.kind for found in findings(*events, naming={"rules": rules})] == ["incomplete-name"]


def test_project_number_is_named_by_the_tables_of_its_project(tmp_path):
    events = [
        event(datasets=[("bigquery", f"{project}.ds.t{n}")]) for project in ("123456789", "my-shop") for n in range(2)
    ]
    settings, page = loaded(tmp_path, *events)
    assert settings.naming.project_numbers == {"123456789": "my-shop"}
    assert "2 tables of the same name in my-shop" in page
    assert findings(*events, naming={"project_numbers": {"123456789": "my-shop"}}) == []


def test_project_number_without_a_name_is_only_a_comment(tmp_path):
    settings, page = loaded(tmp_path, event(datasets=[("bigquery", "123456789.ds.t")]))
    assert settings == Settings()
    assert "# '123456789': PROJECT-ID" in page
    assert "gcloud projects describe" in page


def test_unknown_namespace_is_named_with_its_tables():
    events = [event(datasets=[("nosuchdb://u:secret@h:1", name)]) for name in "abcda"]
    (found,) = findings(*events)
    assert (found.kind, found.count) == ("unknown-namespace", 5)
    assert found.value == {"namespace": "nosuchdb://h:1", "platform": "nosuchdb"}
    assert found.text.endswith("4 datasets (a, b, c and 1 more)")
    (found,) = findings(event(datasets=[("somewhere", "a")]))
    assert found.value["platform"] == "PLATFORM"


def test_empty_namespace_gets_a_valid_rule():
    (found,) = findings(event(datasets=[("", "default_catalog.default_database.orders")]))
    assert found.text.startswith("no naming system matches '': 1 dataset ")
    proposed = Settings(naming={"rules": [found.value]}).naming.rules
    assert [(rule.namespace, rule.platform) for rule in proposed] == [("", "PLATFORM")]


def test_topics_of_a_list_are_seen_one_by_one():
    two = [("kafka://a:9092", "orders;returns"), ("kafka://b:9092", "returns")]
    assert [found.kind for found in findings(event(datasets=two))] == ["collision"]


def test_unknown_system_under_two_names_is_one_location():
    kinds = [found.kind for found in findings(event(datasets=[("nosuchdb://h:1", "a"), ("nosuchdb://h", "a")]))]
    assert kinds == ["one-location", "unknown-namespace", "unknown-namespace"]


def test_dataset_events_count_too():
    body = {
        "eventTime": "2026-01-01T00:00:00Z",
        "producer": AIRFLOW,
        "dataset": {"namespace": "somewhere", "name": "a"},
    }
    assert [found.kind for found in findings(parse_event(json.dumps(body).encode(), "here"))] == ["unknown-namespace"]


# -- jobs -----------------------------------------------------------------------------------------------------------


def test_two_addresses_of_one_airflow_are_one_namespace(tmp_path):
    places = ["http://airflow:8080", "https://airflow.example.com:8080", "http://10.1.1.1:8080"]
    events = [event(f"d{n}", namespace=place, run=n, kind="COMPLETE") for place in places for n in range(2)]
    settings, page = loaded(tmp_path, *events)
    assert list(settings.identity.namespaces) == ["https://airflow.example.com:8080"]
    assert "2 jobs seen under several of these names (d0, d1)" in page
    assert findings(*events, identity={"namespaces": settings.identity.namespaces}) == []


def test_two_hosts_with_the_same_jobs_are_a_question(tmp_path):
    events = [
        event(f"d{n}", namespace=place, run=n, kind="COMPLETE")
        for place in ("http://a:1", "http://b:1")
        for n in range(3)
    ]
    settings, page = loaded(tmp_path, *events)
    assert settings == Settings()
    assert "check whether this is one installation, or two with the same jobs" in page


def test_same_jobs_in_dev_and_prod_are_no_news():
    assert (
        findings(
            *(
                event(f"d{n}", namespace=place, run=n + len(place), kind="COMPLETE")
                for place in ("dev", "production")
                for n in range(5)
            )
        )
        == []
    )


def test_dotted_dags_get_one_rule_that_makes_them_flows(tmp_path):
    dag = {"jobType": {"jobType": "DAG", "integration": "AIRFLOW"}}
    events = [
        event("finance.daily", run=1, **dag), event("finance.daily.eu", run=2, **dag), event("finance.daily.eu.load", run=3),
        event("hr.weekly.load", run=4, run_facets={"airflow": {"dag": {"dag_id": "hr.weekly"}}}), event("plain", run=5, **dag),
        event("plain.task", run=6, run_facets={"airflow": {"dag": {"dag_id": "plain"}}}),
    ]  # fmt: skip
    settings, page = loaded(tmp_path, *events)
    identity = Options(settings).identity
    flows = [identity.job("ns", one.name, AIRFLOW) for one in events]
    assert [job.flow_id for job in flows] == [
        "finance.daily", "finance.daily.eu", "finance.daily.eu", "hr.weekly", "plain", "plain",
    ]  # fmt: skip
    assert [job.level for job in flows] == ["flow", "flow", "job", "job", "flow", "job"]
    assert "3 flows with a dot in the name: finance.daily, finance.daily.eu, hr.weekly" in page
    assert "rules[0]" not in str(identity.job("other", "finance.daily", AIRFLOW).rules)


@pytest.mark.parametrize(
    "stamps",
    [
        ("_20260101", "_20260102"),
        ("_2026_01_01", "_2026_01_02"),
        ("_2026_01_01t10_00_00", "_2026_01_02t10_00"),
        ("_20260101120000", "_20260102120000"),
        ("_1767225600", "_1767225601"),
        ("_20260101_1200", "_20260101_1300"),
        ("-2026-01-01", "-2026-01-02"),
    ],
)
def test_applications_with_a_time_in_their_name_become_one(tmp_path, stamps):
    app = {"jobType": {"jobType": "APPLICATION", "integration": "SPARK"}}
    events = [event(f"orders{stamp}", run=n, producer=SPARK, **app) for n, stamp in enumerate(stamps)]
    events += [event(f"orders{stamps[0]}.execute_insert.t", run=9, producer=SPARK)]
    settings, page = loaded(tmp_path, *events, identity={"varying_names": "keep"})
    for one in (settings, Settings()):  # by the rule, and by the forms that are cut without one
        identity = Options(one).identity
        jobs = [identity.job("ns", one.name, SPARK) for one in events]
        assert {job.flow_id for job in jobs} == {"orders"}
        assert [job.job_id for job in jobs] == ["orders", "orders", "orders.execute_insert.t"]
    assert findings(*events) == []
    assert "2 names of the form orders" in page
    assert "Effect: 2 flows become 1: orders" in page


DAG = {"jobType": {"jobType": "DAG", "integration": "AIRFLOW"}}
APPLICATION = {"jobType": {"jobType": "APPLICATION", "integration": "SPARK"}}


@pytest.mark.parametrize(
    "events",
    [
        # a dotted flow whose name has a stamp, too, and one that begins like it
        [event(f"fin.daily_2026010{n}", run=n, producer=SPARK, **APPLICATION) for n in range(1, 4)],
        [
            *(event(name, run=n, **DAG) for n, name in enumerate(("a.b", "a.b.c_20260101", "a.b.c_20260102"))),
            *(event(f"a.b.t{n}", run=10 + n, **DAG) for n in range(3)),
        ],
        # rules for a namespace that becomes another one
        [
            event("fin.daily", namespace="http://a:1", run=1, **DAG),
            *(event("x", namespace=place, run=2, kind="COMPLETE") for place in ("http://a:1", "http://a.b.c:1")),
            event("fin.daily.load", namespace="http://a.b.c:1", run=4),
        ],
        [
            event("o_20260101", namespace="http://a:1", run=1, producer=SPARK, **APPLICATION),
            event("o_20260102", namespace="http://a.b.c:1", run=2, producer=SPARK, **APPLICATION),
            *(event("x", namespace=place, run=3, kind="COMPLETE") for place in ("http://a:1", "http://a.b.c:1")),
        ],
        # a name is cleaned before rules see it
        [event(" fin.\ndaily ", run=1, **DAG), event("fin. daily.load", run=2)],
        [event("fin.\0\U0001f600", run=1, **DAG)],
    ],
)
def test_proposed_settings_leave_no_further_proposals(tmp_path, events):
    settings, page = loaded(tmp_path, *events, identity={"varying_names": "keep"})
    assert settings != Settings(), page
    assert [found for found in check_events(events, settings).findings() if found.path] == []


def test_names_are_in_the_case_that_rules_see():
    (found,) = findings(event("Fin.Daily", **DAG), identity={"lowercase": ["name"]})
    settings = Settings(identity={"lowercase": ["name"], "rules": [found.value]})
    assert Options(settings).identity.job("ns", "Fin.Daily.Load", AIRFLOW).flow_id == "fin.daily"


def test_incomplete_rule_asks_to_repeat_the_command():
    (found,) = findings(*(event(f"fin.d{number}", run=number, **DAG) for number in range(150)))
    assert "at least 100 flows" in found.text
    assert "add it, and run this command again" in found.text


def test_single_name_with_a_number_is_no_timestamp_pattern():
    assert findings(event("orders_20260101", producer=SPARK), event("etl_v2", run=1), event("etl_2026", run=2)) == []


def test_two_names_of_one_dbt_node_are_noticed(tmp_path):
    def node(name, unique_id, kind="MODEL", run=0):
        return event(name, producer=DBT, run=run, jobType={"jobType": kind}, dbt_node={"unique_id": unique_id})

    events = [
        node("shop.a.shop.orders", "model.shop.orders"), node("shop.a.shop.orders.build.run", "model.shop.orders", run=1),
        node("shop.a.shop.orders.test", "model.shop.orders", "TEST", 2), node("shop.a.shop.one", "model.shop.one", run=3),
    ]  # fmt: skip
    settings, page = loaded(tmp_path, *events)
    assert settings.dbt.node_identity == "unique_id"
    assert (
        "1 dbt node with several names: model.shop.orders is shop.a.shop.orders, shop.a.shop.orders.build.run" in page
    )
    assert findings(*events, dbt={"node_identity": "unique_id"}) == []


def test_run_ids_of_two_installations_are_noticed(tmp_path):
    events = [event(f"d{n}", namespace=place, run=n) for place in ("dev", "prod") for n in range(4)]
    settings, page = loaded(tmp_path, *events)
    assert settings.identity.salt == "namespace"
    assert "4 run ids started more than once: in dev, prod" in page
    found = findings(*events, identity={"salt": "namespace"})
    assert [one.kind for one in found] == []


def test_run_in_two_namespaces_is_no_second_installation():
    kinds = {found.kind for found in findings(event(namespace="a"), event(namespace="b", kind="COMPLETE"))}
    assert "two-installations" not in kinds
    kinds = {found.kind for found in findings(event(namespace="http://a:1"), event(namespace="http://a"))}
    assert "two-installations" not in kinds


def test_installations_sharing_a_namespace_differ_by_root():
    roots = [
        {"parent": {"run": {"runId": "p"}, "job": {}, "root": {"run": {"runId": "r"}, "job": {"namespace": root}}}}
        for root in "xy"
    ]
    found = findings(*(event(run_facets=root) for root in roots))
    assert [(one.kind, one.path) for one in found] == [("two-installations", ())]
    assert "give each its own" in found[0].text


def test_jobs_of_two_platforms_and_runs_of_two_jobs_are_warnings():
    found = findings(event("d"), event("d", producer=SPARK), event("e", kind="COMPLETE"))
    assert {one.kind: one.count for one in found} == {"two-platforms": 1, "run-two-jobs": 1}
    assert all(one.path == () for one in found)


def test_producer_that_is_nobodys_is_named_whatever_its_version():
    events = [
        event(name, producer=f"https://acme.example/etl/{version}")
        for name, version in zip("aab", ("1.2", "1.3", "v2-0"), strict=True)
    ]
    found = [one for one in findings(*events) if one.kind == "unknown-producer"]
    assert [one.value["producer"] for one in found] == [r"https://acme\.example/etl/[^/]+"]
    assert found[0].count == 3
    assert not [
        one
        for one in findings(*events, identity={"rules": [{"producer": "acme", "platform": "x"}]})
        if one.kind == "unknown-producer"
    ]


def test_placeholders_cause_no_findings():
    assert findings(event("unknown", producer="https://acme.example")) == []


# -- the page -------------------------------------------------------------------------------------------------------

HOSTILE = [
    "a: b",
    "- x",
    "#",
    "'",
    '"',
    "${HOME}",
    "x\ny: 1",
    "\u2028",
    "{a}",
    "[b",
    "é",
    "null",
    "&x",
    "*x",
    "!t",
    "%",
    "\x00",
    "`",
    "|",
    "\t",
]


def hostile_events():
    dag = {"jobType": {"jobType": "DAG", "integration": "AIRFLOW"}}
    for number, text in enumerate(HOSTILE):
        place = f"acme{number}://h{text}"
        yield event(
            f"f{text}.d{text}", namespace=text, run=number, producer=AIRFLOW,
            datasets=[(f"{place}:1", text), (place, text), (text, text), ("bigquery", f"12345{number}.{text}.t"), ("bigquery", f"{text}.{text}.t")],
            **dag,
        )  # fmt: skip
        yield event(f"{text}_2026010{number % 9}", namespace=text, run=100 + number, producer=f"p{text}")
        yield event(f"{text}_2026020{number % 9}", namespace=text, run=200 + number, producer=f"p{text}")


def test_hostile_names_produce_valid_settings(tmp_path):
    settings, _ = loaded(tmp_path, *hostile_events())
    assert len(settings.identity.rules) > len(HOSTILE)
    Options(settings)  # the rules compile
    for rule in settings.identity.rules:
        assert rule.namespace is not None


def test_commented_proposals_are_valid_settings(tmp_path):
    page = check_events(hostile_events(), Settings()).to_yaml()
    bare = [line.replace("# ", "", 1) if _is_yaml(line) else line for line in page.splitlines()]
    file = tmp_path / "all.yml"
    file.write_text("\n".join(bare))
    assert len(load(file, environ={}).settings.naming.rules) > 3


def _is_yaml(line):
    text = line.strip()
    return text.startswith("# ") and text[2:].startswith(
        ("- {", "naming:", "identity:", "rules:", "project_numbers:", "'", "locations:")
    )


def test_page_without_proposals_is_an_empty_settings_file(tmp_path):
    settings, page = loaded(tmp_path, event())
    assert page == "# 1 event: 0 suggestions, 0 warnings\n"
    assert settings == Settings()


def test_long_list_is_cut_to_what_was_seen_most():
    events = [event(datasets=[(f"acme{number}://h", "t")]) for number in range(130)]
    page = check_events([*events, *events[100:]], Settings()).to_yaml()
    assert page.count("# unknown-namespace (2): ") == 30
    assert page.count("# unknown-namespace (1): ") == 70
    assert "    # unknown-namespace: 30 more, seen less often\n" in page


def test_settings_keep_their_order_and_the_evidence_its_count():
    events = [
        event("orders_20260101", producer=SPARK), event("orders_20260102", producer=SPARK, run=1),
        event(datasets=[("postgres://db", "a.b.c"), ("postgres://db:5432", "a.b.c")], run=2),
    ]  # fmt: skip
    page = check_events(events, Settings(identity={"varying_names": "keep"})).to_yaml()
    assert list(yaml.safe_load(page)) == ["naming", "identity"]
    assert "# one-location (2): " in page
    assert page.startswith("# 3 events: 2 suggestions, 0 warnings\n")


def test_order_of_events_does_not_matter():
    events = list(hostile_events())
    page = check_events(events, Settings()).to_yaml()
    random.Random(7).shuffle(events)  # noqa: S311 - an order, no secret
    assert sorted(check_events(events, Settings()).to_yaml().splitlines()) == sorted(page.splitlines())


# -- long inputs ----------------------------------------------------------------------------------------------------


def many(count):
    for number in range(count):
        yield event(
            f"d{number}.t", namespace=f"n{number % 700}", run=number, producer=f"https://acme.example/{number}",
            datasets=[(f"postgres://h{number % 900}:5432", f"a.b.t{number % 300}"), (f"x{number}://h", "t")],
            dbt_node={"unique_id": f"model.a.{number}"},
        )  # fmt: skip


def test_memory_does_not_grow_with_the_input():
    sizes = []
    for count in (1000, 3000):
        checker = check_events(many(count), Settings(), limit=100)
        samples = [
            sample
            for part in (checker._jobs, checker._datasets)
            for sample in vars(part).values()
            if hasattr(sample, "sampled_fraction")
        ]
        assert samples
        assert all(len(list(sample.items())) <= 100 for sample in samples)
        sizes.append(len(samples))
        assert "too many names to count all of them: the counts are of about 1 in " in checker.to_yaml()
    assert sizes[0] == sizes[1]


def test_sampled_names_have_exact_counts():
    checker = EventChecker(Settings(), limit=10)
    for _ in range(3):
        for number in range(200):
            checker.see(event(datasets=[(f"acme{number}://h", "t")]))
    found = [one for one in checker.findings() if one.kind == "unknown-namespace"]
    assert 0 < len(found) <= 10
    assert {one.count for one in found} == {3}


def test_many_names_of_one_kind_are_counted_to_a_hundred():
    events = (event(datasets=[("somewhere", f"t{number}")]) for number in range(150))
    (found,) = findings(*events)
    assert "at least 100 datasets (t0, t1, t10 and 97 more)" in found.text
    assert found.count == 100
