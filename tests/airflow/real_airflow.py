"""A real Airflow 3 in a folder of its own: its server, scheduler and DAG processor on loopback, without a broker or a login."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DAGS = ROOT / "examples" / "airflow" / "dags"
PARTS = ("api-server", "scheduler", "dag-processor")
#: urllib would ask the proxy of this machine for loopback.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Airflow:
    """Airflow of the virtual environment ``venv`` with its home in ``home``; what it prints goes to ``home/out``."""

    def __init__(self, venv: Path, home: Path) -> None:
        self.home = home
        self.port = _free_port()
        self.bin = venv / "bin"
        self.running: list[subprocess.Popen] = []
        (home / "out").mkdir(parents=True, exist_ok=True)
        address = f"http://127.0.0.1:{self.port}"
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("AIRFLOW", "DH_BRIDGE", "OPENLINEAGE"))
        }
        self.env = kept | {
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "NO_PROXY": "*",
            "no_proxy": "*",
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
            "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{address}/execution/",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__API__BASE_URL": address,
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API__SECRET_KEY": "nothing-to-hide-on-loopback-nothing-to-hide",
            "AIRFLOW__API_AUTH__JWT_SECRET": "nothing-to-hide-on-loopback-nothing-to-hide",
            "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
            "AIRFLOW__OPENLINEAGE__NAMESPACE": "shop-airflow",
            "SHOP_EVENTS": str(home / "events"),
        }

    def run(self, *command: str, name: str, **env: str) -> str:
        """Run a program of the virtual environment to its end and return what it printed."""
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]], capture_output=True, text=True, check=False, timeout=300,
            env=self.env | env, cwd=self.home,
        )  # fmt: skip
        text = done.stdout + done.stderr
        (self.home / "out" / name).write_text(text, encoding="utf-8")
        assert done.returncode == 0, text[-3000:]
        return text

    def start(self, **env: str) -> None:
        """Start the parts; they are there when the server answers and both DAGs are read."""
        for part in PARTS:
            with (self.home / "out" / part).open("wb") as out:
                self.running.append(
                    subprocess.Popen(
                        [str(self.bin / "airflow"), part], stdout=out, stderr=subprocess.STDOUT, env=self.env | env,
                        cwd=self.home, start_new_session=True,
                    )
                )  # fmt: skip
        self.until(lambda: self.ask("/auth/token"), 180, "the server answers")
        self.until(lambda: len(self.api("/dags")["dags"]) == 2, 120, "the DAGs are read")

    def stop(self) -> None:
        """Stop the parts, with all that they started."""
        for part in self.running:
            for kind, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
                try:
                    os.killpg(part.pid, kind)
                    part.wait(patience)
                    break
                except (ProcessLookupError, subprocess.TimeoutExpired):
                    continue
        self.running = []

    def until(self, true, seconds: float, what: str) -> None:
        """Wait for ``true()``; what cannot be asked yet is not true yet."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if true():
                    return
            except (urllib.error.URLError, ConnectionError, KeyError, TimeoutError):
                pass
            dead = [part.args[1] for part in self.running if part.poll() is not None]
            assert not dead, f"{dead} ended before {what}; see {self.home / 'out'}"
            time.sleep(0.5)
        raise AssertionError(f"not within {seconds} s: {what}; see {self.home / 'out'}")

    def ask(self, path: str, body: dict | None = None, token: str | None = None) -> dict:
        """Return what the server answers to a GET, or to a POST of ``body``."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", None if body is None else json.dumps(body).encode()
        )
        request.add_header("Content-Type", "application/json")
        if token is not None:
            request.add_header("Authorization", f"Bearer {token}")
        with _DIRECT.open(request, timeout=30) as answer:
            return json.load(answer)

    def api(self, path: str, body: dict | None = None) -> dict:
        """Return what Airflow's public API answers."""
        return self.ask(f"/api/v2{path}", body, self.ask("/auth/token")["access_token"])

    def logs(self) -> str:
        """Return what tasks and callbacks logged."""
        return "\n".join(path.read_text(encoding="utf-8") for path in sorted((self.home / "logs").rglob("*.log")))


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
