"""Console blocks of the pages: which of them a test runs, and why the others need a service that tests do not have."""

from __future__ import annotations

import io
import os
import re
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from support.shell import environment, typed

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
GENERATED = {"cli.md", "settings.md", "systems.md", "facets.md", "coverage.md"}
SERVICES = frozenset(["a checkout", "another tool", "DataHub", "Kafka", "package index", "publication", "Spark"])
"""What a marked block may need: ``<!-- needs: SERVICE: reason -->`` on the line before the block."""

DELIVERY = "dh_bridge-2026_11_22-01_02_03-9f3a1c"
_FENCE = re.compile(
    r"^(?:<!-- needs: (?P<service>[^:\n]+): (?P<reason>[^\n]+) -->\n)?```console\n(?P<text>.+?)^```",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"\s+#\s.*$")
_ADDRESSES = ("http://localhost:8080", "http://gms:8080", "http://datahub-gms:8080")
_RECEIVER = "localhost:5000"


@dataclass(frozen=True)
class ConsoleBlock:
    """A fenced ``console`` block of a page."""

    page: str
    line: int
    text: str
    service: str | None
    reason: str | None

    @property
    def commands(self) -> list[tuple[str, int]]:
        """The commands without prompts and comments, each with the exit code that the page states (0 if it states none)."""
        joined = re.sub(r"\\\n\s*", "", self.text)
        commands = []
        for line in joined.splitlines():
            if line.startswith("$ "):
                code = re.search(r"#.*exit code (\d+)", line)
                commands.append((_COMMENT.sub("", line[2:]), int(code[1]) if code else 0))
        return commands


def pages() -> list[Path]:
    """Return the pages that people write: a generated page has examples of commands, which tests/cli runs."""
    files = [*ROOT.glob("*.md"), *ROOT.glob("examples/*.md"), *ROOT.glob("docs/*.md")]
    return sorted(file for file in files if file.name not in GENERATED)


def console_blocks(page: Path) -> list[ConsoleBlock]:
    """Return the console blocks of a page."""
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(ROOT).as_posix()
    return [
        ConsoleBlock(name, text.count("\n", 0, found.start()) + 1, found["text"], found["service"], found["reason"])
        for found in _FENCE.finditer(text)
    ]


def is_open(port: int) -> bool:
    """Return whether something listens on a port of loopback."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def wait_until(condition: Callable[[], bool], seconds: float = 15) -> bool:
    """Return whether a condition becomes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


@dataclass
class Sandbox:
    """A folder in which the commands of a page run, beside a stand-in for DataHub; exports last until the end of the page.

    ``commands``: the folder of `dh-bridge`.
    """

    folder: Path
    gms_url: str
    commands: Path
    exports: list[str] = field(default_factory=list)
    servers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    port: int = 0

    def prepare(self, blocks: list[ConsoleBlock]) -> None:
        """Make the files that the commands name and that no command makes."""
        text = "\n".join(command for block in blocks for command, _ in block.commands)
        (self.folder / "examples").symlink_to(ROOT / "examples")
        events = ROOT / "examples" / "events"
        if re.search(r"\bmy_events\b|\bevents/|\bledger\.db\b", text):
            (self.folder / "my_events").mkdir()
            shutil.copy(events / "client.ndjson", self.folder / "my_events.ndjson")
            for name in ("spark", "dbt"):
                shutil.copy(events / f"{name}.ndjson", self.folder / "my_events")
            (self.folder / "events").symlink_to(self.folder / "my_events")
        for name, content in {
            "urns.txt": "urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)\n",
            "old.yml": "identity: {mode: datahub-openlineage}\n",
            "new.yml": "",
        }.items():
            if name in text:
                (self.folder / name).write_text(content, encoding="utf-8")
        if "ledger.db" in text:
            emitted = self.run(f"dh-bridge emit my_events.ndjson --to rest: --ledger ledger.db --run-id {DELIVERY}")
            assert emitted.returncode == 0, emitted.stderr

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command; ``dh-bridge serve`` runs in the background until the sandbox is closed."""
        for address in _ADDRESSES:
            command = command.replace(address, self.gms_url)
        if self.port:
            command = command.replace(_RECEIVER, f"127.0.0.1:{self.port}")
        if command.startswith("export "):
            self.exports.append(command)
            return subprocess.CompletedProcess(command, 0, "", "")
        if command.startswith("dh-bridge serve"):
            return self._serve(command)
        if command.startswith("dh-bridge console"):
            return self._open_console(command)
        path = environment(self.folder)["PATH"]
        variables = {"DATAHUB_GMS_URL": self.gms_url, "PATH": f"{self.commands}{os.pathsep}{path}"}
        return typed("\n".join([*self.exports, command]), self.folder, **variables)

    def _serve(self, command: str) -> subprocess.CompletedProcess[str]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        settings = {"DH_BRIDGE_RECEIVER__LISTEN": f"127.0.0.1:{self.port}", "DATAHUB_GMS_URL": self.gms_url}
        self.servers.append(
            subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self.folder,
                env=environment(self.folder, **settings),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        answers = wait_until(lambda: is_open(self.port))
        return subprocess.CompletedProcess(command, 0 if answers else 1, "", "" if answers else "does not listen")

    def _open_console(self, command: str) -> subprocess.CompletedProcess[str]:
        """Start a console on a free port; its first line is its address."""
        server = subprocess.Popen(
            ["bash", "-c", f"exec {command} --port 0"],
            cwd=self.folder,
            env=environment(self.folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.servers.append(server)
        with server.stdout or io.BytesIO() as output:
            address = output.readline().decode()
        return subprocess.CompletedProcess(command, 0 if address.startswith("http://127.0.0.1:") else 1, address, "")

    def close(self) -> None:
        """Stop the servers, as SIGTERM does."""
        for server in self.servers:
            server.terminate()
            assert server.wait(timeout=30) == 0
