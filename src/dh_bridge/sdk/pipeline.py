"""A pipeline that records its runs and checks, by one configuration, into one sink."""

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
from dh_bridge.datahub.search_texts import cut_long_texts
from dh_bridge.datahub.validation import validator
from dh_bridge.delivery import delivery_error, open_target, require_ledger, settings_with_deadline
from dh_bridge.errors import AspectError, SettingsError, SinkError
from dh_bridge.model.job import DEFAULT_PLATFORM
from dh_bridge.options import Options
from dh_bridge.sdk.arguments import require_mapping
from dh_bridge.sdk.assertion import ENTITY as ASSERTION
from dh_bridge.sdk.naming import CheckDescription, build_assertion
from dh_bridge.sdk.plain import to_plain
from dh_bridge.sdk.references import to_references
from dh_bridge.sdk.retry_buffer import BufferedSender
from dh_bridge.sdk.run import Run, describe_run
from dh_bridge.session import PLATFORM
from dh_bridge.settings.loading import settings_of
from dh_bridge.sinks.abilities import is_sink, set_deadline
from dh_bridge.sinks.base import Closable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sdk.assertion import Assertion
    from dh_bridge.sdk.definitions import Definition
    from dh_bridge.sdk.references import DatasetRef, RunRef
    from dh_bridge.sdk.run_dataset import RunDataset
    from dh_bridge.settings.loading import SettingsLike
    from dh_bridge.sinks.base import Sink

_pipelines: WeakSet[Pipeline] = WeakSet()
_unsent_pipelines: set[Pipeline] = set()
"""Pipelines with buffered proposals, referenced here so that they exist until the process ends."""
_EXIT_TIMEOUT_SECONDS = 10.0
"""Seconds that the end of the process waits for all of them."""
PRODUCER = "dh_bridge.sdk"
"""The ``producer`` of runs without one: it is unknown, so their jobs have the default platform."""


