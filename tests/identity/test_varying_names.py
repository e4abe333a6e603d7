"""Parts of job names that change with every run are no part of the job: 60 runs are runs of one job."""

from __future__ import annotations

import uuid
from hashlib import sha256

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from dh_bridge.bundled import MAPPINGS, convert_document
from dh_bridge.identity import Identity
from dh_bridge.identity.varying_names import VaryingForm, VaryingNames, VaryingNamesDocument, load_varying_names
from dh_bridge.settings.identity import IdentitySettings

SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.18.1"
DBT = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/dbt"
DOCUMENT = yaml.safe_load((MAPPINGS / "tables" / "varying_names.yaml").read_text(encoding="utf-8"))
EXAMPLES = [(form["form"], *example) for form in DOCUMENT["forms"] for example in form["examples"].items()]
UUID = "c6ff8af5-39e5-5dc6-bc4a-bc2f934391e9"


def stable(name, platform="spark"):
    return load_varying_names().stable_name(platform, name)


@pytest.mark.parametrize(("form", "name", "expected"), EXAMPLES, ids=[example[1] for example in EXAMPLES])
def test_producer_examples_match_their_rows(form, name, expected):
    assert stable(name)[:2] == (expected, (form,))


FRAGMENTS = ["orders", "load", "2026", "12", "17", "w05", "_", "-", ".", " ", "é", *[name for _, name, _ in EXAMPLES]]


@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=5).map("".join))
@example("OTHER ID 7 20261101")
def test_screen_hides_no_part_of_any_form(name):
    forms = VaryingForm("other", r"(?P<other>other)[ ]id[ ]\d", "", {}), VaryingForm("seven", "7|8", "", {})
    document = VaryingNamesDocument(
        (*convert_document(DOCUMENT, VaryingNamesDocument, "varying_names", "").forms, *forms), frozenset(), frozenset()
    )
    screened, unscreened = VaryingNames(document, ""), VaryingNames(document, "")
    unscreened._unscreened_forms = unscreened._forms
    assert screened.stable_name("spark", name) == unscreened.stable_name("spark", name)


@pytest.mark.parametrize(
    "name",
    [
        "report_2024", "sales_202411", "budget_2024_2025", "v2", "etl_v1_2_3", "orders-1.4.0", "sha256", "md5_check", "run_17",
        "covid19", "decade2020_daily", "face2face_daily", "facade", "region_12_34_56", "a.b.c", "customer_29880", "s_transaction01",
        "orders_report2024-daily", "load_20261301", "load_20260231x", "orders_a1b2c3",
        "orders_march_2026", "mayor_12_2026", "decision_10_2026", "orders_45132026", "orders_12345678", "orders(v2)", "f()_17", "part_123456789012",
    ],
)  # fmt: skip
def test_numbers_versions_and_years_stay(name):
    assert stable(name) == (name, (), False)


@pytest.mark.parametrize(
    "name",
    [
        UUID, UUID.replace("-", "_"), f"{UUID}.load", "20261101", "2026-11-01", f"20261101_{UUID}", "application_1700000000000_0042",
        f"job_{UUID}", f"spark-{UUID}", "1762000000123", "d41d8cd98f00b204e9800998ecf8427e",
    ],
)  # fmt: skip
def test_name_of_which_nothing_else_is_left_stays(name):
    assert stable(name) == (name, (), False)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"orders_{UUID}_20261101", "orders"),
        (f"orders_({UUID})", "orders"),
        (f"orders<{UUID}>.load", "orders.load"),
        ("orders [2026-11-01] load", "orders load"),
        ("orders.{20261101}", "orders"),
        (f"{UUID}_orders.load", "orders.load"),
        (f"orders.{UUID}", "orders"),
        (f"orders.{UUID}.load", "orders.load"),
        ("orders_20261101.load.2026-11-01T01:02:03.123456+00:00", "orders.load"),
        ("orders 2026-11-01 01:02:03", "orders"),
        ("orders_20261101_backfill", "orders_backfill"),
        ("a_20261101_b_20261102_c", "a_b_c"),
        (f"{UUID}.load_20261101", f"{UUID}.load"),
    ],
)
def test_all_parts_are_cut_wherever_they_are(name, expected):
    assert stable(name).name == expected


