"""``dh-bridge serve`` as a process: started, sent to by openlineage-python's own client, ended, killed, started again."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
from pathlib import Path

import pytest
from openlineage.client import OpenLineageClient, event_v2
from openlineage.client.transport.http import ApiKeyTokenProvider, HttpCompression, HttpConfig, HttpTransport
from support.receivers import serving, until
from support.sample_events import RUN, SPARK, dataset, event, packed

from dh_bridge.catalog.store import Catalog
from dh_bridge.cli.serve import serve
from dh_bridge.errors import SinkError

RUN_URN = f"urn:li:dataProcessInstance:{RUN}"
POINTS = "dataProcessInstanceRunEvent"
KEY = "a-key"
FREE = ("--listen", "127.0.0.1:0")


def send(url, *events):
    (body,) = packed(events) if len(events) == 1 else [json.dumps(list(events)).encode()]
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
    connection.request("POST", "/api/v1/lineage", body)
    with connection.getresponse() as answer:
        found = json.load(answer)
    connection.close()
    return found


def points(file):
    try:
        with Catalog(file, readonly=True) as catalog:
            return [point["status"] for point in catalog.timeseries(RUN_URN, POINTS)]
    except SinkError:  # the folding process is creating it
        return []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_openlineage_pythons_client_sends_with_a_key_and_zipped(tmp_path, number):
    file = tmp_path / "shop.db"
    with serving("--to", f"catalog:{file}", *FREE, DH_BRIDGE_RECEIVER__TOKEN=KEY) as server:
        auth = ApiKeyTokenProvider({"apiKey": KEY})
        config = HttpConfig(url=server.url, auth=auth, compression=HttpCompression.GZIP)
        client = OpenLineageClient(transport=HttpTransport(config))
        for kind, time in (("START", "2026-11-20T10:00:00Z"), ("COMPLETE", "2026-11-20T10:05:00Z")):
            job, run = event_v2.Job("ns", "etl.load"), event_v2.Run(RUN)
            out = [event_v2.OutputDataset("postgres://db:5432", "d.s.a")]
            client.emit(
                event_v2.RunEvent(
                    eventTime=time, producer=SPARK, run=run, job=job, eventType=event_v2.RunState[kind], outputs=out
                )
            )
        client.close()
        until(lambda: points(file) == ["STARTED", "COMPLETE"])
        code, stated = server.end(number)
    assert code == 0
    assert stated[0] == "stopping"
    assert {"events": "2", "requests": "2"}.items() <= dict(line.rsplit(maxsplit=1) for line in stated[1:]).items()
    assert KEY not in "".join(server.output + stated)


def test_acknowledged_events_survive_a_kill(tmp_path):
    file = tmp_path / "shop.db"
    with serving("--to", f"catalog:{file}", *FREE) as server:
        send(server.url, event())
        server.end(signal.SIGKILL)
    with serving("--to", f"catalog:{file}", *FREE) as server:
        send(server.url, event("COMPLETE", "2026-11-20T10:01:00Z"))
        assert server.end()[0] == 0
    with Catalog(file, readonly=True) as catalog:
        assert catalog.timeseries(RUN_URN, POINTS)[-1]["durationMillis"] == 60_000


def test_invalid_events_are_logged_and_kept_as_dead_letters(tmp_path):
    letters = tmp_path / "dead.ndjson"
    with serving("--to", f"catalog:{tmp_path / 'shop.db'}", *FREE, "--dead-letters", str(letters)) as server:
        assert send(server.url, event(outputs=[dataset("d.s.a")]), {"eventTime": "soon"})["successful"] == 1
        _, stated = server.end()
    assert json.loads(letters.read_text())["event"] == '{"eventTime": "soon"}'
    assert any("WARNING request 1[1]: " in line for line in stated)


def test_secret_of_a_request_that_cannot_be_used_is_kept_nowhere(tmp_path):
    letters = tmp_path / "dead.ndjson"
    with serving("--to", f"catalog:{tmp_path / 'shop.db'}", *FREE, "--dead-letters", str(letters)) as server:
        spoilt = {"eventTime": "postgres://ann:hunter22@db/shop", "job": {"name": "PASSWORD=hunter22"}}
        assert send(server.url, event(), spoilt)["successful"] == 1
        _, stated = server.end()
    assert "hunter22" not in letters.read_text()
    assert not [line for line in stated if "hunter22" in line]


def test_full_disk_of_dead_letters_ends_nothing(tmp_path):
    with serving("--to", f"catalog:{tmp_path / 'shop.db'}", *FREE, "--dead-letters", "/dev/full") as server:
        assert send(server.url, event(), {"eventTime": "soon"})["successful"] == 1
        _, stated = server.end()
    assert any("--dead-letters /dev/full cannot be written" in line for line in stated)


def test_listening_on_all_interfaces_without_a_token_is_warned(tmp_path):
    with serving("--to", f"catalog:{tmp_path / 'shop.db'}", "--listen", "0.0.0.0:0") as server:
        assert "anybody who can reach it may send events: set receiver.token" in server.output


@pytest.mark.parametrize(("chosen", "is_named"), [((), True), (("--datahub-version", "1.4"), False)])
def test_assumed_version_is_named_once(tmp_path, chosen, is_named):
    stated = (
        "for DataHub 1.7 (the newest: no DataHub version is known; pass --datahub-version VERSION for an older server)"
    )
    with serving("--to", f"catalog:{tmp_path / 'shop.db'}", *FREE, *chosen) as server:
        send(server.url, event(outputs=[dataset("d.s.a")]), event("COMPLETE", "2026-11-20T10:01:00Z"))
        code, ended = server.end()
    assert code == 0
    assert [stated in line for line in server.output + ended].count(True) == is_named


def test_server_version_is_used_for_datahub_version(gms, tmp_path):
    with serving("--to", f"rest:{gms.url}", "--ledger", str(tmp_path / "runs.db"), *FREE) as server:
        assert not [line for line in server.output if "no DataHub version is known" in line]


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["--to", "rest:http://127.0.0.1:9"], 2, "pass the path of a file"),
        (["--to", "catalogue:{}/shop.db"], 2, "--to: "),
        (["--to", "catalog:{}/shop.db", "--listen", "5000"], 2, "`receiver.listen` should be HOST:PORT, not '5000'"),
        (["--to", "catalog:{}/shop.db", "--listen", "http://[::]:5000"], 2, "`receiver.listen` should be HOST:PORT"),
        (["--to", "catalog:{}/shop.db", "--listen", "256.0.0.1:5000"], 3, "cannot listen"),
        (["--to", "catalog:{}/none/shop.db", *FREE], 3, "none"),
        (
            ["--to", "rest:ftp://127.0.0.1:9", "--ledger", "{}/runs.db", *FREE],
            2,
            "ftp://127.0.0.1:9",
        ),
        (["--to", "catalog:{}/shop.db", "--dead-letters", "{}/none/dead", *FREE], 2, "--dead-letters"),
    ],
)
def test_invalid_serve_options_are_errors_before_listening(run, tmp_path, arguments, code, why):
    result = run("serve", *[one.format(tmp_path) for one in arguments])
    assert result.exit_code == code
    assert why in result.stderr


@pytest.mark.parametrize("token", [" \n", "hun\nter2", "hun\tter2"])
def test_key_that_no_sender_can_show_is_refused_and_not_shown(run, tmp_path, monkeypatch, token):
    monkeypatch.setenv("DH_BRIDGE_RECEIVER__TOKEN", token)
    result = run("serve", "--to", f"catalog:{tmp_path / 'shop.db'}", *FREE)
    assert result.exit_code == 2
    assert "`receiver.token` " in result.stderr
    assert "ter2" not in result.stderr


def test_port_in_use_is_an_error(run, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        result = run("serve", "--to", f"catalog:{tmp_path / 'shop.db'}", "--listen", place)
    assert result.exit_code == 3
    assert f"receiver.listen {place}: cannot listen: " in result.stderr


def test_ipv6_address_is_supported_and_its_port_is_printed(tmp_path):
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    with serving("--to", f"catalog:{tmp_path / 'shop.db'}", "--listen", "[::1]:0") as server:
        assert re.fullmatch(r"http://\[::1\]:[1-9]\d*", server.url)
        assert send(server.url, event())["successful"] == 1
        assert not [line for line in server.output if "anybody" in line]


def test_example_of_its_help_runs(gms):
    (line,) = [one.strip() for one in serve.help.splitlines() if one.startswith("  dh-bridge serve")]
    arguments = line.replace("http://localhost:8080", gms.url).split()[2:]
    with serving(*arguments, *FREE) as server:
        send(server.url, event())
        assert server.end()[0] == 0
    assert points(gms.place) == ["STARTED"]
    assert (Path.cwd() / "runs.db").exists()
