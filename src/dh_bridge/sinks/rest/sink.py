"""The REST sink: batches to GMS, in order; a batch that is refused is cut until the refused proposal stands alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.generic_aspect import PatchForms
from dh_bridge.datahub.urn_limits import unreadable_urn
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.sinks.base import SINKS, Closing, Delivery, Failure
from dh_bridge.sinks.rest.batches import BATCH, SINGLE, Item, batch_body, cut, item, single_body
from dh_bridge.sinks.rest.connection import Connection
from dh_bridge.sinks.rest.options import TARGET, RestOptions
from dh_bridge.sinks.rest.reading import Reader
from dh_bridge.sinks.rest.responses import TooOldError, too_old
from dh_bridge.sinks.rest.server import Server, server
from dh_bridge.sinks.rest.stale_writes import came_late

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.base import Present, SinkOptions
    from dh_bridge.sinks.rest.responses import Answer, Refusal

_PATIENCE = 32
"""Proposals that may be refused for reasons that may not lie in them, while nothing arrives, before a request is given up."""

_AT_ONCE = 5
"""Requests whose proposals are encoded at a time: a window may bring 100,000 proposals."""


class RestSink(Closing):
    """Delivers to the server at ``where``.

    A proposal that the server refuses is a permanent Failure with the server's own words. A SinkError ends a batch: nothing
    of it counts as delivered, although some may have been written; writing it again changes nothing.
    """

    name = "rest"
    kind = SINKS[name]

    def __init__(self, connection: Connection, rest: RestOptions, options: SinkOptions) -> None:
        self.where = connection.where
        self._connection = connection
        self._reader = Reader(connection)
        self._rest = rest
        self._options = options
        self._server: Server | None = None
        #: which form of patches the server takes; set when it has named its version
        self.patch_forms: PatchForms | None = None
        self._single = False
        self._closed = False

    def server(self) -> Server:
        """Return who answers, asked once; a SinkError when it is no metadata service, or does not let us in."""
        if self._server is None:
            found = self._connection.send("GET", "/config")
            if found.status in (401, 403, 407) or 300 <= found.status < 400 or found.later:
                raise found.error(self.where)
            self._server = server(found, self.where)
            version, noted = self._server.version or self._options.profile, self._options.patch_forms
            self.patch_forms = noted if noted is not None and noted.version == version else PatchForms(version, {})
        return self._server

    def version(self) -> str | None:
        """Return the version of DataHub that the server's aspects are those of; None when it does not say."""
        return self.server().version

    def read(self, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, Present]]:
        """Return the present aspects: ``wanted`` names URNs and their aspects, none of them meaning all."""
        return self._reader.read(wanted)

    @property
    def forbidden(self) -> Collection[str]:
        """The entities that :meth:`read` was asked for and that the token's user may not read."""
        return self._reader.forbidden

    def until(self, end: float) -> None:
        """Send nothing, and wait for no answer, after ``end`` (seconds of the monotonic clock), halves and paces included.

        What cannot be sent by then ends emit or read with a retryable SinkError.
        """
        self._connection.end = end

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Deliver proposals, as many requests as it takes."""
        if self._closed:
            raise SinkError("is closed", where=self.where)
        if not proposals:
            return Delivery(0, [])
        # the first time: whose form of patches, and whether this is GMS at all
        version = self.server().version or self._options.profile
        accepted = len(proposals)
        proposals = self._without_present(proposals)
        failed: list[Failure] = []
        written = 0
        step = _AT_ONCE * self._rest.batch_size
        for start in range(0, len(proposals), step):
            metadata = self._options.system_metadata()
            made = [
                _unreadable(proposal, version) or self._item(proposal, metadata)
                for proposal in proposals[start : start + step]
            ]
            failed += [each for each in made if isinstance(each, Failure)]
            for request in cut([each for each in made if isinstance(each, Item)], self._rest):
                try:
                    failed += self._request(request)
                except SinkError as error:
                    if written:
                        error.what += f"; {written:,} of {len(proposals):,} proposals were written before"
                    raise
                written += len(request)
        return Delivery(accepted - len(failed), failed)

    def _without_present(self, proposals: Sequence[Proposal]) -> Sequence[Proposal]:
        """Return the proposals without each CREATE of an aspect that the server has.

        The server would refuse the whole batch for it.
        """
        wanted: dict[str, set[str]] = {}
        for proposal in proposals:
            if proposal.change_type == "CREATE":
                wanted.setdefault(proposal.entity_urn, set()).add(proposal.aspect_name)
        if not wanted:
            return proposals
        present = {(urn, name) for urn, aspects in self.read(wanted).items() for name in aspects}
        return [
            proposal
            for proposal in proposals
            if proposal.change_type != "CREATE" or (proposal.entity_urn, proposal.aspect_name) not in present
        ]

    def _item(self, proposal: Proposal, metadata: Mapping[str, object] | None) -> Item | Failure:
        return item(proposal, metadata, keyed=self._forms().keyed(proposal.aspect_name))

    def _forms(self) -> PatchForms:
        assert self.patch_forms is not None  # noqa: S101 - the server was asked before anything is encoded
        return self.patch_forms

    def _request(self, items: Sequence[Item]) -> list[Failure]:
        """Deliver one request's worth; return what is refused, for good unless the server took nothing else either."""
        refused: list[tuple[Item, Refusal]] = []
        arrived = self._deliver(items, refused)
        return [
            Failure(one.proposal, refusal.words, not arrived and refusal.whole is not None and refusal.whole.later)
            for one, refusal in refused
        ]

    def _deliver(
        self, items: Sequence[Item], refused: list[tuple[Item, Refusal]], *, arrived: bool = False, again: bool = False
    ) -> bool:
        """Deliver, in halves where the whole is refused, and add to ``refused`` what is refused on its own.

        Returns whether anything of the request has ``arrived``. While nothing has, it gives up when proposal after proposal
        is refused for a reason that may not lie in them.
        """
        items = [self._current(each) for each in items]
        try:
            refusal = self._send(items, again=again)
        except TooOldError:
            self._single = True
            for each in items:
                arrived = self._deliver([each], refused, arrived=arrived, again=again)
            return arrived
        if refusal is None:
            return True
        if len(items) == 1:
            if self._taken_in_other_form(items[0]):
                return True
            refused.append((items[0], refusal))
            if refusal.whole is not None and not arrived and len(refused) > _PATIENCE:
                raise refusal.whole.error(self.where)
            return arrived
        middle = len(items) // 2
        for half in (items[:middle], items[middle:]):
            arrived = self._deliver(half, refused, arrived=arrived, again=True)
        return arrived

    def _taken_in_other_form(self, refused: Item) -> bool:
        """Send a refused patch in the other form, and use that form from now on if the server takes it.

        The version does not always settle the form: a server may say only "1.5", or be upgraded while this sink is open.
        """
        if refused.keyed is None:
            return False
        forms, aspect = self._forms(), refused.proposal.aspect_name
        other = item(refused.proposal, self._options.system_metadata(), keyed=not refused.keyed)
        if isinstance(other, Failure) or self._send([other], again=True) is not None:
            return False
        self.patch_forms = PatchForms(forms.version, {**forms.learned, aspect: not refused.keyed})
        return True

    def _current(self, each: Item) -> Item:
        """Return the item in the form that the server takes by now, which may have been learned after it was encoded."""
        if each.keyed is None or each.keyed == self._forms().keyed(each.proposal.aspect_name):
            return each
        made = self._item(each.proposal, self._options.system_metadata())
        return made if isinstance(made, Item) else each

    def _send(self, items: Sequence[Item], *, again: bool) -> Refusal | None:
        """Send one request; return the Refusal when it is about what was sent. A SinkError when it is not."""
        if self._single and len(items) > 1:
            raise TooOldError
        deadline = self._connection.deadline
        header = None if deadline is None else lambda: deadline.header(self._connection.left())
        found = self._sent(items, header, again=again)
        if deadline is not None and not found.taken and came_late(found.words):
            found = self._sent(items, None, again=again)  # we are still waiting: others wrote there, or a clock is off
        if found.taken:
            return None
        if not self._single and too_old(found):
            raise TooOldError
        refusal = found.refusal()
        if refusal is None:
            raise found.error(self.where)
        return refusal

    def _sent(self, items: Sequence[Item], header: Callable[[], bytes] | None, *, again: bool) -> Answer:
        def body() -> bytes:
            said = b"" if header is None else header()
            return single_body(items[0], said) if self._single else batch_body(items, said)

        path = SINGLE if self._single else BATCH
        ready = body() if header is None else body  # with a header anew for each try
        return self._connection.send("POST", path, ready, count=len(items), asked_before=again)

    def close(self) -> None:
        """Close the connection."""
        self._closed = True
        self._connection.close()


def _unreadable(proposal: Proposal, version: str | None) -> Failure | None:
    """Return the Failure of a proposal whose entity the server cannot read: its refusal would look like a fault of its own."""
    reason = unreadable_urn(proposal.entity_urn, version)
    return None if reason is None else Failure(proposal, reason)


def open_target(place: str, options: SinkOptions) -> RestSink:
    """Return the sink of ``rest:URL``, or of ``rest:`` with ``options.rest["server"]``; nothing is sent yet."""
    if options.file_format:
        raise SettingsError("rest: has one format", where="--format", now="leave it out")
    try:
        rest = msgspec.convert(
            {**options.rest, **({"server": place, "named_by": TARGET} if place else {})}, RestOptions
        )
    except msgspec.ValidationError as error:
        raise SettingsError(str(error), where="rest") from error
    return RestSink(Connection(rest), rest, options)
