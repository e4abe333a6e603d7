"""Which events of a log an operator means: those of a run, a job or a dataset, or those that contain a text."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from dh_bridge.event_log import LoggedEvent  # noqa: TC001 - a type of the public signature


class EventSelection(NamedTuple):
    """Events of a log; at least one field is set, and an event matches if one of them does.

    ``run``: the id of a run. ``job`` and ``dataset``: namespace and name, as the events have them. ``text``: a text in any key or
    value of the event, in its location or in the id of its run. Upper and lower case are different.
    """

    run: str = ""
    job: tuple[str, str] | None = None
    dataset: tuple[str, str] | None = None
    text: str = ""

    def matches(self, logged: LoggedEvent) -> bool:
        """Return whether an event is selected."""
        if self.text and self._has_text(logged):
            return True
        if self.run and logged.run_key.lower() == self.run.lower():
            return True
        if self.job is None and self.dataset is None and not self.run:
            return False
        event = _decode(logged.event)
        return (
            (bool(self.run) and str(_member(event, "run").get("runId", "")).lower() == self.run.lower())
            or (self.job is not None and _name_of(_member(event, "job")) == self.job)
            or (self.dataset is not None and self.dataset in map(_name_of, _datasets(event)))
        )

    def _has_text(self, logged: LoggedEvent) -> bool:
        if self.text in logged.location or self.text in logged.run_key or self.text.encode() in logged.event:
            return True
        if b"\\" not in logged.event:
            return False
        # escapes of JSON: both are written in the same form
        return orjson.dumps(self.text)[1:-1] in orjson.dumps(_decode(logged.event))


def _decode(event: bytes) -> dict[str, Any]:
    try:
        content = orjson.loads(event)
    except orjson.JSONDecodeError:
        return {}
    return content if isinstance(content, dict) else {}


def _member(event: dict[str, Any], name: str) -> dict[str, Any]:
    content = event.get(name)
    return content if isinstance(content, dict) else {}


def _name_of(entity: Any) -> tuple[str, str]:
    return (str(entity.get("namespace")), str(entity.get("name"))) if isinstance(entity, dict) else ("", "")


def _datasets(event: dict[str, Any]) -> list[Any]:
    lists = [event.get(name) for name in ("inputs", "outputs")]
    return [
        _member(event, "dataset"),
        *(dataset for datasets in lists if isinstance(datasets, list) for dataset in datasets),
    ]
