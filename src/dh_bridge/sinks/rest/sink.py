"""The REST sink: batches to GMS, in order; a rejected batch is halved until the rejected proposal is alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.generic_aspect import PatchForms
from dh_bridge.datahub.urn_limits import unreadable_urn
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.sinks.base import SINK_KINDS, Closable, Delivery, Failure
from dh_bridge.sinks.rest.batches import (
    BATCH_PATH,
    PROPOSALS_PER_REQUEST,
    SINGLE_PATH,
    EncodedProposal,
    batch_body,
    encode_proposal,
    single_body,
    split_requests,
)
from dh_bridge.sinks.rest.connection import GmsConnection
from dh_bridge.sinks.rest.options import TARGET_OPTION, RestOptions
from dh_bridge.sinks.rest.reading import AspectReader
from dh_bridge.sinks.rest.responses import BatchesUnsupportedError, lacks_batches
from dh_bridge.sinks.rest.server import ServerInfo, parse_config
from dh_bridge.sinks.rest.stale_writes import is_stale_write_error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.base import SinkOptions, StoredAspect
    from dh_bridge.sinks.rest.responses import GmsResponse, Refusal

_MAX_REJECTIONS = 32
"""Proposals that may be rejected for reasons outside of them, while nothing is accepted, before a request is given up."""

_REQUESTS_PER_CHUNK = 5
"""Requests whose proposals are encoded at a time: a window may bring 100,000 proposals."""


class RestSink(Closable):
    """Delivers to the server at ``location``.

    A proposal that the server rejects is a permanent Failure with the server's message. A SinkError ends a batch: nothing of it
    counts as delivered, although some may have been written; writing it again changes nothing.
    """

    name = "rest"
    kind = SINK_KINDS[name]

    def __init__(self, connection: GmsConnection, rest: RestOptions, options: SinkOptions) -> None:
        self.location = connection.location
        self._connection = connection
        self._reader = AspectReader(connection)
        self._rest = rest
        self._options = options
        self._server: ServerInfo | None = None
        #: the form of patches that the server accepts; set when its version is known
        self.patch_forms: PatchForms | None = None
        self._sends_single = False
        self._is_closed = False

    def server(self) -> ServerInfo:
        """Return the server, asked once; a SinkError if it is no metadata service, or rejects the login."""
        if self._server is None:
            response = self._connection.send("GET", "/config")
            if response.status in (401, 403, 407) or 300 <= response.status < 400 or response.is_retryable:
                raise response.to_error(self.location)
            self._server = parse_config(response, self.location)
            version, stored_forms = self._server.version or self._options.datahub_version, self._options.patch_forms
            self.patch_forms = (
                stored_forms
                if stored_forms is not None and stored_forms.version == version
                else PatchForms(version, {})
            )
        return self._server

    def version(self) -> str | None:
        """Return the version of DataHub that defines the server's aspects; None if the server does not report it."""
        return self.server().version

    def read(self, aspects_by_urn: Mapping[str, Collection[str]]) -> dict[str, dict[str, StoredAspect]]:
        """Return the present aspects; in ``aspects_by_urn``, no names stand for all aspects."""
        return self._reader.read(aspects_by_urn)

    @property
    def forbidden_urns(self) -> Collection[str]:
        """The entities that :meth:`read` was asked for and that the token's user may not read."""
        return self._reader.forbidden_urns

    def set_deadline(self, deadline: float) -> None:
        """Send nothing, and wait for no response, after ``deadline`` (seconds of the monotonic clock).

        If emit or read cannot finish by then, it raises a retryable SinkError.
        """
        self._connection.send_deadline = deadline

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Deliver proposals, as many requests as it takes."""
        if self._is_closed:
            raise SinkError("the sink is closed", location=self.location)
        if not proposals:
            return Delivery(0, [])
        # the first time: the form of patches, and whether this is GMS at all
        version = self.server().version or self._options.datahub_version
        accepted_count = len(proposals)
        proposals = self._drop_existing_creates(proposals)
        failures: list[Failure] = []
        written_count = 0
        chunk_size = _REQUESTS_PER_CHUNK * PROPOSALS_PER_REQUEST
        for start in range(0, len(proposals), chunk_size):
            metadata = self._options.system_metadata()
            results = [
                _unreadable_failure(proposal, version) or self._encode_proposal(proposal, metadata)
                for proposal in proposals[start : start + chunk_size]
            ]
            failures += [result for result in results if isinstance(result, Failure)]
            for request in split_requests(
                [result for result in results if isinstance(result, EncodedProposal)], self._rest
            ):
                try:
                    failures += self._deliver_request(request)
                except SinkError as error:
                    if written_count:
                        error.problem += f"; {written_count:,} of {len(proposals):,} proposals were written before"
                    raise
                written_count += len(request)
        return Delivery(accepted_count - len(failures), failures)

    def _drop_existing_creates(self, proposals: Sequence[Proposal]) -> Sequence[Proposal]:
        """Return the proposals without each CREATE of an aspect that the server has.

        The server would reject the whole batch for it.
        """
        aspects_to_create: dict[str, set[str]] = {}
        for proposal in proposals:
            if proposal.change_type == "CREATE":
                aspects_to_create.setdefault(proposal.entity_urn, set()).add(proposal.aspect_name)
        if not aspects_to_create:
            return proposals
        existing = {(urn, name) for urn, aspects in self.read(aspects_to_create).items() for name in aspects}
        return [
            proposal
            for proposal in proposals
            if proposal.change_type != "CREATE" or (proposal.entity_urn, proposal.aspect_name) not in existing
        ]

    def _encode_proposal(self, proposal: Proposal, metadata: Mapping[str, object] | None) -> EncodedProposal | Failure:
        return encode_proposal(proposal, metadata, keyed=self._require_patch_forms().is_keyed(proposal.aspect_name))

    def _require_patch_forms(self) -> PatchForms:
        assert self.patch_forms is not None  # noqa: S101 - the server was asked before anything is encoded
        return self.patch_forms

    def _deliver_request(self, items: Sequence[EncodedProposal]) -> list[Failure]:
        """Deliver one request's worth; return the rejections.

        Permanent ones unless the server accepted nothing else either.
        """
        rejections: list[tuple[EncodedProposal, Refusal]] = []
        has_arrived = self._deliver(items, rejections)
        return [
            Failure(
                rejected_item.proposal,
                refusal.reason,
                not has_arrived and refusal.response is not None and refusal.response.is_retryable,
            )
            for rejected_item, refusal in rejections
        ]

    def _deliver(
        self,
        items: Sequence[EncodedProposal],
        rejections: list[tuple[EncodedProposal, Refusal]],
        *,
        has_arrived: bool = False,
        is_retry: bool = False,
    ) -> bool:
        """Deliver; halve what is rejected as a whole, and add to ``rejections`` what is rejected alone.

        Returns whether anything of the request has ``has_arrived``. If nothing has, it gives up when many proposals in a row
        are rejected for a reason that may be outside of them.
        """
        items = [self._update_form(encoded) for encoded in items]
        try:
            refusal = self._send(items, is_retry=is_retry)
        except BatchesUnsupportedError:
            self._sends_single = True
            for encoded in items:
                has_arrived = self._deliver([encoded], rejections, has_arrived=has_arrived, is_retry=is_retry)
            return has_arrived
        if refusal is None:
            return True
        if len(items) == 1:
            if self._try_other_form(items[0]):
                return True
            rejections.append((items[0], refusal))
            if refusal.response is not None and not has_arrived and len(rejections) > _MAX_REJECTIONS:
                raise refusal.response.to_error(self.location)
            return has_arrived
        middle = len(items) // 2
        for half in (items[:middle], items[middle:]):
            has_arrived = self._deliver(half, rejections, has_arrived=has_arrived, is_retry=True)
        return has_arrived

    def _try_other_form(self, rejected_item: EncodedProposal) -> bool:
        """Send a rejected patch in the other form, and use that form from now on if the server accepts it.

        The version does not always determine the form: a server may report only "1.5", or be upgraded while this sink is open.
        """
        if rejected_item.keyed is None:
            return False
        forms, aspect = self._require_patch_forms(), rejected_item.proposal.aspect_name
        other_item = encode_proposal(
            rejected_item.proposal, self._options.system_metadata(), keyed=not rejected_item.keyed
        )
        if isinstance(other_item, Failure) or self._send([other_item], is_retry=True) is not None:
            return False
        self.patch_forms = PatchForms(forms.version, {**forms.learned, aspect: not rejected_item.keyed})
        return True

    def _update_form(self, encoded: EncodedProposal) -> EncodedProposal:
        """Return the item in the present form of patches, which may have changed after it was encoded."""
        if encoded.keyed is None or encoded.keyed == self._require_patch_forms().is_keyed(encoded.proposal.aspect_name):
            return encoded
        updated = self._encode_proposal(encoded.proposal, self._options.system_metadata())
        return updated if isinstance(updated, EncodedProposal) else encoded

    def _send(self, items: Sequence[EncodedProposal], *, is_retry: bool) -> Refusal | None:
        """Send one request; return the rejection if it is about the proposals, else raise a SinkError."""
        if self._sends_single and len(items) > 1:
            raise BatchesUnsupportedError
        write_deadline = self._connection.write_deadline
        header = None if write_deadline is None else lambda: write_deadline.header(self._connection.seconds_left())
        response = self._post(items, header, is_retry=is_retry)
        if write_deadline is not None and not response.is_accepted and is_stale_write_error(response.message):
            response = self._post(
                items, None, is_retry=is_retry
            )  # before our timeout: another writer wrote, or a clock is wrong
        if response.is_accepted:
            return None
        if not self._sends_single and lacks_batches(response):
            raise BatchesUnsupportedError
        refusal = response.refusal()
        if refusal is None:
            raise response.to_error(self.location)
        return refusal

    def _post(
        self, items: Sequence[EncodedProposal], header: Callable[[], bytes] | None, *, is_retry: bool
    ) -> GmsResponse:
        def build_body() -> bytes:
            extra_field = b"" if header is None else header()
            return single_body(items[0], extra_field) if self._sends_single else batch_body(items, extra_field)

        path = SINGLE_PATH if self._sends_single else BATCH_PATH
        content = build_body() if header is None else build_body  # with a new header for each try
        return self._connection.send("POST", path, content, count=len(items), is_repeated=is_retry)

    def close(self) -> None:
        """Close the connection."""
        self._is_closed = True
        self._connection.close()


def _unreadable_failure(proposal: Proposal, version: str | None) -> Failure | None:
    """Return the Failure of a proposal whose entity the server cannot read; its error message would be misleading."""
    reason = unreadable_urn(proposal.entity_urn, version)
    return None if reason is None else Failure(proposal, reason)


def open_target(address: str, options: SinkOptions) -> RestSink:
    """Return the sink of ``rest:URL``, or of ``rest:`` with ``options.rest["server"]``; nothing is sent yet."""
    if options.file_format:
        raise SettingsError("not supported by rest:", location="--format", remedy="remove this option")
    try:
        rest = msgspec.convert(
            {**options.rest, **({"server": address, "named_by": TARGET_OPTION} if address else {})}, RestOptions
        )
    except msgspec.ValidationError as error:
        raise SettingsError(str(error), location="rest") from error
    return RestSink(GmsConnection(rest), rest, options)
