"""The console: a local page that shows a catalogue or ledger, and what events become.

``app`` answers requests (WSGI) and guards them; ``server`` runs it on loopback, and the receiver can mount it. One module for each
view has the queries of the view and the types of its answers: the read API, which ARCHITECTURE.md lists. The page itself is in
``static``: plain ES modules, without a build step.
"""

from __future__ import annotations

from dh_bridge.console.app import ConsoleApp
from dh_bridge.console.server import run_console
from dh_bridge.console.source import ConsoleSource

__all__ = ["ConsoleApp", "ConsoleSource", "run_console"]
