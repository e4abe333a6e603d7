"""What docs/airflow.md prints runs as printed; only the address of the server and the folder of the events are those of the test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support.gms import Gms
from support.sample_events import EXAMPLES, ROOT

from dh_bridge import airflow

PAGE = (ROOT / "docs" / "airflow.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
RUN = "manual__2026-01-02"


class Said:
    """Stands for a DAG or an operator: stores its arguments; a DAG can be entered."""

    made: list[Said]

    def __init__(self, *names, **stated):
        self.names, self.arguments = names, stated
        self.made.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        pass


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a server, and what runs a block of the page beside it; events of one tool lie where the page says."""
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / f"{RUN}.ndjson").write_bytes((EXAMPLES / "dbt.ndjson").read_bytes())
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms:

        def run(part):
            (block,) = (block for block in BLOCKS if part in block)
            code = block.replace("http://datahub-gms:8080", gms.url).replace("/data/events", str(tmp_path / "events"))
            Said.made = []
            names = {"BashOperator": Said, "DAG": Said, "subprocess": subprocess}
            exec(compile(code, "docs/airflow.md", "exec"), names)  # noqa: S102 - our own page
            return names, Said.made

        yield gms, run


def test_bash_operator_delivers_what_a_tool_left(place):
    gms, run = place
    _, (operator,) = run('task_id="emit"')
    stated = operator.arguments
    assert (stated["append_env"], stated["trigger_rule"]) == (True, "all_done")
    env = {key: text.replace("{{ run_id }}", RUN) for key, text in stated["env"].items()}
    done = subprocess.run(
        ["bash", "-c", stated["bash_command"]], env=os.environ | env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(gms.dump()) > 20


def test_bash_operator_fails_no_task_while_datahub_is_down(place):
    gms, run = place
    _, (operator,) = run('task_id="emit"')
    gms.stop()
    env = {key: text.replace("{{ run_id }}", RUN) for key, text in operator.arguments["env"].items()}
    env["DH_BRIDGE_REST__RETRIES"] = "0"
    done = subprocess.run(
        ["bash", "-c", operator.arguments["bash_command"]],
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=False,
    )
    gms.start()
    assert done.returncode == 0, done.stderr
    assert "connection failed" in done.stderr


def test_command_in_a_callback_delivers_it_too(place):
    gms, run = place
    names, _ = run("def emit_events")
    names["emit_events"]({"run_id": RUN})
    assert len(gms.dump()) > 20


def test_callbacks_are_those_of_the_page(place):
    _, run = place
    _, (dag,) = run('"on_execute_callback"')
    output = {**dag.arguments.pop("default_args"), "DAG": dag.arguments["on_success_callback"]}
    assert set(output.values()) == {getattr(airflow, name) for name in airflow.__all__ if name.startswith("emit_on_")}
    assert dag.arguments["on_failure_callback"] is airflow.emit_on_failure


def test_lineage_parent_id_macro_sets_the_tool_environment(place):
    _, run = place
    _, (dag, operator) = run("user_defined_macros")
    assert dag.arguments["user_defined_macros"] == {"lineage_parent_id": airflow.lineage_parent_id}
    assert operator.arguments["env"] == {"OPENLINEAGE_PARENT_ID": "{{ lineage_parent_id(ti) }}"}


def test_every_block_of_the_page_is_run():
    known = ('task_id="emit"', "def emit_events", '"on_execute_callback"', "user_defined_macros")
    assert [sum(part in block for part in known) for block in BLOCKS] == [1] * len(known)
    assert textwrap.dedent(BLOCKS[0]) == BLOCKS[0]
