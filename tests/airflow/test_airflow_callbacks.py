"""What a callback does when Airflow calls it: it sends, or it warns; it takes no longer than its limit; no task fails because of it."""

from __future__ import annotations

import copy
import logging
import re
import subprocess
import sys
import threading
import time
from types import ModuleType
from types import SimpleNamespace as Thing

import pytest
from support.airflow_contexts import DAY, VERSIONS, airflow3, raised
from support.gms import Fault, Gms

from dh_bridge import Bridge, airflow
from dh_bridge.airflow import (
    emit_on_execute,
    emit_on_failure,
    emit_on_retry,
    emit_on_skipped,
    emit_on_success,
    lineage_parent_id,
)
from dh_bridge.airflow import sending as sending_module
from dh_bridge.airflow.context import read_context
from dh_bridge.airflow.events import build_events
from dh_bridge.airflow.run_ids import dag_run_id, task_run_id
from dh_bridge.airflow.sending import CallbackDelivery, run_until
from dh_bridge.catalog.store import Catalog
from dh_bridge.closing import RejectedProposal
from dh_bridge.datahub.proposal import upsert
from dh_bridge.delivery import settings_with_deadline
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.settings.loading import load
from dh_bridge.sinks.base import Delivery, Failure
from dh_bridge.sinks.rest.responses import RetryLaterError

both = pytest.mark.parametrize("context", VERSIONS.values(), ids=VERSIONS)
CALLBACKS = [emit_on_execute, emit_on_failure, emit_on_retry, emit_on_skipped, emit_on_success]


def run_urn(try_number=1, map_index=-1, namespace="shop-airflow"):
    run = task_run_id(namespace, "shop", "load", DAY, try_number=try_number, map_index=map_index)
    return f"urn:li:dataProcessInstance:{run}"


def history(catalog, urn):
    points = catalog.timeseries(urn, "dataProcessInstanceRunEvent")
    return [(one["status"], one["attempt"], one.get("result", {}).get("type")) for one in points]


@both
@pytest.mark.parametrize(
    ("callback", "result"),
    [
        (emit_on_success, "SUCCESS"),
        (emit_on_failure, "FAILURE"),
        (emit_on_retry, "UP_FOR_RETRY"),
        (emit_on_skipped, "SKIPPED"),
    ],
)
def test_each_end_has_its_result(context, callback, result, shop):
    callback(context(exception=ValueError("x")))
    with shop() as catalog:
        assert history(catalog, run_urn()) == [("STARTED", 1, None), ("COMPLETE", 1, result)]
        assert "dataProcessInstanceRelationships" in catalog.aspects(run_urn())


class _Number(float):
    """As numpy's."""


class _Text(str):
    """As Markup."""

    __slots__ = ()


@both
def test_unencodable_values_are_sent_as_readable_text(context, shop):
    stated = context(exception=ValueError("no file x\udcff.csv"))
    stated["dag_run"].conf = {"rate": _Number(0.5), _Text("of"): _Text("y\udcff"), "z\udcff": [True, None, 2]}
    emit_on_failure(stated)
    with shop() as catalog:
        assert history(catalog, run_urn())[-1] == ("COMPLETE", 1, "FAILURE")
        properties = catalog.aspect(run_urn(), "dataProcessInstanceProperties")["customProperties"]
    assert properties["openlineage.errorMessage.message"] == "no file x\\udcff.csv"


def test_start_is_written_once_if_the_end_repeats_the_event(shop):
    emit_on_execute(airflow3(end_date=None))
    with shop() as catalog:
        assert history(catalog, run_urn()) == [("STARTED", 1, None)]
    emit_on_success(airflow3())
    with shop() as catalog:
        assert history(catalog, run_urn()) == [("STARTED", 1, None), ("COMPLETE", 1, "SUCCESS")]


def test_failure_for_good_is_none_that_waits_for_another_try(shop, monkeypatch):
    monkeypatch.setenv("DH_BRIDGE_RUNS__UP_FOR_RETRY", "true")  # the guess of others is not asked
    emit_on_failure(airflow3(try_number=1))
    with shop() as catalog:
        assert history(catalog, run_urn())[-1] == ("COMPLETE", 1, "FAILURE")