class Pipeline(Closable):
    """A recorder of runs and checks, which writes them to one sink.

    With ``on_error="warn"`` a target that is down does not fail the caller: a RuntimeWarning is issued, and the proposals are
    buffered. They are sent with the next ones (up to a minute later if the target was slow to fail), and the last time by
    :meth:`close` or when the process ends, which waits ten seconds for them. A wrong argument raises an error in any case.

    Threads may share a pipeline: one of them sends at a time. :meth:`close`, or the end of ``with``, closes a sink that was
    opened here.

    Args:
        settings: a :class:`~dh_bridge.settings.Settings`, a mapping by their keys, or the path of a settings file.
        sink: a target such as ``"catalog:shop.db"`` or ``"rest:URL"``, or a sink object.
        on_error: ``"raise"``, or ``"warn"``.
        clock: returns the time in nanoseconds since 1970.

    Raises:
        SettingsError: a setting, the sink or ``on_error`` cannot be used.
        SinkError: the target cannot be opened, unless ``on_error`` is ``"warn"``.

    Example:
        >>> from dh_bridge.sdk import Pipeline
        >>> with Pipeline(sink="catalog::memory:") as pipeline:
        ...     with pipeline.run(("nightly", "shop.load"), outputs=["postgres://db:5432/shop.public.orders"]) as run:
        ...         run.reads("s3://lake/orders")
        ...     check = pipeline.assertion("postgres://db:5432/shop.public.orders", "row_count", min=1)
        ...     check.report(success=True, actual=17, run_id=run)
        []
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
            raise SettingsError(f"unknown value {on_error!r}", location="on_error", remedy="use raise or warn")
        self.options = settings if isinstance(settings, Options) else Options(settings_of(settings))
        self._settings = self.options.settings
        self.clock = clock
        self.on_error = on_error
        self._lock = RLock()
        self._deadline = math.inf
        _pipelines.add(self)
        self._target = sink if isinstance(sink, str) else None
        self._sink = None if isinstance(sink, str) else sink
        if self._sink is not None and not is_sink(self._sink):
            raise SettingsError(
                f"{sink!r} is not a sink", location="sink", remedy='pass a target as str, e.g. "catalog:shop.db"'
            )
        self._buffered_sender = BufferedSender(self._open_sink) if on_error == "warn" else None
        try:
            self._open_sink()
        except SinkError as error:
            if self._buffered_sender is None:
                raise
            # every server supports the oldest version, and the server is not known yet
            if self._settings.datahub_version is None:
                self.options = Options(self._settings.model_copy(update={"datahub_version": known_profiles()[0]}))
            warnings.warn(f"cannot open the target yet, proposals wait: {error}", RuntimeWarning, stacklevel=2)
        self._has_platform = False

    @property
    def sink(self) -> Sink:
        """The open sink.

        Raises:
            SinkError: the target cannot be opened.
        """
        return self._open_sink()

    def _open_sink(self) -> Sink:
        """Return the sink, which is opened on the first call; the version is that of its server unless it is set."""
        if self._sink is None:
            target = str(self._target)
            settings = self._settings
            require_ledger(target, settings)
            if self._deadline < math.inf:
                settings = settings_with_deadline(settings, max(0.1, self._deadline - time.monotonic()))
            delivery_target = open_target(target, settings)
            if delivery_target.settings.datahub_version != self.options.settings.datahub_version:
                self.options = Options(delivery_target.settings)
            self._sink = delivery_target.sink
        if self._deadline < math.inf:
            set_deadline(self._sink, self._deadline)
        return self._sink

    def run(  # noqa: PLR0913 - the attributes of a run
        self,
        job: tuple[str, str],
        inputs: Iterable[DatasetRef | RunDataset] | RunDataset | str | None = (),
        outputs: Iterable[DatasetRef | RunDataset] | RunDataset | str | None = (),
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
        """Return a run, to be used in a ``with`` statement.

        Args:
            job: namespace and name of the job.
            inputs: datasets by URN, ``"namespace/name"`` or (namespace, name); a text is one dataset. With details (schema,
                rows and others) as :class:`~dh_bridge.sdk.run_dataset.RunDataset`.
            outputs: datasets, as ``inputs``.
            run_id: the id of the run; a new UUID by default.
            name: the name that DataHub shows.
            kind: ``scheduled``, ``ad_hoc`` or ``streaming``.
            parent: the run that started this one.
            upstream: the run or runs that this one waited for.
            attempt: the number of this try, from 1.
            url: the page of the run.
            template: the URN of the dataJob, dataFlow or dataset that the run is an instance of; its job by default.
            properties: custom properties of the run.
            facets: OpenLineage facets of the run, by key.
            job_facets: OpenLineage facets of the job, by key.
            producer: a URI; it gives the platform of the job, as that of an event does.

        Returns:
            The run, which starts with the ``with`` statement.

        Raises:
            EventError: an argument cannot be used; the error names it.
        """
        description = describe_run(
            self, job, producer, run_id, label=name, kind=kind, parent=parent, upstream=to_references(upstream), url=url,
            template=template, properties=to_plain(require_mapping("properties", properties)), facets=require_mapping("facets", facets),
            job_facets=require_mapping("job_facets", job_facets),
        )  # fmt: skip
        run = Run(self, description, attempt)
        run.reads(*to_references(inputs))
        run.writes(*to_references(outputs))
        return run

    def assertion(  # noqa: PLR0913 - the attributes of a check
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
        """Write an assertion, and return it; :meth:`Assertion.report` writes its results.

        Args:
            dataset: the dataset that is checked, as in :meth:`run`.
            check: a name of ``mappings/tables/assertions.yaml`` (``not_null``, ``row_count``), any other name, or a
                definition such as :class:`~dh_bridge.sdk.definitions.Volume`.
            platform: the tool that checks, for example ``great-expectations``.
            instance: the instance of that tool.
            suite: the suite that the check belongs to.
            id: a guid, a URN or another id; by default the URN that events of OpenLineage give the same check.
            name: the name of the check.
            description: the text that DataHub shows.
            properties: custom properties.
            url: the page of the check.
            parameters: parameters of a named check whose names are those of arguments here.
            **params: parameters of a named check: ``column``, ``min``, ``max``, ``value`` and others.

        Returns:
            The assertion.

        Raises:
            EventError: an argument cannot be used; the error names it.
            SettingsError: the definition needs a newer DataHub; the error names its version.
            SinkError: the target rejects the assertion, or cannot be reached.
        """
        check_description = CheckDescription(
            platform=platform or DEFAULT_PLATFORM, instance=instance, suite=suite,
            id=None if id is None else str(id), name=name, description=description,
            properties=require_mapping("properties", properties), url=url,
        )  # fmt: skip
        assertion = build_assertion(
            self, dataset, check, check_description, require_mapping("parameters", parameters) | params
        )
        self.send(assertion.proposals())
        return assertion

    def send(self, proposals: Iterable[Proposal]) -> None:
        """Deliver proposals: all of them, or none if one is invalid.

        Args:
            proposals: the proposals.

        Raises:
            AspectError: a proposal is invalid.
            SinkError: a proposal does not arrive; with ``on_error="warn"`` a RuntimeWarning instead.
        """
        with self._lock:
            self._send(list(proposals))

    def _send(self, proposals: list[Proposal]) -> None:
        is_first = not self._has_platform and any(map(_has_own_platform, proposals))
        if is_first:  # the platform `openlineage` before its first entity, as for events
            proposals.insert(0, PLATFORM)
        checker = validator(self.options.profile)
        proposals = [cut_long_texts(proposal, checker.version) for proposal in proposals]
        try:
            for proposal in proposals:
                checker.check(proposal)
        except AspectError as error:
            if not error.location.startswith(ASSERTION):
                raise
            remedy = "correct the arguments of the check: they must match DataHub's schema"
            raise AspectError(error.problem, location=error.location, remedy=remedy) from error
        if not proposals:
            return
        if self._buffered_sender is not None:
            _unsent_pipelines.add(self)
            self._buffered_sender.send(proposals)
            if not self._buffered_sender.has_unsent:
                _unsent_pipelines.discard(self)
        elif failures := self.sink.emit(proposals).failures:
            raise delivery_error(failures, len(proposals))
        self._has_platform = self._has_platform or is_first

    def now_micros(self) -> int:
        """Return the time of the clock.

        Returns:
            Microseconds since 1970.
        """
        return self.clock() // 1000

    def require_field(self, aspect: str, path: str, label: str) -> None:
        """Raise an error if the DataHub version has no such field.

        Args:
            aspect: the name of the aspect.
            path: the path of the field.
            label: the name of what is written there, for the message.

        Raises:
            SettingsError: the version has no such field; the error names the first version that has.
        """
        if self.options.profile.has_field(aspect, path):
            return
        first_version = next(
            (version for version in known_profiles() if profile(version).has_field(aspect, path)), None
        )
        raise SettingsError(
            f"{label} requires DataHub {first_version}, but the proposals are for DataHub {self.options.profile.name}",
            location="datahub_version",
            remedy=f"set it to the version of your server if that is {first_version} or later, or do not use {label}",
        )

    def close(self) -> None:
        """Close the sink if it was opened here; with ``on_error="warn"`` buffered proposals are sent first."""
        with self._lock:
            if self._buffered_sender is not None:
                self._buffered_sender.send_last()
                _unsent_pipelines.discard(self)
            if self._target is not None and self._sink is not None:
                self._sink.close()

    def close_at_exit(self, deadline: float) -> None:
        """Close the pipeline when the process ends.

        Args:
            deadline: the end of the wait for the target, in seconds of the monotonic clock.
        """
        if self._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            try:
                self._deadline = deadline
                self.close()
            finally:
                self._lock.release()

    def reset_after_fork(self) -> None:
        """Reset the state in a forked process: a thread of the parent that was sending continues there only."""
        self._lock = RLock()


@atexit.register
def _at_exit() -> None:
    deadline = time.monotonic() + _EXIT_TIMEOUT_SECONDS
    for pipeline in list(_unsent_pipelines):
        pipeline.close_at_exit(deadline)


def _after_fork_in_child() -> None:
    _unsent_pipelines.clear()  # the parent sends it
    for pipeline in list(_pipelines):
        pipeline.reset_after_fork()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _has_own_platform(proposal: Proposal) -> bool:
    return proposal.aspect_name == "dataPlatformInstance" and proposal.value.get("platform") == PLATFORM.entity_urn
