"""A check, and how it ended each time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.datahub import urns
from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.errors import AspectError, EventError
from dh_bridge.json_safe import said_by
from dh_bridge.openlineage.parsing import parse
from dh_bridge.redaction import redacted, redacted_json, redaction
from dh_bridge.sdk.arguments import mapping, need_exception, need_texts
from dh_bridge.sdk.plain import plain
from dh_bridge.translation.assertions import (
    Check,
    assertion_platform,
    check_partition,
    ended_as,
    measured,
    run_event,
    severity_of,
    takes_severity,
    with_cause,
    without_values,
)
from dh_bridge.translation.assertions.bounds import number
from dh_bridge.translation.properties import bounded, kept_unmasked
from dh_bridge.translation.translate import Fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.sdk.pipeline import Pipeline
    from dh_bridge.sdk.references import Table
    from dh_bridge.sdk.run import Run
    from dh_bridge.translation.assertions import ErrorTable, Outcome

ENTITY = "assertion"
_BATCH = ("id", "query", "limit", "properties")


class Assertion:
    """A check on a dataset, made by :meth:`~dh_bridge.sdk.pipeline.Pipeline.assertion`, which tells what it checks.

    ``urn`` is the check's, ``entity`` that of what it checks, ``info`` the JSON of its assertionInfo. ``dropped`` has a
    line, as in the report of events, for each parameter and property that there was no room for, or that may be a value of
    a column with a telling name.
    """

    def __init__(  # noqa: PLR0913 - what a check is made of
        self,
        pipeline: Pipeline,
        urn: str,
        on: Table,
        check: Check,
        info: dict[str, Any],
        platform: str,
        instance: str | None,
        lost: Iterable[str] = (),
        secret: Iterable[str] = (),
    ) -> None:
        self.urn = urn
        self.entity = on.urn
        self.info = info
        self.dropped = [*_lines(urn, lost), *_lines(urn, secret, "secret")]
        self._pipeline = pipeline
        self._tables = pipeline.options.tables
        self._on = on
        self._check = check
        self._platform = platform
        self._companion = assertion_platform(platform, instance)

    def proposals(self) -> Iterator[Proposal]:
        """Yield what makes the dataset known, what is checked, and whose check it is."""
        if self._on.pair is not None:
            yield from self._dataset(*self._on.pair)
        yield upsert(ENTITY, self.urn, "assertionInfo", self.info)
        yield upsert(ENTITY, self.urn, "dataPlatformInstance", self._companion)

    def _dataset(self, namespace: str, name: str) -> list[Proposal]:
        event = {
            "eventTime": "1970-01-01T00:00:00Z",  # nothing of it is written
            "dataset": {"namespace": namespace, "name": name},
        }
        options = self._pipeline.options
        with redaction(options.settings.redaction):
            fold = Fold(options)
            fold.add(parse(json.dumps(event).encode(), self.urn))
            return fold.close()

    def report(  # noqa: PLR0913 - what may be said of a result
        self,
        success: bool | None = None,  # noqa: FBT001 - the word of the public interface
        *,
        actual: Any = None,
        run_id: str | Run | None = None,
        time: int | None = None,
        partition: Any = None,
        where: str | None = None,
        url: str | None = None,
        rows: int | None = None,
        missing: int | None = None,
        unexpected: int | None = None,
        severity: str | None = None,
        batch: str | Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        error: BaseException | str | tuple[str, str] | None = None,
        results: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Tell how the check ended: ``success``, or ``error`` when it could not be evaluated.

        ``actual``: what was measured; a number, else it is kept as text. ``run_id``: that of the run that checked, or a
        :class:`~dh_bridge.sdk.run.Run`. ``time``: milliseconds since 1970, now by default. ``partition``: what of the
        dataset was looked at, as JSON or text (``[{"country": "IN"}]``); ``where``: as a predicate; the whole table
        without either. ``rows``, ``missing`` and ``unexpected`` are counts. ``severity``: ``error``, ``warn`` or ``info``.
        ``batch``: its id, or ``id``, ``query``, ``limit`` and ``properties``. ``context``: parameters of the run;
        ``results``: anything else that was found. ``error``: message, exception, or (AssertionResultErrorType, message).

        A failure of low severity is a SUCCESS with the setting ``assertions.warn_as: success``. Return a line, as in the
        report of events, for each key of ``context``, ``results`` and the batch's properties that there was no room for, and
        for what may be a value of a column with a telling name. What numpy and pandas have is read as what it is.
        The same run, time and partition overwrite an earlier report. An AspectError when what is checked is no dataset:
        DataHub keeps results for datasets only.
        """
        self._refuse_all_but_datasets()
        need_texts(url=url, severity=severity)
        ended = _outcome(success, error)
        native = {key: value for key, value in plain(mapping("results", results)).items() if value is not None}
        parameters = plain(mapping("context", context))
        with redaction(self._pipeline.options.settings.redaction):
            result = self._ended(ended, severity, native)
            result |= _counts(rowCount=rows, missingCount=missing, unexpectedCount=unexpected)
            measured, secret = self._measured(plain(actual), native)
            result |= self._ending(measured, url, error)
            event = run_event(
                self.urn, self.entity, time=self._pipeline.micros() // 1000 if time is None else _millis(time),
                run_id=None if run_id is None else str(getattr(run_id, "run_id", run_id)),
                result=result, context=parameters, batch=_batch(batch), partition=self._partition(partition, where),
            )  # fmt: skip
            of_batch = plain(batch.get("properties") or {}) if isinstance(batch, Mapping) else {}
            lost = [
                *_left_out("results", native, result.get("nativeResults", {})),
                *_left_out("context", parameters, event.get("runtimeContext", {})),
                *_left_out("batch.properties", of_batch, event.get("batchSpec", {}).get("customProperties", {})),
            ]
        self._pipeline.send([upsert(ENTITY, self.urn, "assertionRunEvent", event)])
        return [*_lines(self.urn, lost), *_lines(self.urn, secret, "secret")]

    def _refuse_all_but_datasets(self) -> None:
        if urns.entity_type(self.entity) != "dataset":
            raise AspectError(
                f"{self.entity} is no dataset",
                where="assertionRunEvent asserteeUrn",
                now="results are of datasets only",
            )

    def _ended(self, ended: Outcome, word: str | None, found: dict[str, Any]) -> dict[str, Any]:
        """Return the result's type, and the typed severity of a failure.

        Else, and before 1.6, the severity's word is among the results.
        """
        if word is None:
            return {"type": ended}
        severity = severity_of(word, self._tables.assertions)
        if severity is None:
            raise EventError(f"no severity: {word!r}", where="severity", now="error, warn or info")
        ended = ended_as(ended, severity, self._pipeline.options.settings.assertions.warn_as)
        if ended == "FAILURE" and takes_severity(self._pipeline.options.profile):
            return {"type": ended, "severity": severity}
        found["severity"] = word
        return {"type": ended}

    def _measured(self, actual: Any, native: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return what was measured, a number in its field, and the leaves that may be values and are hidden.

        As it was said it stands among the ``native`` results, where its field does not have it so.
        """
        said = msgspec.structs.replace(self._check, actual=actual, params={**self._check.params, **native})
        shown, hidden = without_values(said, self._platform, self._tables.assertions)
        native.update((key, shown.params[key]) for key in list(native))
        found: dict[str, Any] = {}
        kind = self._pipeline.options.settings.assertions.type
        value = measured(said, self._platform, self._tables.assertions, kind)
        if value is not None:
            found["actualAggValue"] = value
        if actual is not None and (value is None or value != number(actual)):
            native["actual"] = str(actual) if isinstance(actual, float) else shown.actual
        if written := _texts(native):
            found["nativeResults"] = written
        told = {f"params.{key}": f"results.{key}" for key in native} | {"actual": "actual"}
        return found, [told[leaf] for leaf in hidden if leaf in told]

    def _ending(self, measured: dict[str, Any], url: str | None, error: Any) -> dict[str, Any]:
        """Return what was measured, the link, and the error of a check, whose message is a native result, too."""
        link = {} if url is None else {"externalUrl": redacted(url)}
        if error is None:
            return measured | link
        cause = _error(error, self._tables.assertion_errors)
        native = with_cause(measured.get("nativeResults", {}), cause)
        return {**measured, "nativeResults": native, **link, "error": cause}

    def _partition(self, partition: Any, where: str | None) -> dict[str, Any] | None:
        if partition is not None and where is not None:
            raise EventError("partition and where", where="report", now="DataHub takes one of them")
        if partition is not None:
            written = redacted(partition) if isinstance(partition, str) else json.dumps(redacted_json(plain(partition)))
            return {"partition": written, "type": "PARTITION"}
        return check_partition(Check("", params={"where": where}) if where is not None else self._check)


def _outcome(success: Any, error: Any) -> Outcome:
    """Return how a check ended; a text would be true whatever it says."""
    if (success is None) is (error is None):
        raise EventError("success or error, one of them", where="report", now="report(True), report(error=…)")
    if success is None:
        return "ERROR"
    if plain(success) not in (True, False):
        raise EventError(f"{success!r} is neither true nor false", where="success", now="report(True), report(False)")
    return "SUCCESS" if success else "FAILURE"


def _millis(time: Any) -> int:
    found = plain(time)
    if not isinstance(found, int) or isinstance(found, bool):
        raise EventError(f"{time!r} is no time", where="time", now="give whole milliseconds since 1970")
    return found


def _counts(**counts: int | None) -> dict[str, int]:
    found = {field: plain(count) for field, count in counts.items() if count is not None}
    for field, count in found.items():
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < 2**63:
            raise EventError(f"{count!r} is no count", where=field, now="give a whole number from 0")
    return found


def _error(error: BaseException | str | tuple[str, str], errors: ErrorTable) -> dict[str, Any]:
    if isinstance(error, tuple) and len(error) == 2:
        kind, message = error
        need_texts(error=message)
        return {**errors.error(message), "type": kind}
    if isinstance(error, str):
        return errors.error(error)
    need_exception(error)
    found = errors.error(f"{type(error).__name__}: {said_by(error)}")
    return {**found, "properties": {"exception": type(error).__name__, **found["properties"]}}


def _batch(batch: str | Mapping[str, Any] | None) -> dict[str, Any] | None:
    if batch is None:
        return None
    said: dict[str, Any] = {"id": batch} if isinstance(batch, str) else plain(mapping("batch", batch))
    if unknown := sorted(said.keys() - set(_BATCH)):
        raise EventError(f"unknown: {', '.join(unknown)}", where="batch", now=f"give {', '.join(_BATCH)}")
    found: dict[str, Any] = {"customProperties": _texts(mapping("batch.properties", said.get("properties")))}
    for key, field in (("id", "nativeBatchId"), ("query", "query")):
        if said.get(key) is not None:
            found[field] = kept_unmasked(field, said[key])
    if said.get("limit") is not None:
        found["limit"] = said["limit"]
    return found


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return bounded(_all_texts(values))


def _all_texts(values: Mapping[str, Any]) -> dict[str, str]:
    written = {key: kept_unmasked(key, value) for key, value in sorted(values.items())}
    return {key: value for key, value in written.items() if value is not None}


def _left_out(where: str, given: Mapping[str, Any], written: Mapping[str, str]) -> list[str]:
    return [f"{where}.{key}" for key in sorted(_all_texts(given).keys() - written)]


def _lines(urn: str, lost: Iterable[str], reason: str = "too-large") -> list[dict[str, Any]]:
    """Return lines as those of the report of events: what was dropped, for want of room by default."""
    return [
        {"event": urn, "path": f"$.{path}", "outcome": "dropped", "target": None, "reason": reason} for path in lost
    ]
