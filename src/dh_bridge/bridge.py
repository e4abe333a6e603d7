"""The bridge: events in, proposals out, by one configuration; what the doors and the Python SDK use."""

from __future__ import annotations

from datetime import timezone, tzinfo
from functools import partial
from importlib import import_module
from threading import Lock, local
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dh_bridge.errors import SettingsError
from dh_bridge.identity.event import event_identity, identity_input
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.inputs import iter_events
from dh_bridge.options import Options
from dh_bridge.report.report import Report
from dh_bridge.session import Counts, Session, Translation
from dh_bridge.settings import Settings
from dh_bridge.settings.loading import settings_of
from dh_bridge.sinks.base import Closable
from dh_bridge.window import Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.identity.warnings import Sightings
    from dh_bridge.settings.loading import SettingsLike
    from dh_bridge.sinks.base import Sink

__all__ = ["Bridge", "Counts", "Translation"]


class Bridge(Closable):
    """Translates OpenLineage events by one configuration; holds no state between calls (state mode *none*).

    Threads may share one. One with a sink is closed at the end of ``with``, or by :meth:`close`.
    """

    def __init__(
        self, settings: SettingsLike = None, *, sink: str | Sink | None = None, on_error: str = "raise"
    ) -> None:
        """``settings``: an object, a mapping by their keys, or a settings file (:func:`dh_bridge.settings.loading.settings_of`).

        ``sink`` is where :meth:`run` and :meth:`assertion` tell: a target such as ``catalog:FILE``, or a sink object.

        ``on_error="warn"``: no work of yours fails because of a place that is down (:class:`dh_bridge.sdk.Pipeline`).
        """
        self.settings = settings_of(settings)
        self.options = Options(self.settings)
        self.zone = zone_of(self.settings)
        self._sink, self._on_error = sink, on_error
        self._pipeline: Any = None
        self._pipeline_lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process (Spark's, multiprocessing's) as what it was made of; a SettingsError for a sink that is open here."""
        if not isinstance(self._sink, str | None):
            remedy = 'pass its target, e.g. Bridge(sink="catalog:shop.db")'
            raise SettingsError("a sink object cannot be sent to another process", location="sink", remedy=remedy)
        return partial(type(self), sink=self._sink, on_error=self._on_error), (self.settings,)

    def translate(self, events: Any, *, report: bool = False) -> Translation:
        """Translate one event or many, folded per run.

        ``events`` may be an Event, a JSON text or bytes (object or array), a dict, an event object of openlineage-python,
        the ``Path`` of a file or folder, or an iterable of those. Unusable events are in ``dead``; they never stop the others.
        """
        session = Session(self.options, report=report)
        if type(events) is Event:
            session.add(events)
        else:
            for item in iter_events(events, self.zone):
                if isinstance(item, DeadLetter):
                    session.dead.append(item)
                else:
                    session.add(item)
        return (
            session.close(None)
            if session.has_pending
            else Translation([], [], [], Counts(), Report() if report else None)
        )

    def stream(
        self,
        items: Iterable[Event | DeadLetter],
        *,
        report: bool = False,
        window: int | None = -1,
        piecewise: bool = False,
    ) -> Iterator[Translation]:
        """Yield a translation each time that runs close: their terminal event lies a window behind, or the input ends.

        ``window`` counts events (default: the setting, None: no bound); a window closes early when its events exceed
        16 MiB. Memory stays constant however long the input is. What no run has (dead letters, what a filter left out) is
        yielded without one when there is a window of it. ``piecewise``: yield it some hundreds of proposals at a time, for
        those who do with each what they do with all; that is faster, for they are still in the processor's cache.
        """
        size = self.settings.window if window == -1 else window
        session = Session(self.options, report=report)
        run_window, filtered_window = Window(size), Window(size)
        for item in items:
            if isinstance(item, DeadLetter):
                key = None
                session.dead.append(item)
            else:
                key = session.add(item)
            if key is None or isinstance(item, DeadLetter):
                if filtered_window.count_event(len(item.raw)):
                    yield session.close([])
            elif due_runs := run_window.add_event(key, item.is_terminal or item.kind != "run", len(item.raw)):
                yield from session.close_in_pieces(due_runs, piecewise=piecewise)
        if session.has_pending:
            yield from session.close_in_pieces(None, piecewise=piecewise)

    def identity(self, event: Event, sightings: Sightings | None = None) -> dict[str, Any]:
        """Return the row of ``dh-bridge identity`` for one event; ``sightings`` are of those before it."""
        return event_identity(self.options.identity, identity_input(self.options.masking.mask_event(event)), sightings)

    @property
    def pipeline(self) -> Any:
        """The :class:`dh_bridge.sdk.Pipeline` of this configuration; a SettingsError without a sink."""
        if self._sink is None:
            raise SettingsError(
                "the bridge has no sink", location="sink", remedy='pass one, e.g. Bridge(sink="catalog:shop.db")'
            )
        with self._pipeline_lock:  # of threads that begin together one opens the place
            if self._pipeline is None:
                # loaded by name: the SDK is a door, which knows the bridge's floor and not the other way round
                self._pipeline = import_module("dh_bridge.sdk").Pipeline(
                    self.options, sink=self._sink, on_error=self._on_error
                )
        return self._pipeline

    def run(self, job: tuple[str, str], inputs: Iterable[Any] = (), outputs: Iterable[Any] = (), **options: Any) -> Any:
        """Return a run to be used in a ``with`` statement; see :meth:`dh_bridge.sdk.Pipeline.run`."""
        return self.pipeline.run(job, inputs, outputs, **options)

    def assertion(self, dataset: Any, check: Any, **options: Any) -> Any:
        """Tell what is checked and return the check, to report results; see :meth:`dh_bridge.sdk.Pipeline.assertion`."""
        return self.pipeline.assertion(dataset, check, **options)

    def close(self) -> None:
        """Close the sink if it was opened here."""
        if self._pipeline is not None:
            self._pipeline.close()


_thread_cache = local()


def bridge_of(source: SettingsLike) -> Bridge:
    """Return the bridge that this thread made last, if it was for the same settings, else a new one."""
    last: tuple[SettingsLike, Bridge] | None = getattr(_thread_cache, "last", None)
    if (
        last is None or last[0] is not source or not isinstance(source, Settings | None)
    ):  # a mapping or a file may say another thing now
        settings = settings_of(source)
        bridge = last[1] if last is not None and last[1].settings == settings else Bridge(settings)
        last = _thread_cache.last = (source, bridge)
    return last[1]


def zone_of(settings: Settings) -> tzinfo:
    """Return the time zone of times that name none; a SettingsError for one that there is not."""
    name = settings.event_time.default_zone
    if name.upper() == "UTC":
        return timezone.utc
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise SettingsError(
            f"unknown time zone {name!r}", location="event_time.default_zone", remedy="use a name such as Europe/Berlin"
        ) from error