def test_tries_and_mapped_tasks_are_runs_of_their_own(shop):
    emit_on_retry(airflow3(try_number=1, map_index=0))
    emit_on_success(airflow3(try_number=2, map_index=0))
    emit_on_success(airflow3(try_number=1, map_index=1))
    with shop() as catalog:
        assert history(catalog, run_urn(2, 0))[-1] == ("COMPLETE", 2, "SUCCESS")
        assert len(set(catalog.entities("dataProcessInstance"))) == 3
        assert list(catalog.entities("dataJob")) == [
            "urn:li:dataJob:(urn:li:dataFlow:(airflow,shop,shop-airflow),shop.load)"
        ]


@both
def test_dag_run_callback_writes_its_run(context, shop):
    emit_on_success(context(reason="success"))
    with shop() as catalog:
        urn = f"urn:li:dataProcessInstance:{dag_run_id('shop-airflow', 'shop', DAY, 0)}"
        assert history(catalog, urn)[-1] == ("COMPLETE", 1, "SUCCESS")


def test_callback_logs_the_number_of_sent_proposals(caplog):
    caplog.set_level(logging.INFO, "dh_bridge.airflow")
    emit_on_success(airflow3(map_index=4, operator={"inlets": ["not-a-uri"]}))
    left_out, output = caplog.messages
    assert "not-a-uri" in left_out
    assert output.startswith("shop.load[4] (try 1): sent ")


# Options


def test_options_win_over_settings(tmp_path):
    other = tmp_path / "other.db"
    emit_on_success(to=f"catalog:{other}", namespace="staging")(airflow3())
    assert other.exists()
    assert not (tmp_path / "shop.db").exists()
    with Catalog(other, readonly=True) as catalog:
        assert history(catalog, run_urn(namespace="staging"))


def test_settings_file_is_heeded(shop, tmp_path, monkeypatch):
    monkeypatch.delenv("DH_BRIDGE_AIRFLOW__TO")
    file = tmp_path / "elsewhere.yml"
    file.write_text(f"airflow: {{to: 'catalog:{tmp_path / 'shop.db'}', namespace: dev}}\n", encoding="utf-8")
    emit_on_success(airflow3(), config=file)
    with shop() as catalog:
        assert history(catalog, run_urn(namespace="dev"))


def test_ledger_setting_is_ignored_with_one_warning(shop, tmp_path, monkeypatch, caplog):
    ledger = tmp_path / "ledger.db"
    monkeypatch.setenv("DH_BRIDGE_LEDGER__FILE", str(ledger))
    emit_on_execute(airflow3(end_date=None))
    emit_on_success(airflow3())
    assert [message for message in caplog.messages if "ledger.file" in message] == [
        f"ledger.file ({ledger}) is ignored: callbacks send each event on its own. Use a ledger with dh-bridge emit"
    ]
    assert not ledger.exists()
    with shop() as catalog:
        assert history(catalog, run_urn())[-1] == ("COMPLETE", 1, "SUCCESS")


@pytest.mark.parametrize("callback", CALLBACKS)
def test_configured_callback_is_one_that_airflow_can_copy(callback):
    assert copy.deepcopy(callback) is callback
    assert copy.deepcopy(callback(to="memory:")).func is callback


@pytest.mark.parametrize("callback", CALLBACKS)
def test_unknown_callback_option_fails_at_dag_parse_time(callback):
    with pytest.raises(
        TypeError, match=rf"^{callback.__name__}\(\): unknown argument target; use to, config, namespace"
    ):
        callback(target="memory:")


def test_airflows_own_namespace_comes_first(shop, monkeypatch):
    configuration = ModuleType("airflow.configuration")
    configuration.conf = Thing(get=lambda area, key, fallback: f"{area}-{key}{fallback}")
    monkeypatch.setitem(sys.modules, "airflow", ModuleType("airflow"))
    monkeypatch.setitem(sys.modules, "airflow.sdk.configuration", None)
    monkeypatch.setitem(sys.modules, "airflow.configuration", configuration)
    emit_on_success(airflow3())
    with shop() as catalog:
        assert history(catalog, run_urn(namespace="openlineage-namespace"))


