"""A check, and how it ended each time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub import urns
from dh_bridge.datahub.proposal import Proposal, upsert
from dh_bridge.errors import AspectError, EventError
from dh_bridge.openlineage.parsing import parse
from dh_bridge.translation.assertions import (
    Check,
    assertion_platform,
    check_partition,
    default_table,
    ended_as,
    result_error,
    run_event,
    severity_of,
)
from dh_bridge.translation.assertions.bounds import number
from dh_bridge.translation.properties import bounded, kept
from dh_bridge.translation.redaction import redacted, redacted_json, redaction
from dh_bridge.translation.translate import Fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.sdk.pipeline import Pipeline
    from dh_bridge.sdk.references import Table
    from dh_bridge.sdk.run import Run
    from dh_bridge.translation.assertions import Outcome

ENTITY = "assertion"
_BATCH = ("id", "query", "limit", "properties")
_MOST_FLOAT = 3.4028234e38  # the field is a 32-bit float


class Assertion:
    """A check on a dataset, made by :meth:`~dh_bridge.sdk.pipeline.Pipeline.assertion`, which tells what it checks.

    ``urn`` is the check's, ``entity`` that of what it checks, ``info`` the JSON of its assertionInfo. ``withheld`` has a
    line, as in the report of events, for each parameter and property that there was no room for.
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
    ) -> None:
        self.urn = urn
        self.entity = on.urn
        self.info = info
        self.withheld = _lines(urn, lost)
        self._pipeline = pipeline
        self._on = on
        self._check = check
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
        report of events, for each key of ``context``, ``results`` and the batch's properties that there was no room for.
        The same run, time and partition overwrite an earlier report. An AspectError when what is checked is no dataset:
        DataHub keeps results for datasets only.
        """
        self._refuse_all_but_datasets()
        if (success is None) is (error is None):
            raise EventError("success or error, one of them", where="report", now="report(True), report(error=…)")
        native = {key: value for key, value in (results or {}).items() if value is not None}
        ended: Outcome = "ERROR" if success is None else "SUCCESS" if success else "FAILURE"
        with redaction(self._pipeline.options.settings.redaction):
            result = self._ended(ended, severity, native)
            result |= _counts(rowCount=rows, missingCount=missing, unexpectedCount=unexpected)
            result |= _measured(actual, native)
            if url is not None:
                result["externalUrl"] = redacted(url)
            if error is not None:
                result["error"] = _error(error)
            event = run_event(
                self.urn, self.entity, time=self._pipeline.micros() // 1000 if time is None else time,
                run_id=run_id if run_id is None or isinstance(run_id, str) else run_id.run_id,
                result=result, context=context, batch=_batch(batch), partition=self._partition(partition, where),
            )  # fmt: skip
            told: list[tuple[str, Mapping[str, Any], Mapping[str, str]]] = [
                ("results", native, result.get("nativeResults", {})),
                ("context", context or {}, event.get("runtimeContext", {})),
            ]
            if isinstance(batch, Mapping):
                told.append(("batch.properties", batch.get("properties") or {}, event["batchSpec"]["customProperties"]))
            lost = [f"{where}.{key}" for where, given, left in told for key in sorted(_all_texts(given).keys() - left)]
        self._pipeline.send([upsert(ENTITY, self.urn, "assertionRunEvent", event)])
        return _lines(self.urn, lost)

    def _refuse_all_but_datasets(self) -> None:
        if urns.entity_type(self.entity) != "dataset":
            raise AspectError(
                f"{self.entity} is no dataset",
                where="assertionRunEvent asserteeUrn",
                now="results are of datasets only",
            )

    def _ended(self, ended: Outcome, word: str | None, found: dict[str, Any]) -> dict[str, Any]:
        """Return the result's type, and the typed severity of a failure.

        Else, and before 1.5, the severity's word is among the results (facets.md 0.3).
        """
        if word is None:
            return {"type": ended}
        severity = severity_of(word, default_table())
        if severity is None:
            raise EventError(f"no severity: {word!r}", where="severity", now="error, warn or info")
        ended = ended_as(ended, severity, self._pipeline.options.settings.assertions.warn_as)
        if ended == "FAILURE" and self._pipeline.options.profile.has_field("assertionRunEvent", "result.severity"):
            return {"type": ended, "severity": severity}
        found["severity"] = word
        return {"type": ended}

    def _partition(self, partition: Any, where: str | None) -> dict[str, Any] | None:
        if partition is not None and where is not None:
            raise EventError("partition and where", where="report", now="DataHub takes one of them")
        if partition is not None:
            written = redacted(partition) if isinstance(partition, str) else json.dumps(redacted_json(partition))
            return {"partition": written, "type": "PARTITION"}
        return check_partition(Check("", params={"where": where}) if where is not None else self._check)


def _counts(**counts: int | None) -> dict[str, int]:
    found = {field: count for field, count in counts.items() if count is not None}
    for field, count in found.items():
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < 2**63:
            raise EventError(f"{count!r} is no count", where=field, now="give a whole number from 0")
    return found


def _measured(actual: Any, native: dict[str, Any]) -> dict[str, Any]:
    """Return what was measured: a number in its field, anything else among the native results."""
    found: dict[str, Any] = {}
    value = number(actual)
    if value is not None and abs(value) <= _MOST_FLOAT:
        found["actualAggValue"] = value
    elif actual is not None:
        native["actual"] = actual
    if written := _texts(native):
        found["nativeResults"] = written
    return found


def _error(error: BaseException | str | tuple[str, str]) -> dict[str, Any]:
    if isinstance(error, tuple):
        kind, message = error
        return {**result_error(message), "type": kind}
    if isinstance(error, str):
        return result_error(error)
    found = result_error(f"{type(error).__name__}: {error}")
    return {**found, "properties": {"exception": type(error).__name__, **found["properties"]}}


def _batch(batch: str | Mapping[str, Any] | None) -> dict[str, Any] | None:
    if batch is None:
        return None
    said: dict[str, Any] = {"id": batch} if isinstance(batch, str) else dict(batch)
    if unknown := sorted(said.keys() - set(_BATCH)):
        raise EventError(f"unknown: {', '.join(unknown)}", where="batch", now=f"give {', '.join(_BATCH)}")
    found: dict[str, Any] = {"customProperties": _texts(said.get("properties") or {})}
    for key, field in (("id", "nativeBatchId"), ("query", "query")):
        if said.get(key) is not None:
            found[field] = kept(field, said[key])
    if said.get("limit") is not None:
        found["limit"] = said["limit"]
    return found


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return bounded(_all_texts(values))


def _all_texts(values: Mapping[str, Any]) -> dict[str, str]:
    written = {key: kept(key, value) for key, value in sorted(values.items())}
    return {key: value for key, value in written.items() if value is not None}


def _lines(urn: str, lost: Iterable[str]) -> list[dict[str, Any]]:
    """Return lines as those of the report of events: what there was no room for (facets.md 0.4, 0.8)."""
    return [
        {"event": urn, "path": f"$.{path}", "verdict": "withheld", "target": None, "reason": "too-large"}
        for path in lost
    ]
