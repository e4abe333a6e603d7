"""The bridge: events in, proposals out, by one configuration; all entry points and the Python SDK use it."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from threading import Lock, local
from typing import TYPE_CHECKING, Any

from dh_bridge.errors import SettingsError
from dh_bridge.facet_support.dbt_statements import fold_statement
from dh_bridge.identity.event import event_identity, identity_input
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.inputs import iter_events
from dh_bridge.options import Options, zone_of
from dh_bridge.report.report import Report
from dh_bridge.session import Counts, Session, Translation
from dh_bridge.settings import Settings
from dh_bridge.settings.loading import settings_of
from dh_bridge.sinks.base import Closable
from dh_bridge.window import Window

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from dh_bridge.identity.warnings import Sightings
    from dh_bridge.settings.loading import SettingsLike
    from dh_bridge.sinks.base import Sink

__all__ = ["Bridge", "Counts", "Translation"]


class Bridge(Closable):
    """A translator of OpenLineage events with one configuration. It keeps no state between calls.

    Threads may share a bridge. A bridge with a sink is closed at the end of ``with``, or by :meth:`close`.

    Args:
        settings: a :class:`~dh_bridge.settings.Settings`, a mapping by their keys, or the path of a settings file.
        sink: the target of :meth:`run` and :meth:`assertion`: a text such as ``catalog:FILE``, or a sink object.
        on_error: ``"raise"``, or ``"warn"``: a target that is down does not fail the caller
            (:class:`dh_bridge.sdk.Pipeline`).

    Raises:
        SettingsError: a setting is unknown or has a wrong value.

    Example:
        >>> from dh_bridge import Bridge
        >>> bridge = Bridge({"datahub_version": "1.4"})
        >>> translation = bridge.translate('{"eventTime": "yesterday"}')
        >>> len(translation.proposals), translation.counts.dead
        (0, 1)
    """

    def __init__(
        self, settings: SettingsLike = None, *, sink: str | Sink | None = None, on_error: str = "raise"
    ) -> None:
        self.settings = settings_of(settings)
        self.options = Options(self.settings)
        self.zone = zone_of(self.settings)
        self._sink, self._on_error = sink, on_error
        self._pipeline: Any = None
        self._pipeline_lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the bridge by its arguments (for Spark or multiprocessing); a SettingsError for an open sink."""
        if not isinstance(self._sink, str | None):
            remedy = 'pass its target, e.g. Bridge(sink="catalog:shop.db")'
            raise SettingsError("a sink object cannot be sent to another process", location="sink", remedy=remedy)
        return partial(type(self), sink=self._sink, on_error=self._on_error), (self.settings,)

    def translate(self, events: Any, *, report: bool | Collection[str] = False) -> Translation:
        """Translate one event or many, merged per run.

        Args:
            events: an Event, a JSON text or bytes (object or array), a dict, an event object of openlineage-python, the
                ``Path`` of a file or folder, or an iterable of those.
            report: whether ``report`` of the result has the outcome of each field of the events. With reasons, there is a report
                only if a field was dropped for one of them.

        Returns:
            The proposals. Events that cannot be used are in ``dead``, and do not stop the others.

        Raises:
            TypeError: ``events`` is none of these forms.
        """
        session = Session(self.options, report=bool(report))
        if type(events) is Event:
            session.add(events)
        else:
            for item in iter_events(events, self.zone):
                if isinstance(item, DeadLetter):
                    session.dead.append(item)
                else:
                    session.add(item)
        if not isinstance(report, bool):
            session.skip_report_unless_noted(report)
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
        """Yield a translation each time that runs close. Memory stays constant, however long the input is.

        A run closes a window after its terminal event, or when the input ends. A window closes early when its events
        exceed 16 MiB. Dead letters and filtered events belong to no run: they are yielded when a window of them is full.

        Args:
            items: parsed events and dead letters, for example of :func:`dh_bridge.openlineage.inputs.iter_events`.
            report: whether ``report`` of each result has the outcome of each field of the events.
            window: the number of events in a window; -1 is the setting ``window``, None has no bound.
            piecewise: whether a translation is yielded in pieces of some hundred proposals. This is faster if the caller
                handles proposals one by one.

        Yields:
            Translations. Together they have each proposal once.
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
        """Return how an event is named in DataHub, and why.

        Args:
            event: the parsed event.
            sightings: what earlier events named; some warnings need it.

        Returns:
            The row of ``dh-bridge identity``: the URNs of flow, job, run and datasets, with rules and warnings.
        """
        identity = self.options.identity
        event = fold_statement(self.options.masking.mask_event(event), identity)
        return event_identity(identity, identity_input(event), sightings)

    @property
    def pipeline(self) -> Any:
        """The :class:`dh_bridge.sdk.Pipeline` of this configuration.

        Raises:
            SettingsError: the bridge has no sink.
        """
        if self._sink is None:
            raise SettingsError(
                "the bridge has no sink", location="sink", remedy='pass one, e.g. Bridge(sink="catalog:shop.db")'
            )
        with self._pipeline_lock:  # if several threads begin together, one opens the target
            if self._pipeline is None:
                # loaded by name: the SDK is an entry point, which imports the bridge, not the other way round
                self._pipeline = import_module("dh_bridge.sdk").Pipeline(
                    self.options, sink=self._sink, on_error=self._on_error
                )
        return self._pipeline

    def run(self, job: tuple[str, str], inputs: Iterable[Any] = (), outputs: Iterable[Any] = (), **options: Any) -> Any:
        """Return a run, to be used in a ``with`` statement.

        Args:
            job: namespace and name of the job.
            inputs: datasets that the run reads.
            outputs: datasets that the run writes.
            **options: the other arguments of :meth:`dh_bridge.sdk.Pipeline.run`.

        Returns:
            The run (:class:`dh_bridge.sdk.Run`).

        Raises:
            SettingsError: the bridge has no sink.
            EventError: an argument cannot be used.
        """
        return self.pipeline.run(job, inputs, outputs, **options)

    def assertion(self, dataset: Any, check: Any, **options: Any) -> Any:
        """Write an assertion, and return it to report its results.

        Args:
            dataset: the dataset that is checked.
            check: the name of a check, or a definition such as :class:`dh_bridge.sdk.Volume`.
            **options: the other arguments of :meth:`dh_bridge.sdk.Pipeline.assertion`.

        Returns:
            The assertion (:class:`dh_bridge.sdk.Assertion`).

        Raises:
            SettingsError: the bridge has no sink.
            EventError: an argument cannot be used.
        """
        return self.pipeline.assertion(dataset, check, **options)

    def close(self) -> None:
        """Close the sink if it was opened here."""
        if self._pipeline is not None:
            self._pipeline.close()


_thread_cache = local()


def bridge_of(source: SettingsLike) -> Bridge:
    """Return the bridge that this thread made last if it has the same settings, else a new one."""
    last: tuple[SettingsLike, Bridge] | None = getattr(_thread_cache, "last", None)
    if (
        last is None or last[0] is not source or not isinstance(source, Settings | None)
    ):  # a mapping or a file may have changed
        settings = settings_of(source)
        bridge = last[1] if last is not None and last[1].settings == settings else Bridge(settings)
        last = _thread_cache.last = (source, bridge)
    return last[1]
