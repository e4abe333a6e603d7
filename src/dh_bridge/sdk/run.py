"""A run that is recorded while it is active."""

from __future__ import annotations

import uuid
import warnings
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub import urns
from dh_bridge.errors import EventError
from dh_bridge.sdk.arguments import require_texts
from dh_bridge.sdk.references import job_pair, run_urn
from dh_bridge.sdk.run_dataset import merge_facets, resolve_run_dataset
from dh_bridge.sdk.run_proposals import KINDS, RunDescription, RunMoment, build_proposals, error_facet

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from typing_extensions import Self

    from dh_bridge.sdk.recorder import Recorder
    from dh_bridge.sdk.references import DatasetRef, ResolvedDataset
    from dh_bridge.sdk.run_dataset import Direction, RunDataset

TEMPLATE_TYPES = ("dataJob", "dataFlow", "dataset")


class Run:
    """A run of a job. :meth:`~dh_bridge.sdk.pipeline.Pipeline.run` makes it; use it in a ``with`` statement.

    The run, its job and flow, its inputs and outputs are written when it starts and when it ends. An exception makes the run
    a FAILURE with message and stack trace, and is raised again; ``sys.exit(0)`` is a SUCCESS.

    Attributes:
        urn: the URN of the run.
        run_id: the id of the run.
        namespace: the namespace of the job.
        name: the name of the job.
        job: the job in DataHub, with its URNs.
        attempt: the number of the try, from 1.
        filtered: whether the filters of the settings leave the job out; then nothing is written.

    Example:
        >>> from dh_bridge.sdk import Pipeline
        >>> with Pipeline(sink="catalog::memory:") as pipeline:
        ...     with pipeline.run(("nightly", "shop.load"), run_id="0f6e2a3c-58f1-4f3a-9c0d-3f1f5d1d2a10") as run:
        ...         run.writes(("postgres://db:5432", "shop.public.orders"))
        >>> run.job.job_urn
        'urn:li:dataJob:(urn:li:dataFlow:(openlineage,shop,nightly),shop.load)'
    """

    def __init__(self, recorder: Recorder, description: RunDescription, attempt: int) -> None:
        self._recorder = recorder
        self._description = description
        self.namespace, self.name = description.namespace, description.name
        self.run_id, self.urn, self.job = description.run_id, description.urn, description.job
        self.attempt = require_attempt(attempt)
        self.filtered = False
        self._moments: list[RunMoment] = []
        self._is_ended = False
        self._outcome: str | None = None
        self._error: dict[str, str] | None = None

    def reads(self, *datasets: DatasetRef | RunDataset) -> None:
        """Add inputs. If the run has started, they are written when it ends.

        Args:
            *datasets: datasets by URN, ``"namespace/name"`` or (namespace, name); with details as ``RunDataset``.

        Raises:
            EventError: a dataset cannot be used, or the run has ended.
        """
        self._add_datasets("input", self._description.inputs, datasets)

    def writes(self, *datasets: DatasetRef | RunDataset) -> None:
        """Add outputs. If the run has started, they are written when it ends.

        Args:
            *datasets: datasets by URN, ``"namespace/name"`` or (namespace, name); with details as ``RunDataset``.

        Raises:
            EventError: a dataset cannot be used, or the run has ended.
        """
        self._add_datasets("output", self._description.outputs, datasets)

    def _add_datasets(
        self, direction: Direction, datasets: dict[str, ResolvedDataset], refs: Iterable[DatasetRef | RunDataset]
    ) -> None:
        """Add inputs or outputs; details of a dataset that is named again are added to those before."""
        self._require_not_ended()
        for ref in refs:
            dataset, facets = resolve_run_dataset(ref, direction, self._recorder.options)
            previous = datasets.get(dataset.urn)
            if previous is None or previous.pair is None:
                datasets[dataset.urn] = dataset
            if facets:
                details = self._description.dataset_facets
                details[direction, dataset.urn] = merge_facets(details.get((direction, dataset.urn), {}), facets)

    def skip(self) -> None:
        """End the run as SKIPPED: there was nothing to do.

        Raises:
            EventError: the run has ended.
        """
        self._require_not_ended()
        self._outcome = "SKIPPED"

    def retry(self, attempt: int | None = None, error: BaseException | str | None = None) -> None:
        """Record that this try failed and that another one follows (UP_FOR_RETRY).

        Args:
            attempt: the number of the next try, which starts now. Without a number the run ends as UP_FOR_RETRY, also if an
                exception ends it; the next try is another run with its own ``attempt``.
            error: the reason, as an exception or a text.

        Raises:
            EventError: the run has not started or has ended, or ``attempt`` is not after this try.
        """
        self._require_not_ended()
        if attempt is None:
            self._outcome, self._error = "UP_FOR_RETRY", _optional_error_facet(error)
            return
        next_attempt = require_attempt(attempt)
        if not self._moments:
            raise EventError(
                "the run has not started", location=self.urn, remedy="call retry inside its with statement"
            )
        if next_attempt <= self.attempt:
            raise EventError(
                f"attempt {next_attempt} is not after attempt {self.attempt}",
                location="attempt",
                remedy="use a higher number",
            )
        self._end("UP_FOR_RETRY", _optional_error_facet(error))
        self.attempt = next_attempt
        self._begin()

    def __enter__(self) -> Self:
        if self._moments:
            raise EventError(
                "the run has already started", location=self.urn, remedy="create a new run for each with statement"
            )
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._require_not_ended()
        if not self._moments:
            raise EventError("the run has not started", location=self.urn, remedy="use it in a with statement")
        if error is None or (isinstance(error, SystemExit) and not error.code):  # sys.exit(0) is a normal end
            self._end(self._outcome or "SUCCESS", self._error)
            self._is_ended = True
            return
        is_retried = self._outcome == "UP_FOR_RETRY"
        try:
            facet = self._error if is_retried else None
            facet = facet if facet and facet["message"] else error_facet(error)
            self._end("UP_FOR_RETRY" if is_retried else "FAILURE", facet)
            self._is_ended = True
        except Exception as send_error:  # noqa: BLE001 - whatever it is, the caller's own exception goes on
            # report a failed delivery, too
            warnings.warn(f"the end of {self.urn} was not sent: {send_error}", RuntimeWarning, stacklevel=2)

    def _require_not_ended(self) -> None:
        if self._is_ended:
            raise EventError(
                "the run has ended", location=self.urn, remedy="report everything inside its with statement"
            )

    def _begin(self) -> None:
        self._add(RunMoment(self._now(), self.attempt))

    def _end(self, result: str, error: dict[str, str] | None) -> None:
        time = self._now()
        start = next(moment.time for moment in reversed(self._moments) if moment.result is None)
        self._add(RunMoment(time, self.attempt, result, time - start, error))

    def _now(self) -> int:
        """Return the time in microseconds, always after the last moment: equal times would have no order."""
        time = self._recorder.now_micros()
        return max(time, self._moments[-1].time + 1) if self._moments else time

    def _add(self, moment: RunMoment) -> None:
        """Write a moment; if that fails, the moment is dropped, so that a retry starts from the same state."""
        self._moments.append(moment)
        try:
            self._send()
        except BaseException:
            self._moments.pop()
            raise

    def _send(self) -> None:
        batch = build_proposals(self._description, self._moments, self._recorder.options)
        self.filtered = batch is None
        self._recorder.send(batch or ())


