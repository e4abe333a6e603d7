"""``-q`` and ``-v``, the line before the first answer of a server, and shell completion."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import pytest
from support.sample_events import dataset, event

from dh_bridge.cli.verbose import EscapingFormatter

NOWHERE = ("rest:http://127.0.0.1:9", "--set", "rest.retries=0")


@pytest.fixture(autouse=True)
def _events(tmp_path):
    (tmp_path / "e.json").write_text(json.dumps(event(outputs=[dataset("shop.public.orders")])))


@pytest.fixture
def _clean_logs():
    """Take away the handlers that ``-v`` adds."""
    yield
    for name in ("dh_bridge", "urllib3"):
        log = logging.getLogger(name)
        log.handlers = [one for one in log.handlers if not isinstance(one.formatter, EscapingFormatter)]
        log.setLevel(logging.NOTSET)


def test_failed_connection_prints_the_server_and_no_summary(run):
    result = run("emit", "e.json", "--to", *NOWHERE)
    assert (result.exit_code, result.stdout) == (3, "")
    first, second = result.stderr.splitlines()
    assert first == "Connecting to http://127.0.0.1:9 …"
    assert second.startswith("Error: rest:http://127.0.0.1:9: connection failed")
    assert second.endswith(
        "(check the address of DataHub, or set `datahub_version` to start without asking the server for its version)"
    )


@pytest.mark.parametrize("command", ["plan", "verify"])
def test_commands_that_read_a_server_name_it_first(run, command):
    assert run(command, "e.json", "--to", *NOWHERE).stderr.startswith("Connecting to http://127.0.0.1:9 …\n")


def test_no_credentials_are_shown_while_connecting(run):
    result = run("emit", "e.json", "--to", "rest:http://ann:secret@127.0.0.1:9", "--set", "rest.retries=0")
    assert "secret" not in result.stderr


def test_missing_extra_is_named_before_a_server_is_asked(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    for name in [name for name in sys.modules if name.startswith("dh_bridge.sinks.kafka")]:
        monkeypatch.delitem(sys.modules, name)
    result = run("emit", "e.json", "--to", "kafka:127.0.0.1:9", "--set", "rest.server=http://127.0.0.1:9")
    assert result.exit_code == 3
    assert result.stderr.startswith("Error: kafka: cannot import confluent-kafka")
    assert "pip install 'dh-bridge[kafka]'" in result.stderr


def test_quiet_shows_problems_only_before_or_behind_the_command(run):
    assert run("-q", "emit", "e.json", "--to", "catalog:a.db").stderr == ""
    assert run("emit", "-q", "e.json", "--to", "catalog:b.db").stderr == ""
    assert "proposals" in run("emit", "e.json", "--to", "catalog:c.db").stderr
    failed = run("emit", "e.json", "--quiet", "--to", *NOWHERE).stderr.splitlines()
    assert [line.partition(":")[0] for line in failed] == ["Error"]


@pytest.mark.usefixtures("_clean_logs")
def test_verbose_shows_the_requests(run):
    assert "Starting new HTTP connection" in run("emit", "e.json", "-v", "--to", *NOWHERE).stderr


def test_completion_names_commands():
    done = subprocess.run(
        [sys.executable, "-c", "from dh_bridge.cli import main; main()"],
        capture_output=True,
        text=True,
        check=False,
        env={"_DH_BRIDGE_COMPLETE": "bash_complete", "COMP_WORDS": "dh-bridge li", "COMP_CWORD": "1"},
    )
    assert done.stdout.split() == ["plain,list", "plain,lineage"]


def test_doctor_prints_problems_first_within_100_columns(run):
    result = run("doctor", "--connect", "--set", "rest.server=http://127.0.0.1:9", "--set", "rest.retries=0")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("wrong    connections rest")
    assert max(map(len, lines)) <= 100
    states = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert states == sorted(states, key=["wrong", "missing", "ok"].index)
    assert any(line.strip().startswith("-> check the address") for line in lines)