def test_without_any_namespace_it_is_default(shop, monkeypatch):
    monkeypatch.delenv("OPENLINEAGE_NAMESPACE")
    emit_on_success(airflow3())
    with shop() as catalog:
        assert history(catalog, run_urn(namespace="default"))


def running():
    """Return a task instance as templates have it."""
    context = airflow3()
    instance = context["ti"]
    instance.get_template_context = lambda: context
    return instance


def test_lineage_parent_id_is_the_run_id_of_the_task():
    instance = running()
    assert lineage_parent_id(instance) == f"shop-airflow/shop.load/{run_urn().rpartition(':')[2]}"
    assert lineage_parent_id(instance, "x").startswith("x/shop.load/")


@pytest.mark.parametrize(
    ("settings", "environ", "namespace"),
    [
        ("", {"WINDOW": "many"}, "shop-airflow"),
        ("airflow: {namespace: dev}\nwindow: many\n", {}, "dev"),
        ('airflow: {namespace: 1.10, timeout: "${NOBODY}"}\n', {}, "1.10"),
        ("airflow: {namespace: '${OPENLINEAGE_NAMESPACE}-2'}\nactor: ${NOBODY}\n", {}, "shop-airflow-2"),
        ("airflow: {namespace: dev}\n", {"AIRFLOW__NAMESPACE": "test", "WINDOW": "many"}, "test"),
        ("airflow: {namespace: ~}\nwindow: many\n", {}, "shop-airflow"),
        ("airflow: {to: 'rest:'}\nwindow: many\n", {}, "shop-airflow"),
        ("airflow: soon\nwindow: many\n", {}, "shop-airflow"),
        ("airflow: ${NOBODY}\nwindow: 1\nwindow: 2\n", {}, "shop-airflow"),
        ("airflow: {namespace: dev}\nwindow: many\n", {"AIRFLOW": "{namespace: test, timeout: soon}"}, "test"),
        ("airflow: [\n", {"AIRFLOW__NAMESPACE": "test"}, "test"),
        ("airflow:\n  namespace: ${NOBODY}\n", {"AIRFLOW__NAMESPACE": "test"}, "test"),
        ("", {"CONFIG": "missing.yml", "AIRFLOW__NAMESPACE": "test"}, "test"),
    ],
)
def test_parent_id_needs_no_other_setting(settings, environ, namespace, tmp_path, monkeypatch):
    (tmp_path / "dh_bridge.yml").write_text(settings, encoding="utf-8")
    for name, text in environ.items():
        monkeypatch.setenv(f"DH_BRIDGE_{name}", text)
    with pytest.raises(SettingsError):
        load()
    assert lineage_parent_id(running()).startswith(f"{namespace}/shop.load/")


@pytest.mark.parametrize(
    ("settings", "environ", "reason"),
    [
        ("airflow:\n  namespace: ${NOBODY}\n", {}, "dh_bridge.yml:2: the variable NOBODY is not set"),
        ("airflow: {namespace: [a]}\n", {}, "`airflow.namespace` should be a valid string"),
        ("airflow: [\n", {}, "not YAML"),
        ("window: many\n", {"AIRFLOW": "{namespace: x"}, "env DH_BRIDGE_AIRFLOW: `airflow` is not YAML"),
        ("", {"CONFIG": "missing.yml"}, "missing.yml: the settings file cannot be read"),
    ],
)
def test_lineage_parent_id_error_names_its_reason(settings, environ, reason, tmp_path, monkeypatch):
    (tmp_path / "dh_bridge.yml").write_text(settings, encoding="utf-8")
    for name, text in environ.items():
        monkeypatch.setenv(f"DH_BRIDGE_{name}", text)
    with pytest.raises(SettingsError, match=re.escape(reason)):
        lineage_parent_id(running())
    assert lineage_parent_id(running(), "x").startswith("x/shop.load/")


# Who else sends


def listener(module):
    return type("Listener", (), {"__module__": module})()


