"""Every script in examples/ runs as it stands, from any folder, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def example(tmp_path):
    def run(name, *arguments):
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / name), *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=os.environ | {"NO_PROXY": "127.0.0.1"},
        )
        assert list(tmp_path.iterdir()) == []
        return done

    return run


def test_translate_example_reports_events_and_proposals(example):
    done = example("translate.py")
    assert done.returncode == 0, done.stderr
    events, runs, proposals = map(
        int, re.match(r"(\d+) events of (\d+) runs became (\d+) proposals", done.stdout).groups()
    )
    assert events == len((EXAMPLES / "events" / "client.ndjson").read_bytes().splitlines())
    assert 0 < runs < events < proposals
    assert "fields mapped" in done.stdout
    assert "cannot be used" not in done.stdout


def test_translate_example_accepts_other_events(example, tmp_path_factory):
    file = tmp_path_factory.mktemp("events") / "broken.ndjson"
    file.write_text('{"eventTime": "yesterday", "run": {"runId": "r"}}\n', encoding="utf-8")
    done = example("translate.py", str(file))
    assert done.returncode == 0, done.stderr
    assert "cannot be used: event[0]" in done.stdout


def test_emit_with_datahub_shows_objects_of_acryl_datahub(example):
    done = example("emit_with_datahub.py")
    assert done.returncode == 0, done.stderr
    assert re.search(r"UPSERT +dataProcessInstanceRunEvent +MetadataChangeProposalWrapper\n", done.stdout)
    assert re.search(r"PATCH +dataJobInputOutput +MetadataChangeProposalClass\n", done.stdout)
    shown = sum(int(number) for number in re.findall(r"^ +(\d+)  ", done.stdout, re.MULTILINE))
    assert int(done.stdout.splitlines()[-1].split()[0]) == shown > 100


class Gms(BaseHTTPRequestHandler):
    """Answers as DataHub's server does, and keeps what it was sent."""

    def do_GET(self):
        self._answer({"noCode": "true", "versions": {}})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.taken += body["proposals"]
        self._answer({"value": "ok"})

    def log_message(self, *_words):
        pass

    def _answer(self, document):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(document).encode())


def test_emit_with_datahub_sends_to_a_server(example):
    with HTTPServer(("127.0.0.1", 0), Gms) as server:
        server.taken = []
        Thread(target=server.serve_forever, daemon=True).start()
        done = example("emit_with_datahub.py", f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) == len(server.taken) > 100
    assert {one["changeType"] for one in server.taken} == {"UPSERT", "PATCH"}


def test_every_script_is_run_by_a_test():
    """Here, or in tests/sdk/test_sdk_examples.py."""
    here = {"translate.py", "emit_with_datahub.py"}
    sdk = {"sdk_run.py", "sdk_assertion.py"}
    assert {path.name for path in EXAMPLES.glob("*.py")} == here | sdk
    output = (Path(__file__).parent / "sdk" / "test_sdk_examples.py").read_text(encoding="utf-8")
    assert all(name in output for name in sdk)
