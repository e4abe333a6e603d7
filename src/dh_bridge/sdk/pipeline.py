"""A pipeline that tells what it does: runs and checks, by one configuration, into one sink."""

from __future__ import annotations

import atexit
import math
import os
import time
import warnings
from threading import RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from dh_bridge.datahub.profiles import known_profiles, profile
from dh_bridge.datahub.search_texts import shortened
from dh_bridge.datahub.validation import validator
from dh_bridge.delivery import hurried_settings, need_ledger, open_destination, refused
from dh_bridge.errors import AspectError, SettingsError, SinkError
from dh_bridge.sdk.arguments import mapping
from dh_bridge.sdk.assertion import ENTITY as ASSERTION
from dh_bridge.sdk.naming import Checked, named_check
from dh_bridge.sdk.plain import plain
from dh_bridge.sdk.references import several
from dh_bridge.sdk.run import Run, told_run
from dh_bridge.sdk.waiting import Waiting
from dh_bridge.session import PLATFORM
from dh_bridge.settings.loading import settings_of
from dh_bridge.sinks.abilities import is_sink, set_deadline
from dh_bridge.sinks.base import Closing
from dh_bridge.translation.options import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sdk.assertion import Assertion
    from dh_bridge.sdk.definitions import Definition
    from dh_bridge.sdk.references import DatasetRef, RunRef
    from dh_bridge.settings.loading import SettingsLike
    from dh_bridge.sinks.base import Sink

_every: WeakSet[Pipeline] = WeakSet()
_owing: set[Pipeline] = set()
"""Those that hold what is not told yet, and so are not forgotten before the process ends."""
_LAST = 10.0
"""Seconds that the end of the process waits for all of them."""
PRODUCER = "dh_bridge.sdk"
"""The ``producer`` of runs that say no other: it belongs to no family, so jobs are of ``identity.default_platform``."""


