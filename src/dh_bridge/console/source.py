"""The file that the console shows: a catalogue, or the ledger of another target."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from dh_bridge.bridge import Bridge
from dh_bridge.catalog.store import Catalog
from dh_bridge.delivery import with_server_version
from dh_bridge.ledger import read_notes, trial_copy
from dh_bridge.ledger.contents import LedgerContents
from dh_bridge.options import Options
from dh_bridge.sinks.base import METADATA_SERVICE_TARGET
from dh_bridge.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dh_bridge.settings import Settings

_T = TypeVar("_T")
_LEDGER_NOTE = (
    "This file is a ledger. The page is rendered from the runs that it stores; it lacks evicted runs (ledger.retention_days)"
    " and what others wrote to the target."
)
_MIN_REFRESH_SECONDS = 20.0
"""A ledger is rendered, and a slow answer computed, at most once in so many seconds."""


class ConsoleSource:
    """Opens the file for each request, for reading only.

    A ledger stores states of runs instead of aspects. It is rendered into a catalogue in memory, from a copy of the file, again when
    the file has changed.

    Args:
        file: The catalogue or ledger.
        settings: The settings.
        must_exist: Whether the file must exist already; else requests fail until another process has created it.

    Raises:
        SinkError: The file does not exist or cannot be used.
    """

    def __init__(self, file: str, settings: Settings, *, must_exist: bool = True) -> None:
        self.file = file
        self.settings = settings
        self._is_ledger: bool | None = None
        #: sentences about data that a ledger does not have
        self.notes: list[str] = []
        self._lock = Lock()
        self._rendered: Catalog | None = None
        self._render_time = 0.0
        self._rendered_version: object = None
        self._cache: dict[str, tuple[float, object, Any]] = {}
        self._shared_lock = Lock()
        self._shared: dict[str, Any] = {}

        if must_exist:
            Catalog(file, readonly=True).close()

    @property
    def is_ledger(self) -> bool:
        """Whether the file is the ledger of another target: it has states of runs, but no aspects."""
        if self._is_ledger is None:
            with Catalog(self.file, readonly=True) as catalog:
                if catalog.has_content or catalog.has_runs:  # an empty file becomes one or the other
                    self._is_ledger = not catalog.has_content
        return bool(self._is_ledger)

    @cached_property
    def bridge(self) -> Bridge:
        """The translator with the settings; threads share it."""
        return Bridge(self.settings)

    @contextmanager
    def read_catalog(self) -> Iterator[Catalog]:
        """Yield the catalogue."""
        if not self.is_ledger:
            with Catalog(self.file, readonly=True) as catalog:
                yield catalog
            return
        with self._lock:  # one thread at a time may use a catalogue
            yield self._render()

    @contextmanager
    def read_ledger(self) -> Iterator[Database]:
        """Yield the ledger; a catalogue is its own."""
        with Database(self.file, readonly=True) as database:
            yield database

    @contextmanager
    def edit_ledger(self) -> Iterator[Database]:
        """Yield the ledger for changes in one transaction."""
        with Database(self.file) as database, database.transaction():
            yield database

    def cached(self, name: str, compute: Callable[[], _T]) -> _T:
        """Return a slow answer; it is computed again if the file has changed, and not too often."""
        entry = self._cache.get(name)
        version = self._file_version()
        if entry is None or (entry[1] != version and time.monotonic() - entry[0] > _MIN_REFRESH_SECONDS):
            entry = (time.monotonic(), version, compute())
            self._cache[name] = entry
        value: _T = entry[2]
        return value

    def shared(self, name: str, create: Callable[[], _T]) -> _T:
        """Return an object that all requests share; it is created for the first one."""
        with self._shared_lock:
            if name not in self._shared:
                self._shared[name] = create()
            value: _T = self._shared[name]
            return value

    def file_bytes(self) -> int:
        """Return the size of the file and of its log."""
        return sum(path.stat().st_size for path in self._paths())

    def _paths(self) -> list[Path]:
        return [path for path in (Path(self.file), Path(f"{self.file}-wal")) if path.exists()]

    def _file_version(self) -> object:
        return [(path.stat().st_mtime_ns, path.stat().st_size) for path in self._paths()]

    def _render(self) -> Catalog:
        version = self._file_version()
        is_due = time.monotonic() - self._render_time > _MIN_REFRESH_SECONDS
        if self._rendered is None or (version != self._rendered_version and is_due):
            rendered, self.notes = render_ledger(self.file, self.settings)
            if self._rendered is not None:
                self._rendered.close()
            self._rendered, self._rendered_version, self._render_time = rendered, version, time.monotonic()
        return self._rendered


def render_ledger(file: str, settings: Settings) -> tuple[Catalog, list[str]]:
    """Return what a ledger stores as a catalogue in memory, and sentences about what it lacks; the file is only read."""
    if settings.datahub_version is None:
        settings = with_server_version(read_notes(Path(file), METADATA_SERVICE_TARGET).version, settings)
    with ExitStack() as stack:
        path = stack.enter_context(trial_copy(Path(file)))
        contents = LedgerContents(stack.enter_context(Database(path or file)), Options(settings, is_stateful=True))
        catalog = contents.load_all()
    notes = [
        _LEDGER_NOTE,
        *dict.fromkeys(contents.notes),
    ]
    return catalog, notes
