"""A real Airflow, 3 or 2.10, in a folder of its own: on loopback, with SQLite, without a broker or a login."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

ROOT = Path(__file__).resolve().parents[2]
DAGS = ROOT / "examples" / "airflow" / "dags"
#: urllib would ask the proxy of this machine for loopback.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


#: What `airflow dags test` does, for several DAGs in one process.
TEST = """
import sys
from datetime import datetime
import {models}
from {bag} import DagBag
bag = DagBag(sys.argv[1])
assert not bag.import_errors, bag.import_errors
for name in sys.argv[3:]:
    run = bag.dags[name].test({date}=datetime.fromisoformat(sys.argv[2]))
    print(name, "ended as", getattr(run.state, "value", run.state))
"""
#: What `airflow dags trigger` does, for several DAGs in one process of Airflow 2.
TRIGGER = """
import sys
from datetime import datetime
from airflow.api.common.trigger_dag import trigger_dag
for name in sys.argv[2:]:
    trigger_dag(name, run_id=f"{name}_1", execution_date=datetime.fromisoformat(sys.argv[1]))
"""


class Airflow:
    """Airflow of the virtual environment ``venv`` with its home in ``home``; what it prints goes to ``home/out``."""

    parts: tuple[str, ...]
    models: str
    """The module of its users, which runs refer to."""
    bag: str
    """The module of its DagBag."""
    date: str
    """What it calls the date of a run."""

    def __init__(self, venv: Path, home: Path) -> None:
        self.home = home
        self.bin = venv / "bin"
        self.running: list[subprocess.Popen] = []
        (home / "out").mkdir(parents=True, exist_ok=True)
        retained = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("AIRFLOW", "DH_BRIDGE", "OPENLINEAGE"))
        }
        self.env = retained | {
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "NO_PROXY": "*",
            "no_proxy": "*",
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
            "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__PARALLELISM": "4",
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

    def test(self, day: datetime, *dags: str, name: str, **env: str) -> str:
        """Run DAGs in one process, without a scheduler, and return what it printed."""
        script = TEST.format(models=self.models, bag=self.bag, date=self.date)
        return self.run("python", "-c", script, str(DAGS), day.isoformat(), *dags, name=name, **env)

    def start(self, **env: str) -> None:
        """Start the parts and return when both DAGs are read."""
        for part in self.parts:
            with (self.home / "out" / part).open("wb") as out:
                self.running.append(
                    subprocess.Popen(
                        [str(self.bin / "airflow"), part], stdout=out, stderr=subprocess.STDOUT, env=self.env | env,
                        cwd=self.home, start_new_session=True,
                    )
                )  # fmt: skip
        self.until(lambda: len(self.dags()) == 2, 600, "the DAGs are read")

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

    def until(self, true: Callable[[], object], seconds: float, what: str) -> None:
        """Wait for ``true()``; what cannot be asked yet is not true yet."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if true():
                    return
            except (urllib.error.URLError, ConnectionError, KeyError, TimeoutError, sqlite3.OperationalError):
                pass
            dead = [part.args[1] for part in self.running if part.poll() is not None]
            assert not dead, f"{dead} ended before {what}; see {self.home / 'out'}"
            time.sleep(0.5)
        raise AssertionError(f"not within {seconds} s: {what}; see {self.home / 'out'}")

    def logs(self) -> str:
        """Return what tasks and callbacks logged."""
        return "\n".join(path.read_text(encoding="utf-8") for path in sorted((self.home / "logs").rglob("*.log")))

    def dags(self) -> list[str]:
        """Return the DAGs that are read."""
        raise NotImplementedError

    def trigger(self, day: datetime, *dags: str) -> None:
        """Let the scheduler run DAGs for a day."""
        raise NotImplementedError

    def states(self) -> dict[tuple[str, str, int], str]:
        """Return the state of each task instance: DAG, task and map index -> state."""
        raise NotImplementedError


class Airflow3(Airflow):
    """Its server, scheduler and DAG processor; it is asked by its public API."""

    parts = ("api-server", "scheduler", "dag-processor")
    models = "airflow.models"
    bag = "airflow.dag_processing.dagbag"
    date = "logical_date"

    def __init__(self, venv: Path, home: Path) -> None:
        super().__init__(venv, home)
        self.port = _free_port()
        address = f"http://127.0.0.1:{self.port}"
        self.env |= {
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{address}/execution/",
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",  # a busy machine fails no task
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__API__BASE_URL": address,
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API__SECRET_KEY": "nothing-to-hide-on-loopback-nothing-to-hide",
            "AIRFLOW__API_AUTH__JWT_SECRET": "nothing-to-hide-on-loopback-nothing-to-hide",
        }

    def dags(self) -> list[str]:
        return [one["dag_id"] for one in self.api("/dags")["dags"]]

    def trigger(self, day: datetime, *dags: str) -> None:
        for dag in dags:
            self.api(f"/dags/{dag}/dagRuns", {"logical_date": day.isoformat(), "dag_run_id": f"{dag}_1"})

    def states(self) -> dict[tuple[str, str, int], str]:
        found = self.api("/dags/~/dagRuns/~/taskInstances?limit=100")["task_instances"]
        return {(one["dag_id"], one["task_id"], one["map_index"]): one["state"] for one in found}

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


class Airflow2(Airflow):
    """Its scheduler, which reads the DAGs, too; it is asked by its database, as its server takes its time to start."""

    parts = ("scheduler",)
    models = "airflow.providers.fab.auth_manager.models"
    bag = "airflow.models.dagbag"
    date = "execution_date"

    def __init__(self, venv: Path, home: Path) -> None:
        super().__init__(venv, home)
        # Forks for its tasks; what goes with SQLite would start a Python for each. One at a time is no strain on SQLite, and no
        # task schedules what follows it: without locks on rows the scheduler would at times do the same, and count a try twice.
        self.env |= {
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": "1",
            "AIRFLOW__SCHEDULER__SCHEDULE_AFTER_TASK_EXECUTION": "False",
            "_AIRFLOW__SKIP_DATABASE_EXECUTOR_COMPATIBILITY_CHECK": "1",
        }

    def dags(self) -> list[str]:
        return [dag for (dag,) in self._rows("SELECT dag_id FROM serialized_dag")]

    def trigger(self, day: datetime, *dags: str) -> None:
        self.run("python", "-c", TRIGGER, day.isoformat(), *dags, name="trigger")

    def states(self) -> dict[tuple[str, str, int], str]:
        rows = self._rows("SELECT dag_id, task_id, map_index, state FROM task_instance")
        return {(dag, task, index): state for dag, task, index, state in rows}

    def _rows(self, query: str) -> list[tuple]:
        connection = sqlite3.connect(self.home / "airflow.db", timeout=30)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