def _optional_error_facet(error: BaseException | str | None) -> dict[str, str] | None:
    return None if error is None else error_facet(error)


def describe_run(
    recorder: Recorder, job: tuple[str, str], producer: str, run_id: str | None, **details: Any
) -> RunDescription:
    """Return the attributes of a run before it starts; an EventError for invalid arguments."""
    namespace, name = job_pair(job)
    require_texts(
        producer=producer, name=details["label"], kind=details["kind"], url=details["url"], template=details["template"]
    )
    resolved_id = str(uuid.uuid4()) if run_id is None else str(run_id)
    if not resolved_id.strip():
        raise EventError("the run id is empty", location="run_id", remedy="omit it to get a new one")
    options = recorder.options
    description = RunDescription(
        namespace, name, resolved_id,
        options.identity.run_urn(namespace, name, resolved_id), options.identity.job(namespace, name, producer), producer, **details,
    )  # fmt: skip
    if description.kind is not None and description.kind not in KINDS:
        raise EventError(
            f"unknown kind of run {description.kind!r}", location="kind", remedy=f"use one of {', '.join(KINDS)}"
        )
    if description.url is not None and not description.url.startswith(("http://", "https://")):
        raise EventError(
            f"{description.url!r} is not a web address", location="url", remedy="use http://… or https://…"
        )
    if description.template is not None and urns.type_if_urn(description.template) not in TEMPLATE_TYPES:
        raise EventError(
            f"{description.template!r} is not a template",
            location="template",
            remedy=f"use a URN of {' or '.join(TEMPLATE_TYPES)}",
        )
    for ref in (*description.upstream, *(() if description.parent is None else (description.parent,))):
        run_urn(ref, options)
    return description


def require_attempt(number: int) -> int:
    """Return ``number`` if it is a valid attempt: from 1 to what 32 bits can store; else raise an EventError."""
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number < 2**31:
        raise EventError(
            f"expected the number of an attempt, got {number!r}", location="attempt", remedy="count from 1"
        )
    return number
