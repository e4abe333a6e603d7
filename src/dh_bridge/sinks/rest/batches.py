"""Proposals as request bodies of rest.li: cut by number and size, their order kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson

from dh_bridge.datahub.generic_aspect import KEYED_ASPECTS, aspect_text
from dh_bridge.sinks.base import Failure
from dh_bridge.sinks.rest.options import GMS_LIMIT, MAX_BODY_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.rest.options import RestOptions

BATCH = "/aspects?action=ingestProposalBatch"
SINGLE = "/aspects?action=ingestProposal"

_ASYNC = b',"async":"false"}'  # a server that writes later refuses in silence
_ENVELOPE = 64
"""Bytes around the proposals of a body, or in the header of one, rounded up."""

_UNENCODABLE = (TypeError, ValueError, RecursionError)  # orjson's error is a TypeError, a lone surrogate a ValueError


class Item(NamedTuple):
    """A proposal and its JSON on the wire; ``keyed`` is the form of a patch, None where it makes no difference."""

    proposal: Proposal
    data: bytes
    keyed: bool | None = None


def item(proposal: Proposal, metadata: Mapping[str, object] | None, *, keyed: bool) -> Item | Failure:
    """Return the proposal as the wire has it, or why it cannot be sent; ``keyed``: the form of a patch."""
    try:
        text, kind = aspect_text(proposal, keyed=keyed)
        wire = {
            "entityType": proposal.entity_type,
            "entityUrn": proposal.entity_urn,
            # The sink has read that an aspect to be created is absent.
            "changeType": "UPSERT" if proposal.change_type == "CREATE" else proposal.change_type,
            "aspectName": proposal.aspect_name,
            "aspect": {"value": text.decode("ascii"), "contentType": kind},
        }
        data = orjson.dumps({**wire, "systemMetadata": metadata} if metadata else wire)
    except _UNENCODABLE as error:
        return Failure(proposal, f"cannot be written as JSON: {error}")
    if len(data) + 2 * _ENVELOPE > GMS_LIMIT:
        return Failure(proposal, f"is {len(data):,} bytes: DataHub takes requests of {GMS_LIMIT:,}")
    formed = proposal.change_type == "PATCH" and proposal.aspect_name in KEYED_ASPECTS
    return Item(proposal, data, keyed if formed else None)


def cut(items: Sequence[Item], options: RestOptions) -> Iterator[Sequence[Item]]:
    """Yield runs of ``items`` that fit into one request each; one that is too large by itself is a request of its own."""
    most = options.batch_size
    if options.max_rate is not None:
        most = max(1, min(most, int(options.max_rate)))  # no burst of more than a second's worth
    between = _ENVELOPE if options.refuse_late else 1
    start, size = 0, _ENVELOPE
    for at, one in enumerate(items):
        grown = size + len(one.data) + between
        if at > start and (at - start >= most or grown > MAX_BODY_BYTES):
            yield items[start:at]
            start, grown = at, _ENVELOPE + len(one.data) + between
        size = grown
    if start < len(items):
        yield items[start:]


def batch_body(items: Sequence[Item], header: bytes = b"") -> bytes:
    """Return the body of ``ingestProposalBatch``; ``header`` is one more field of each proposal, with its comma."""
    if header:
        return b'{"proposals":[' + b",".join([one.data[:-1] + header + b"}" for one in items]) + b"]" + _ASYNC
    return b'{"proposals":[' + b",".join([one.data for one in items]) + b"]" + _ASYNC


def single_body(one: Item, header: bytes = b"") -> bytes:
    """Return the body of ``ingestProposal``; ``header`` as above."""
    return b'{"proposal":' + (one.data[:-1] + header + b"}" if header else one.data) + _ASYNC
