"""A real schema registry: Apicurio, in memory, with Confluent's API under ``/apis/ccompat/v7``; 3 s to start, 260 MB."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import requests
from realparts.jars import REGISTRY, fetched
from realparts.java import FRUGAL, java
from realparts.process import Program, free_port

if TYPE_CHECKING:
    from pathlib import Path


class Registry:
    """A registry by its address."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str) -> Any:
        """Return what a GET of ``path`` (``/subjects``) answers."""
        answer = requests.get(self.url + path, timeout=30)
        answer.raise_for_status()
        return answer.json()

    def ready(self) -> bool:
        """Say whether it answers."""
        try:
            return isinstance(self.get("/subjects"), list)
        except requests.RequestException:
            return False


class OwnRegistry(Registry):
    """A registry of one's own: it can be killed, and comes back empty, on the same port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        super().__init__(f"http://127.0.0.1:{self._port}/apis/ccompat/v7")
        folder.mkdir(parents=True, exist_ok=True)
        self.program: Program | None = None

    def start(self) -> None:
        """Start it and return when it answers."""
        jar = next(fetched(REGISTRY).glob("*-runner.jar"))
        where = ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={self._port}"]
        command = [java(), *FRUGAL, "-Xmx512m", *where, "-jar", str(jar)]
        lock, state = self._folder / "lock", self._folder / "state.json"
        self.program = Program(command, self._folder / "registry.log", lock=lock, state=state)
        self.program.wait_until(self.ready)

    def kill(self) -> None:
        """End it with no warning."""
        if self.program is not None:
            self.program.kill(signal.SIGKILL)
            self.program = None
