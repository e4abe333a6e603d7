"""A run, told as it goes."""

from __future__ import annotations

import uuid
import warnings
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub import urns
from dh_bridge.errors import EventError
from dh_bridge.sdk.arguments import need_texts
from dh_bridge.sdk.references import job_pair, run_urn, table
from dh_bridge.sdk.telling import KINDS, Moment, Told, error_facet, proposals

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from dh_bridge.sdk.pipeline import Pipeline
    from dh_bridge.sdk.references import DatasetRef

TEMPLATES = ("dataJob", "dataFlow", "dataset")


class Run:
    """A run of a job, made by :meth:`~dh_bridge.sdk.pipeline.Pipeline.run`; use it in a ``with`` statement.

    At its start and at its end the run, its job and flow, its inputs and outputs are told. An exception makes it a
    FAILURE with message and stack trace, and goes on (``sys.exit(0)`` is a SUCCESS). ``urn`` is the run's, ``run_id`` its id, ``namespace`` and ``name``
    its job's, ``job`` what that is in DataHub; ``filtered`` says that the settings' filters leave the job out: then nothing is told.
    """

    def __init__(self, pipeline: Pipeline, told: Told, attempt: int) -> None:
        self._pipeline = pipeline
        self._told = told
        self.namespace, self.name = told.namespace, told.name
        self.run_id, self.urn, self.job = told.run_id, told.urn, told.job
        self.attempt = number_of_try(attempt)
        self.filtered = False
        self._moments: list[Moment] = []
        self._ended = False
        self._outcome: str | None = None
        self._error: dict[str, str] | None = None

    def reads(self, *datasets: DatasetRef) -> None:
        """Add inputs; of a run that has begun they are told at its end, and it takes none after that."""
        self._refuse_after_its_end()
        for ref in datasets:
            found = table(ref, self._pipeline.options)
            self._told.inputs[found.urn] = found

    def writes(self, *datasets: DatasetRef) -> None:
        """Add outputs; of a run that has begun they are told at its end, and it takes none after that."""
        self._refuse_after_its_end()
        for ref in datasets:
            found = table(ref, self._pipeline.options)
            self._told.outputs[found.urn] = found

    def skip(self) -> None:
        """Let the run end as SKIPPED: there was nothing to do."""
        self._refuse_after_its_end()
        self._outcome = "SKIPPED"

    def retry(self, attempt: int | None = None, error: BaseException | str | None = None) -> None:
        """Say that this try failed and that there will be another one: UP_FOR_RETRY, ``error`` says why.

        With ``attempt`` it is told at once, and the try of that number begins here. Without, the run ends so, also when
        an exception ends it, and whoever tries again says which ``attempt`` that is.
        """
        self._refuse_after_its_end()
        if attempt is None:
            self._outcome, self._error = "UP_FOR_RETRY", _told(error)
            return
        following = number_of_try(attempt)
        if not self._moments:
            raise EventError("the run has not begun", where=self.urn, now="retry inside of its with statement")
        if following <= self.attempt:
            raise EventError(f"try {following} is not after try {self.attempt}", where="attempt", now="count upwards")
        self._end("UP_FOR_RETRY", _told(error))
        self.attempt = following
        self._begin()

    def __enter__(self) -> Self:
        if self._moments:
            raise EventError("the run has begun already", where=self.urn, now="make one for each with statement")
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._refuse_after_its_end()
        if not self._moments:
            raise EventError("the run has not begun", where=self.urn, now="use it in a with statement")
        if error is None or (isinstance(error, SystemExit) and not error.code):  # sys.exit(0) is an end like any other
            self._end(self._outcome or "SUCCESS", self._error)
            self._ended = True
            return
        retried = self._outcome == "UP_FOR_RETRY"
        try:
            said = self._error if retried else None
            said = said if said and said["message"] else error_facet(error)
            self._end("UP_FOR_RETRY" if retried else "FAILURE", said)
            self._ended = True
        except Exception as lost:  # noqa: BLE001 - whatever it is, the caller's own exception goes on
            # that it could not be told must not be lost either
            warnings.warn(f"the end of {self.urn} was not told: {lost}", RuntimeWarning, stacklevel=2)

    def _refuse_after_its_end(self) -> None:
        if self._ended:
            raise EventError("the run has ended", where=self.urn, now="tell all of it inside of its with statement")

    def _begin(self) -> None:
        self._add(Moment(self._now(), self.attempt))

    def _end(self, result: str, error: dict[str, str] | None) -> None:
        time = self._now()
        start = next(one.time for one in reversed(self._moments) if one.result is None)
        self._add(Moment(time, self.attempt, result, time - start, error))

    def _now(self) -> int:
        """Return the time in microseconds, always after the moment before: equal ones would have no order."""
        time = self._pipeline.micros()
        return max(time, self._moments[-1].time + 1) if self._moments else time

    def _add(self, moment: Moment) -> None:
        """Tell a moment; one that could not be told has not been: whoever tries again begins where this began."""
        self._moments.append(moment)
        try:
            self._tell()
        except BaseException:
            self._moments.pop()
            raise

    def _tell(self) -> None:
        found = proposals(self._told, self._moments, self._pipeline.options)
        self.filtered = found is None
        self._pipeline.send(found or ())


def _told(error: BaseException | str | None) -> dict[str, str] | None:
    return None if error is None else error_facet(error)


def told_run(pipeline: Pipeline, job: tuple[str, str], producer: str, run_id: str | None, **said: Any) -> Told:
    """Return what is known of a run before it begins; an EventError for what cannot be used."""
    namespace, name = job_pair(job)
    need_texts(producer=producer, name=said["label"], kind=said["kind"], url=said["url"], template=said["template"])
    own = str(uuid.uuid4()) if run_id is None else str(run_id)
    if not own.strip():
        raise EventError("a run id says nothing", where="run_id", now="leave it out for a new one")
    options = pipeline.options
    told = Told(
        namespace, name, own,
        options.identity.run_urn(namespace, name, own), options.identity.job(namespace, name, producer), producer, **said,
    )  # fmt: skip
    if told.kind is not None and told.kind not in KINDS:
        raise EventError(f"no kind of run: {told.kind!r}", where="kind", now=f"one of {', '.join(KINDS)}")
    if told.url is not None and not told.url.startswith(("http://", "https://")):
        raise EventError(f"{told.url!r} is no web address", where="url", now="http://… or https://…")
    if told.template is not None and urns.type_if_urn(told.template) not in TEMPLATES:
        raise EventError(f"{told.template!r} is no template", where="template", now=f"a URN of {', '.join(TEMPLATES)}")
    for ref in (*told.upstream, *(() if told.parent is None else (told.parent,))):
        run_urn(ref, options)
    return told


def number_of_try(number: int) -> int:
    """Return ``number`` if it is one of a try: from 1 to what 32 bits hold; else an EventError."""
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number < 2**31:
        raise EventError(f"{number!r} is no number of a try", where="attempt", now="count from 1")
    return number
