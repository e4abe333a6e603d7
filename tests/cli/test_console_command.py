"""The command `dh-bridge console`: it prints the address of a page, and ends with Ctrl-C or SIGTERM."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from dh_bridge.catalog.store import Catalog

SECONDS = 30


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "shop.db"
    Catalog(path).close()
    return path


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_console_prints_its_address_and_ends_when_asked(file, ending):
    command = [str(Path(sys.executable).with_name("dh-bridge")), "console", str(file), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        url = urlsplit(process.stdout.readline().strip())
        assert (url.scheme, url.hostname) == ("http", "127.0.0.1")
        address = f"{url.scheme}://{url.netloc}/"
        token = url.fragment.removeprefix("token=")
        assert "dh_bridge console" in requests.get(address, timeout=SECONDS).text
        headers = {"Authorization": f"Bearer {token}"}
        overview = requests.get(f"{address}api/overview", headers=headers, timeout=SECONDS)
        assert overview.json()["entities"] == {}
        assert requests.get(f"{address}api/overview", timeout=SECONDS).status_code == 401
        process.send_signal(ending)
        assert process.wait(timeout=SECONDS) == 0
        assert "runs until Ctrl-C" in process.stderr.read()


def test_console_of_a_missing_file_names_the_remedy(run, tmp_path):
    result = run("console", str(tmp_path / "none.db"), "--no-browser")
    assert result.exit_code == 3
    assert "no such catalogue or ledger" in result.stderr


def test_console_on_a_used_port_names_the_remedy(run, file):

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        result = run("console", str(file), "--no-browser", "--port", str(port))
    assert result.exit_code == 3
    assert f"--port {port}: cannot listen" in result.stderr
    assert "use another port" in result.stderr
