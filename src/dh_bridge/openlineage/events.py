"""The envelope of an OpenLineage event, typed; its facets are raw JSON until a facet module reads them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Facets = dict[str, msgspec.Raw]
Kind = Literal["run", "job", "dataset"]

#: Of two events of one microsecond, the later type wins.
EVENT_TYPE_RANKS = {"START": 1, "RUNNING": 2, "COMPLETE": 3, "ABORT": 4, "FAIL": 5}
TERMINAL_TYPES = frozenset(("COMPLETE", "ABORT", "FAIL"))


class Dataset(msgspec.Struct, rename={"input_facets": "inputFacets", "output_facets": "outputFacets"}):
    """A dataset of an event, with its groups of facets (empty dicts if the event has none)."""

    namespace: str = ""
    name: str = ""
    facets: Facets = {}
    input_facets: Facets = {}
    output_facets: Facets = {}


class Event(msgspec.Struct):
    """A RunEvent, JobEvent or DatasetEvent; ``kind`` is its type.

    ``time`` is in microseconds since 1970 UTC; ``type`` is upper case or None; ``raw`` are the received bytes;
    ``location`` is the source (``events.ndjson:3``); ``notes`` are warnings of the parser
    (``zone-less``, ``malformed:$.inputs[0].facets`` …).
    """

    kind: Kind
    time: int
    location: str
    raw: bytes
    type: str | None = None
    producer: str | None = None
    schema_url: str | None = None
    run_id: str = ""
    namespace: str = ""
    name: str = ""
    run_facets: Facets = {}
    job_facets: Facets = {}
    inputs: list[Dataset] = []
    outputs: list[Dataset] = []
    dataset: Dataset | None = None
    notes: tuple[str, ...] = ()
    #: the offset from UTC that the time states, in minutes; None: it states none
    offset_minutes: int | None = 0
    #: whether the event holds no secret (any more): see `masking`
    is_clean: bool = False

    @property
    def is_terminal(self) -> bool:
        """Whether the event ends its run."""
        return self.type in TERMINAL_TYPES


def located_reason(location: str, reason: str) -> str:
    """Return ``location: reason``; a reason that begins with the location is returned unchanged, because it may be more precise."""
    return reason if reason.startswith((f"{location}: ", f"{location} $")) else f"{location}: {reason}"


class DeadLetter(msgspec.Struct, frozen=True):
    """An event that cannot be used: its location, the reason, and its bytes."""

    location: str
    reason: str
    raw: bytes

    @property
    def text(self) -> str:
        """Where and why, in a line."""
        return located_reason(self.location, self.reason)

    @property
    def cause(self) -> str:
        """The reason without the location."""
        return self.reason.removeprefix(self.location).lstrip(": ")

    def row(self) -> dict[str, Any]:
        """Return the letter as a JSON row (``event`` as text, undecodable bytes escaped)."""
        return {"place": self.location, "reason": self.reason, "event": self.raw.decode("utf-8", "backslashreplace")}