class Pipeline(Closing):
    """Tells runs and checks to ``sink``: a target such as ``"catalog:shop.db"`` or ``"rest:URL"``, or a sink object.

    ``settings``: an object, a mapping by their keys, or a settings file (:func:`dh_bridge.settings.loading.settings_of`).

    ``on_error``: with ``"raise"`` a SinkError ends what could not be told, with ``"warn"`` the caller's work goes on: what
    does not arrive, or cannot be opened, is a RuntimeWarning, and is sent with what comes next (up to a minute later where
    the place was slow to fail), the last time by :meth:`close`, or where nobody calls that, when the process ends, which waits ten
    seconds for it. What the caller says wrong is an error either way. ``clock`` returns nanoseconds since 1970. What was opened
    here is closed by :meth:`close` or at the end of ``with``. Threads may share a pipeline: one of them sends at a time.
    """

    def __init__(
        self,
        settings: SettingsLike | Options = None,
        *,
        sink: str | Sink,
        on_error: str = "raise",
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        if on_error not in ("raise", "warn"):
            raise SettingsError(f"{on_error!r} says nothing", where="on_error", now="raise or warn")
        self.options = settings if isinstance(settings, Options) else Options(settings_of(settings))
        self._stated = self.options.settings
        self.clock = clock
        self.on_error = on_error
        self._lock = RLock()
        self._end = math.inf
        _every.add(self)
        self._target = sink if isinstance(sink, str) else None
        self._sink = None if isinstance(sink, str) else sink
        if self._sink is not None and not is_sink(self._sink):
            raise SettingsError(f"{sink!r} is no sink", where="sink", now='a target is a text, e.g. "catalog:shop.db"')
        self._waiting = Waiting(self._place) if on_error == "warn" else None
        try:
            self._place()
        except SinkError as error:
            if self._waiting is None:
                raise
            if self._stated.profile is None:  # every server understands the oldest version, whichever will answer
                self.options = Options(self._stated.model_copy(update={"profile": known_profiles()[0]}))
            warnings.warn(f"nothing is told yet: {error}", RuntimeWarning, stacklevel=2)
        self._introduced = not self.options.settings.identity.register_platform

    @property
    def sink(self) -> Sink:
        """The open sink; a SinkError where its place cannot be opened."""
        return self._place()

    def _place(self) -> Sink:
        """Return the sink, opened now if it is not; the profile is that of its server unless somebody chose one."""
        if self._sink is None:
            target = str(self._target)
            settings = self._stated
            need_ledger(target, settings)
            if self._end < math.inf:
                settings = hurried_settings(settings, max(0.1, self._end - time.monotonic()))
            destination = open_destination(target, settings)
            if destination.settings.profile != self.options.settings.profile:
                self.options = Options(destination.settings)
            self._sink = destination.sink
        if self._end < math.inf:
            set_deadline(self._sink, self._end)
        return self._sink

    def run(  # noqa: PLR0913 - what may be said of a run
        self,
        job: tuple[str, str],
        inputs: Iterable[DatasetRef] | str | None = (),
        outputs: Iterable[DatasetRef] | str | None = (),
        *,
        run_id: str | None = None,
        name: str | None = None,
        kind: str | None = None,
        parent: RunRef | None = None,
        upstream: Iterable[RunRef] | RunRef | None = (),
        attempt: int = 1,
        url: str | None = None,
        template: str | None = None,
        properties: Mapping[str, Any] | None = None,
        facets: Mapping[str, Any] | None = None,
        job_facets: Mapping[str, Any] | None = None,
        producer: str = PRODUCER,
    ) -> Run:
        """Return a run of ``job``, (namespace, name), to be used in a ``with`` statement.

        ``inputs`` and ``outputs``: datasets by URN, ``"namespace/name"`` or (namespace, name); a text is one of them.
        ``run_id``: a new UUID by default. ``kind``: ``scheduled``, ``ad_hoc`` or ``streaming``. ``parent``: the run that
        started it; ``upstream``: a run or runs that it waited for. ``attempt``: the number of this try, from 1. ``url``: where the
        run is shown. ``template``: URN of the dataJob, dataFlow or dataset that it is an instance of, if not of its job.
        ``facets`` and ``job_facets`` are OpenLineage facets by key. ``producer``: a URI, which gives the job's platform as
        that of an event does. An EventError says which of these cannot be used.
        """
        told = told_run(
            self, job, producer, run_id, label=name, kind=kind, parent=parent, upstream=several(upstream), url=url,
            template=template, properties=plain(mapping("properties", properties)), facets=mapping("facets", facets),
            job_facets=mapping("job_facets", job_facets),
        )  # fmt: skip
        run = Run(self, told, attempt)
        run.reads(*several(inputs))
        run.writes(*several(outputs))
        return run

    def assertion(  # noqa: PLR0913 - what may be said of a check
        self,
        dataset: DatasetRef,
        check: str | Definition,
        *,
        platform: str | None = None,
        instance: str | None = None,
        suite: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of the public interface
        name: str | None = None,
        description: str | None = None,
        properties: Mapping[str, Any] | None = None,
        url: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        **params: Any,
    ) -> Assertion:
        """Tell what is checked and return the check, whose results are told by :meth:`Assertion.report`.

        ``check`` is a name of ``mappings/tables/assertions.yaml`` (``expect_column_max_to_be_between``, ``not_null``,
        ``row_count`` …) or any other, or a definition such as :class:`~dh_bridge.sdk.definitions.Volume`. Of a name,
        ``column``, ``min``, ``max``, ``value`` and any other parameters say what is expected (in ``parameters`` those that
        are called like an argument here). ``platform``: who checks
        (``great-expectations``, ``dbt`` …). ``id``: an identifier of yours, a guid or a URN; without one the check has
        the URN that OpenLineage events of the same check have. A SettingsError names the DataHub version that a
        definition needs.
        """
        said = Checked(
            platform=platform or self.options.settings.identity.default_platform, instance=instance, suite=suite,
            id=None if id is None else str(id), name=name, description=description,
            properties=mapping("properties", properties), url=url,
        )  # fmt: skip
        found = named_check(self, dataset, check, said, mapping("parameters", parameters) | params)
        self.send(found.proposals())
        return found

    def send(self, proposals: Iterable[Proposal]) -> None:
        """Deliver proposals, all of them or, when one is unsound (an AspectError), none.

        A SinkError when some do not arrive, or a warning, as ``on_error`` has it.
        """
        with self._lock:
            self._send(list(proposals))

    def _send(self, found: list[Proposal]) -> None:
        first = not self._introduced and any(map(_of_ours, found))
        if first:  # the platform `openlineage` before what is first said to be of it, as for events
            found.insert(0, PLATFORM)
        checker = validator(self.options.profile)
        found = [shortened(proposal, checker.version) for proposal in found]
        try:
            for proposal in found:
                checker.check(proposal)
        except AspectError as error:
            if not error.where.startswith(ASSERTION):
                raise
            now = "what a check is made of is said by its caller, in words that DataHub's schema knows"
            raise AspectError(error.what, where=error.where, now=now) from error
        if not found:
            return
        if self._waiting is not None:
            _owing.add(self)
            self._waiting.tell(found)
            if not self._waiting.owes:
                _owing.discard(self)
        elif failed := self.sink.emit(found).failed:
            raise refused(failed, len(found))
        self._introduced = self._introduced or first

    def micros(self) -> int:
        """Return the clock's time in microseconds."""
        return self.clock() // 1000

    def needs(self, aspect: str, path: str, what: str) -> None:
        """Raise a SettingsError that says since which DataHub ``what`` can be written, if the profile has no such field."""
        if self.options.profile.has_field(aspect, path):
            return
        since = next((one for one in known_profiles() if profile(one).has_field(aspect, path)), None)
        raise SettingsError(
            f"{what} needs DataHub {since}, the profile is {self.options.profile.name}",
            where="profile",
            now=f"set profile to {since} or later if your server is, or leave it out",
        )

    def close(self) -> None:
        """Close the sink if it was opened here; with ``on_error="warn"`` what is not told yet is sent once more."""
        with self._lock:
            if self._waiting is not None:
                self._waiting.last()
                _owing.discard(self)
            if self._target is not None and self._sink is not None:
                self._sink.close()

    def end(self, end: float) -> None:
        """Close it as the process ends; a place that can be hurried is waited for until ``end`` (of the monotonic clock)."""
        if self._lock.acquire(timeout=max(0.0, end - time.monotonic())):
            try:
                self._end = end
                self.close()
            finally:
                self._lock.release()

    def begin_anew(self) -> None:
        """Begin anew in a process that was forked: a thread of the parent's that was sending goes on there alone."""
        self._lock = RLock()


@atexit.register
def _at_exit() -> None:
    end = time.monotonic() + _LAST
    for pipeline in list(_owing):
        pipeline.end(end)


def _after_fork_in_child() -> None:
    _owing.clear()  # the parent tells it
    for pipeline in list(_every):
        pipeline.begin_anew()


if hasattr(os, "register_at_fork"):  # Windows forks nothing
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _of_ours(proposal: Proposal) -> bool:
    return proposal.aspect_name == "dataPlatformInstance" and proposal.value.get("platform") == PLATFORM.entity_urn
