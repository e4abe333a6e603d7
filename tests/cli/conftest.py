"""The command line, run inside the test: its exit code, its stdout and its stderr apart."""

from __future__ import annotations

from collections import Counter
from datetime import timezone
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from support.gms import Gms

from dh_bridge.bridge import Counts, Translation
from dh_bridge.cli import commands
from dh_bridge.naming import Naming
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.openlineage.masking import EventMasker
from dh_bridge.settings.naming import NamingSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.closing import RejectedProposal
    from dh_bridge.datahub.proposal import Proposal


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    """Nobody's dh_bridge.yml and nobody's variables take part."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DH_BRIDGE_CONFIG", raising=False)
    for name in ("URL", "HOST", "PORT", "TOKEN"):
        monkeypatch.delenv(f"DATAHUB_GMS_{name}", raising=False)


@pytest.fixture
def gms(tmp_path):
    """A metadata service on loopback."""
    with Gms(tmp_path / "gms.db", version="1.4.0") as server:
        yield server


@pytest.fixture
def run():
    """Return a function that runs ``dh-bridge`` with arguments and returns click's result."""

    def ran(*arguments: str, stdin: bytes | str | None = None):
        result = CliRunner().invoke(commands, list(arguments), input=stdin, prog_name="dh-bridge")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return ran


class Report:
    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self._lines = lines

    def lines(self) -> Iterator[dict[str, Any]]:
        return iter(self._lines)


class ScriptedBridge:
    """A bridge that answers every event with the proposals and report lines it was given, one window per event."""

    def __init__(self, proposals: list[Proposal], lines: list[dict[str, Any]], filtered: dict[str, int]) -> None:
        self.proposals = proposals
        self.lines = lines
        self.filtered = filtered
        self.settings = None
        self.zone = timezone.utc
        self.options = SimpleNamespace(masking=EventMasker(is_enabled=False), naming=Naming(NamingSettings()))
        self.rejected: list[RejectedProposal] = []

    def __call__(self, settings):
        self.settings = settings
        return self

    def stream(self, items, *, report: bool, piecewise: bool = False):  # noqa: ARG002 - as the real one
        for item in items:
            yield self.translate(item, report=report)

    def translate(self, item, *, report: bool = False):
        if isinstance(item, DeadLetter):
            return Translation([], [item], [], Counts(), Report([]) if report else None)
        stated = Report([{"event": item.location, **line} for line in self.lines]) if report else None
        number = len(self.lines) if report else None
        counts = Counts(events=1, runs=1, proposals=len(self.proposals), filtered=Counter(self.filtered), mapped=number)
        return Translation(list(self.proposals), [], self.rejected, counts, stated)

    def identity(self, event, _sightings):
        return {"event": event.location, "platform": "airflow", "dataJob": None, "rules": ["a", "b"]}


@pytest.fixture
def scripted(monkeypatch):
    """Return a function that puts a ScriptedBridge into every command that translates."""

    def put(proposals=(), lines=(), filtered=None):
        bridge = ScriptedBridge(list(proposals), list(lines), dict(filtered or {}))
        for name in ("translate", "emit", "check", "explain", "identity", "demo"):
            monkeypatch.setattr(f"dh_bridge.cli.{name}.Bridge", bridge)
        return bridge

    return put