@pytest.mark.parametrize(
    ("producer", "name"),
    [
        (AIRFLOW, "orders_20261101.load_d41d8cd98f00b204e9800998ecf8427e"),
        (DBT, "test.shop.accepted_values_fct_orders_ord_ab6e9b0cc8a5ad4a5e7c5f0f9e1d2c3b.5c9bf9911d"),
        ("nifi://x", f"{UUID}.{UUID}"),
    ],
)
def test_names_that_are_definitions_stay(producer, name):
    namespace, uri = (producer, None) if producer.startswith("nifi") else ("ns", producer)
    job = Identity().job(namespace, name, uri)
    assert job.name == name
    assert job.job_id == name


def test_very_long_name_is_not_looked_through():
    name = f"select {'x ' * 600}20261101 y"
    assert stable(name).name == name


RUNS = {
    "glue": lambda n: f"nativespark_sales_daily_jr_{sha256(str(n).encode()).hexdigest()}",
    "livy": lambda n: f"livy-session-{n}",
    "shell": lambda n: f"Databricks Shell-{sha256(str(n).encode()).hexdigest()[:8]}",
    "uuid": lambda n: f"orders-{uuid.uuid5(uuid.NAMESPACE_DNS, str(n))}-load",
    "hex": lambda n: f"orders_{sha256(f'run{n}'.encode()).hexdigest()[:32]}",
    "date": lambda n: f"orders_2026-{1 + n // 28:02d}-{1 + n % 28:02d}",
    "epoch": lambda n: f"{1762000000 + 86400 * n}_orders",
    "airflow": lambda n: f"orders_scheduled__2026_{1 + n // 28:02d}_{1 + n % 28:02d}t00_00_00_00_00",
    "yarn": lambda n: f"orders_application_1700000000000_{n:04d}",
    "emr": lambda n: f"orders-j-2AXQ91MGAPL{chr(65 + n % 26)}{n // 26}",
    "pod": lambda n: f"orders-{sha256(str(n).encode()).hexdigest()[:16]}-driver",
}


@pytest.mark.parametrize("kind", RUNS)
def test_sixty_runs_are_runs_of_one_job(kind):
    identity = Identity()
    jobs = [identity.job("ns", f"{RUNS[kind](n)}.execute_insert", SPARK) for n in range(60)]
    assert len({job.flow_urn for job in jobs}) == 1
    assert len({job.job_urn for job in jobs}) == 1
    applications = {identity.job("ns", RUNS[kind](n), SPARK).flow_urn for n in range(60)}
    assert applications == {jobs[0].flow_urn}


def test_sessions_of_a_tool_share_a_job_without_lineage():
    assert Identity().job("ns", "livy-session-17.collect", SPARK).shared
    assert not Identity().job("ns", "orders_20261101.collect", SPARK).shared


def test_parent_is_found_under_its_stable_name():
    identity = Identity()
    child = identity.job("ns", "orders_20261101.collect", SPARK)
    parent = identity.parent("ns", "orders_20261101", referrer=child)
    assert parent is not None
    assert parent.flow_urn == child.flow_urn


def test_setting_keeps_names():
    identity = Identity(IdentitySettings(varying_names="keep"))
    assert identity.job("ns", "orders_20261101.collect", SPARK).flow_id == "orders_20261101"


def test_rule_sees_the_whole_name_and_its_templates_apply():
    rule = {"name": r"(?P<app>orders_\d{8})(?P<rest>\..*)?", "flow": "{app}", "job": "{app}{rest}"}
    assert Identity(IdentitySettings(rules=[rule])).job("ns", "orders_20261101.x", SPARK).job_id == "orders_20261101.x"


def test_job_says_what_was_cut():
    job = Identity().job("ns", "orders_20261101.collect", SPARK)
    assert job.rules[1] == "flow: first dot, without date, with or without a time"
    assert job.name == "orders.collect"
