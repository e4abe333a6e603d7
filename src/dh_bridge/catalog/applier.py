"""Proposals applied in memory, as DataHub's server applies them: for the catalogue, and for Spark's table of current aspects.

Every aspect is read and laid out for patching at most once, however many proposals name it. Proposals fail one by one; a
proposal that fails changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.catalog.edges import COLUMN_LINEAGE_ASPECTS, COLUMN_LINEAGE_FIELD
from dh_bridge.catalog.patch_layout import PatchError
from dh_bridge.catalog.patching import AspectDraft
from dh_bridge.datahub import timeseries
from dh_bridge.sinks.base import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.datahub.proposal import Proposal

_encode = msgspec.json.encode
_decode = msgspec.json.decode

_ENCODING_ERRORS = (TypeError, ValueError, OverflowError, RecursionError)


class PendingAspect:
    """An aspect that was read or written: its bytes before and after, and the draft that is still open."""

    __slots__ = ("draft", "encoded_bytes", "is_upserted", "stored_bytes", "value")

    def __init__(self, stored_bytes: bytes | None) -> None:
        self.stored_bytes = stored_bytes
        self.encoded_bytes = stored_bytes
        self.value: dict[str, Any] | None = None
        self.draft: AspectDraft | None = None
        self.is_upserted = False

    def write(self, value: dict[str, Any], encoded_value: bytes) -> None:
        """Replace the aspect; an open draft is void."""
        self.value, self.encoded_bytes, self.draft, self.is_upserted = value, encoded_value, None, True

    @property
    def is_present(self) -> bool:
        """Whether the entity has the aspect, or gets it by an open draft."""
        return self.encoded_bytes is not None or self.draft is not None

    def open_draft(self, aspect: str) -> AspectDraft:
        """Return the draft of the present value, parsed on the first patch only."""
        if self.draft is None:
            self.draft = AspectDraft(aspect, None if self.encoded_bytes is None else _decode(self.encoded_bytes))
        return self.draft

    def render_draft(self) -> bool:
        """Render the draft; return whether there is anything to write."""
        if self.draft is not None and self.draft.is_changed:
            self.value = self.draft.value()
            self.encoded_bytes = _encode(self.value)
        return self.encoded_bytes != self.stored_bytes

    def may_change_columns(self, aspect: str) -> bool:
        """Return whether the column lineage of the aspect may have changed: only its patches affect it."""
        return aspect in COLUMN_LINEAGE_ASPECTS and (
            self.is_upserted or self.draft is None or COLUMN_LINEAGE_FIELD in self.draft.patched_fields
        )


def _nothing_stored(_urn: str, _aspect: str) -> bytes | None:
    return None


class ProposalApplier:
    """Applies proposals in order.

    Args:
        read_stored: returns the JSON of a stored aspect by URN and name, or None. By default nothing is stored.

    Attributes:
        aspects: (URN, aspect) -> the aspect, for each one that a proposal named.
        points: (URN, aspect, document id) -> time in milliseconds since 1970, and the JSON of the point.
        failures: the proposals that DataHub would reject, each with the reason.

    Example:
        >>> from dh_bridge.datahub.proposal import patch
        >>> applier = ProposalApplier()
        >>> tag = {"op": "add", "path": "/customProperties/team", "value": "core"}
        >>> applier.apply(patch("dataFlow", "urn:li:dataFlow:(a,b,c)", "dataFlowInfo", [tag]))
        >>> applier.failures[0].reason
        'urn:li:dataFlow:(a,b,c) dataFlowInfo: the patched aspect has no name, which is required'
    """

    def __init__(self, read_stored: Callable[[str, str], bytes | None] = _nothing_stored) -> None:
        self._read_stored = read_stored
        self.aspects: dict[tuple[str, str], PendingAspect] = {}
        self.points: dict[tuple[str, str, bytes], tuple[int, bytes]] = {}
        self.failures: list[Failure] = []

    def apply(self, proposal: Proposal) -> None:
        """Apply one proposal; a proposal that DataHub would reject becomes a Failure."""
        try:
            self._apply(proposal)
        except (PatchError, timeseries.InvalidPointError) as error:
            self._add_failure(proposal, str(error))
        except _ENCODING_ERRORS as error:
            self._add_failure(proposal, f"cannot encode the proposal as JSON: {error}")

    def _apply(self, proposal: Proposal) -> None:
        urn, aspect, value = proposal.entity_urn, proposal.aspect_name, proposal.value
        if not urn.startswith(f"urn:li:{proposal.entity_type}:"):
            raise PatchError(f"the URN is not a URN of {proposal.entity_type}")
        encoded_value = _encode(value)  # of a PATCH too: what cannot be written must fail here, alone
        if proposal.change_type == "PATCH":
            self._patch(urn, aspect, value)
        elif proposal.change_type == "UPSERT":
            self._upsert(urn, aspect, value, encoded_value)
        elif proposal.change_type == "CREATE":
            if not self._pending_aspect(urn, aspect).is_present:
                self._upsert(urn, aspect, value, encoded_value)
        else:
            raise PatchError(f"unknown change type {proposal.change_type}: expected UPSERT, CREATE or PATCH")

    def _add_failure(self, proposal: Proposal, reason: str) -> None:
        self.failures.append(Failure(proposal, f"{proposal.entity_urn} {proposal.aspect_name}: {reason}"))

    def _upsert(self, urn: str, aspect: str, value: Any, encoded_value: bytes) -> None:
        if not isinstance(value, dict):
            raise PatchError(f"expected an object as the aspect, got {type(value).__name__}")
        if timeseries.is_timeseries(aspect):
            document = timeseries.document_id(urn, value)
            self.points[urn, aspect, document] = value["timestampMillis"], encoded_value
        else:
            self._pending_aspect(urn, aspect).write(value, encoded_value)

    def _patch(self, urn: str, aspect: str, operations: Any) -> None:
        if timeseries.is_timeseries(aspect):
            raise PatchError("a timeseries aspect does not support PATCH")
        self._pending_aspect(urn, aspect).open_draft(aspect).apply(operations)

    def _pending_aspect(self, urn: str, aspect: str) -> PendingAspect:
        key = urn, aspect
        pending = self.aspects.get(key)
        if pending is None:
            pending = self.aspects[key] = PendingAspect(self._read_stored(urn, aspect))
        return pending