@pytest.fixture
def airflow_with(monkeypatch):
    """Return a function that puts an Airflow with these listeners into this process."""

    def put(*listeners, place="airflow.listeners.listener"):
        manager = ModuleType(place)
        manager.get_listener_manager = lambda: Thing(pm=Thing(get_plugins=lambda: set(listeners)))
        monkeypatch.setitem(sys.modules, "airflow", ModuleType("airflow"))
        monkeypatch.setitem(sys.modules, "airflow.sdk.listener", None)
        monkeypatch.setitem(sys.modules, "airflow.configuration", None)
        monkeypatch.setitem(sys.modules, "airflow.sdk.configuration", None)
        monkeypatch.setitem(sys.modules, place, manager)

    return put


OTHERS = [
    ("airflow.providers.openlineage.plugins.listener", "Airflow's OpenLineage provider"),
    ("datahub_airflow_plugin.airflow3.datahub_listener", "DataHub's Airflow plugin"),
    ("datahub_airflow_plugin.datahub_listener", "DataHub's Airflow plugin"),
    ("openlineage.airflow.listener", "openlineage-airflow"),
]


@pytest.mark.parametrize("place", ["airflow.listeners.listener", "airflow.sdk.listener"])
@pytest.mark.parametrize(("module", "name"), OTHERS)
def test_callback_warns_and_skips_beside_another_reporter(module, name, place, airflow_with, tmp_path, caplog):
    airflow_with(listener(module), place=place)
    emit_on_success(airflow3())
    assert caplog.messages == [f"emit_on_success sends nothing: {name} is enabled and reports every run"]
    assert not (tmp_path / "shop.db").exists()


def test_listener_may_be_a_module(airflow_with, tmp_path):
    airflow_with(ModuleType("datahub_airflow_plugin.datahub_listener"))
    emit_on_success(airflow3())
    assert not (tmp_path / "shop.db").exists()


def test_unrelated_listeners_do_not_disable_callbacks(airflow_with, shop):
    airflow_with(listener("my_company.audit"), listener("airflow.providers.openlineage_of_mine"))
    emit_on_success(airflow3())
    with shop() as catalog:
        assert history(catalog, run_urn())


def test_run_alongside_option_sends_beside_the_provider(airflow_with, shop):
    airflow_with(listener("airflow.providers.openlineage.plugins.listener"))
    emit_on_success(airflow3(), run_alongside=True)
    with shop() as catalog:
        assert history(catalog, run_urn())


# When it goes wrong


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"to": "pigeon:home"}, "unknown target 'pigeon:home'"),
        ({"to": "catalog:/no/such/folder/shop.db"}, "/no/such/folder/shop.db"),
        ({"timeout": "soon"}, "argument timeout"),
        ({"timeout": 10}, "argument timeout"),
        ({"config": "missing.yml"}, "missing.yml"),
    ],
)
def test_whatever_is_wrong_is_a_warning(options, reason, caplog):
    emit_on_failure(airflow3(), **options)
    assert len(caplog.messages) == 1
    assert reason in caplog.messages[0]


@pytest.mark.parametrize(
    "context", [{}, {"reason": "success"}, {"dag_run": object()}, airflow3(operator={"inlets": object()})]
)
def test_context_of_any_shape_is_no_error(context):
    emit_on_success(context)


class Server:
    """A sink with chosen answers: a Delivery's retryable failures, a SinkError, or seconds to wait."""

    name = "server"

    def __init__(self, *answers):
        self.answers = list(answers)
        self.got = []

    def emit(self, proposals):
        self.got.append(len(proposals))
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, threading.Event):
            answer.wait(30)
        failed = answer(proposals) if callable(answer) else []
        return Delivery(len(proposals) - len(failed), failed)

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        pass


@pytest.fixture
def server(monkeypatch):
    def put(*answers):
        found = Server(*answers)
        monkeypatch.setattr(sending_module, "open_target", lambda _to, settings: Thing(sink=found, settings=settings))
        monkeypatch.setattr(sending_module, "_FIRST_PAUSE_SECONDS", 0.001)
        return found

    return put


BUSY = SinkError("is busy", location="server", retryable=True)


def test_retryable_failures_are_retried(server, caplog):
    found = server(BUSY, BUSY, lambda proposals: [Failure(proposals[0], "later", retryable=True)])
    emit_on_success(airflow3())
    assert len(found.got) == 4
    assert found.got[:3] == [found.got[0]] * 3
    assert found.got[3] == 1
    assert [one.levelname for one in caplog.records if one.levelno > logging.INFO] == []


def test_rejected_proposals_are_logged_with_the_server_error(server, caplog):
    found = server(lambda proposals: [Failure(one, "unknown aspect") for one in proposals[:5]])
    emit_on_success(airflow3())
    assert len(found.got) == 1
    (message,) = caplog.messages
    assert "5 of its proposals were not sent" in message
    assert message.count("unknown aspect") == 3


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that only pauses move."""
    found = Thing(now=0.0)
    found.monotonic = lambda: found.now

    def sleep(seconds):
        found.now += seconds

    found.sleep = sleep
    monkeypatch.setattr(sending_module, "time", found)
    return found


def test_busy_proposals_are_abandoned_before_the_deadline(server, clock):
    found = server(*[lambda proposals: [Failure(one, "busy", retryable=True) for one in proposals]] * 100)
    sent = sending_module._deliver_with_retries(
        build_events(read_context(airflow3()), "success", "x")[0], load().settings, 8
    )
    assert 1 < len(found.got) < 20
    assert (sent.delivered_count, len(sent.problems)) == (0, found.got[0])
    assert clock.now < 8


def test_server_outage_ends_retries_before_the_deadline(server, clock):
    found = server(*[BUSY] * 100)
    with pytest.raises(SinkError, match="is busy"):
        sending_module._deliver_with_retries(
            build_events(read_context(airflow3()), "success", "x")[0], load().settings, 8
        )
    assert 1 < len(found.got) < 20
    assert clock.now < 8


def test_pause_that_the_server_asks_for_is_as_long_as_it_asks(server, clock):
    found = server(RetryLaterError("is busy", retry_after=5), RetryLaterError("is busy", retry_after=0))
    sent = sending_module._deliver_with_retries(
        build_events(read_context(airflow3()), "success", "x")[0], load().settings, 8
    )
    assert (sent.delivered_count, sent.problems) == (found.got[0], [])
    assert len(found.got) == 3
    assert 5 < clock.now < 5.1


def test_pause_that_is_longer_than_the_deadline_is_not_begun(server, clock):
    found = server(RetryLaterError("is busy", retry_after=5))
    with pytest.raises(SinkError, match="is busy"):
        sending_module._deliver_with_retries(
            build_events(read_context(airflow3()), "success", "x")[0], load().settings, 5
        )
    assert len(found.got) == 1
    assert clock.now == 0


def test_refusal_for_good_is_not_repeated(server, caplog):
    found = server(SinkError("no such token", location="server"))
    emit_on_success(airflow3())
    assert len(found.got) == 1
    assert "no such token" in caplog.messages[0]


def test_server_that_never_answers_is_left_behind(server, caplog):
    hung = threading.Event()
    server(hung)
    emit_on_success(airflow3(), timeout=0.2)
    assert not hung.is_set()  # the callback is back before the server is
    hung.set()
    assert "no response within the timeout" in caplog.messages[0]


def test_run_until_returns_the_result_or_raises_the_error():
    deadline = time.monotonic() + 30
    assert run_until(deadline, lambda: CallbackDelivery(3, [])) == CallbackDelivery(3, [])
    with pytest.raises(SinkError, match="is busy"):
        run_until(deadline, lambda: (_ for _ in ()).throw(BUSY))


def test_sink_timeouts_fit_the_deadline_and_sink_retries_are_off(monkeypatch):
    seen = []

    def opened(_to, settings):
        seen.append(settings)
        raise SettingsError("enough")

    monkeypatch.setattr(sending_module, "open_target", opened)
    monkeypatch.setenv(
        "DH_BRIDGE_KAFKA__PRODUCER", "{message.timeout.ms: '60000', linger.ms: '500', sasl.username: ann}"
    )
    emit_on_success(airflow3(), timeout=3)
    rest, kafka = seen[0].rest, seen[0].kafka
    assert all(0 < one <= 3 for one in (rest.timeout, kafka.timeout))
    assert rest.retries == 0
    assert kafka.producer == {"sasl.username": "ann"}


def test_shorter_timeouts_of_the_settings_are_kept(monkeypatch):
    for name in ("REST__TIMEOUT", "KAFKA__TIMEOUT"):
        monkeypatch.setenv(f"DH_BRIDGE_{name}", "0.5")
    found = settings_with_deadline(load().settings, 5.0)
    assert (found.rest.timeout, found.kafka.timeout) == (0.5, 0.5)


def test_callback_sends_nothing_after_its_deadline(tmp_path, caplog):
    with Gms(tmp_path / "gms.db") as gms:
        emit_on_success(airflow3(), to=f"rest:{gms.url}")  # loads what the first one loads
        taken = len(gms.proposals)
        gms.faults = [Fault(503)] * 100
        emit_on_success(airflow3(try_number=2), to=f"rest:{gms.url}", timeout=0.3)
        assert ": not sent to DataHub: " in caplog.messages[-1]
        time.sleep(0.5)  # a request may be on its way
        request_count = len(gms.requests)
        time.sleep(2)
        assert len(gms.requests) == request_count
        assert len(gms.proposals) == taken > 0


def test_target_opened_after_the_deadline_is_not_written(server, clock, monkeypatch):
    found = server()
    opened = sending_module.open_target

    def slowly(to, settings):
        clock.sleep(9)
        return opened(to, settings)

    monkeypatch.setattr(sending_module, "open_target", slowly)
    with pytest.raises(SinkError, match="no response within the timeout"):
        sending_module._deliver_with_retries(
            build_events(read_context(airflow3()), "success", "x")[0], load().settings, 8
        )
    assert found.got == []


def test_locally_rejected_proposals_are_logged(server, monkeypatch, caplog):
    server()
    bad = upsert("dataFlow", "urn:li:dataFlow:(airflow,x,y)", "status", {"removed": False})
    translation = Bridge().translate("{}")
    rejected = RejectedProposal(bad, "not in its schema")
    monkeypatch.setattr(
        sending_module,
        "Bridge",
        lambda _settings: Thing(
            translate=lambda _events: Thing(proposals=[], dead=translation.dead, rejected=[rejected])
        ),
    )
    emit_on_success(airflow3())
    assert "urn:li:dataFlow:(airflow,x,y): not in its schema" in caplog.messages[0]
    assert "2 of its proposals were not sent" in caplog.messages[0]


# Secrets and weight


@pytest.mark.parametrize(
    "place",
    [
        "airflow.sdk._shared.secrets_masker",
        "airflow.sdk.execution_time.secrets_masker",
        "airflow.utils.log.secrets_masker",
    ],
)
def test_airflow_secrets_masker_covers_errors_and_dag_conf(place, shop, monkeypatch):
    masker = ModuleType(place)

    def redact(value, name=None):  # noqa: ARG001 - Airflow's signature
        if isinstance(value, dict):
            return {key: redact(one) for key, one in value.items()}
        return value.replace("hunter22", "***") if isinstance(value, str) else value

    masker.redact = redact
    monkeypatch.setitem(sys.modules, place, masker)
    error = raised(ValueError("login with hunter22 failed"))
    emit_on_failure(airflow3(exception=error, dag_run={"conf": {"door": "hunter22"}}))
    with shop() as catalog:
        retained = str(catalog.aspects(run_urn()))
    assert "hunter22" not in retained
    assert "login with *** failed" in retained


def test_reading_a_file_of_dags_loads_next_to_nothing():
    code = "import sys; import dh_bridge.airflow; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"airflow", "msgspec", "orjson", "pydantic", "requests", "yaml"}.isdisjoint(done.stdout.split())


def test_calling_one_loads_no_airflow(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from support.airflow_contexts import airflow3\n"
        "from dh_bridge.airflow import emit_on_success; emit_on_success(airflow3()); print('airflow' in sys.modules)"
    )
    folder = __file__.rpartition("/airflow/")[0]
    done = subprocess.run(
        [sys.executable, "-c", code, folder], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "False\n"
    assert (tmp_path / "shop.db").exists()


def test_public_names_are_these():
    assert airflow.__all__ == [*sorted(one.__name__ for one in CALLBACKS), "lineage_parent_id"]
