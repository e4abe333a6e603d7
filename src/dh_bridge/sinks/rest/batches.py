"""Proposals as request bodies of rest.li: divided by number and size, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson

from dh_bridge.datahub.generic_aspect import KEYED_ASPECTS, aspect_text
from dh_bridge.sinks.base import Failure
from dh_bridge.sinks.rest.options import MAX_BODY_BYTES, MAX_GMS_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.rest.options import RestOptions

BATCH_PATH = "/aspects?action=ingestProposalBatch"
SINGLE_PATH = "/aspects?action=ingestProposal"

PROPOSALS_PER_REQUEST = 200
_BODY_END = b',"async":"false"}'  # a server with asynchronous writes reports no rejection
_ENVELOPE_BYTES = 64
"""Bytes around the proposals of a body, or in the header of one, rounded up."""

_ENCODING_ERRORS = (
    TypeError,
    ValueError,
    RecursionError,
)  # orjson's error is a TypeError, a lone surrogate a ValueError


class EncodedProposal(NamedTuple):
    """A proposal and its JSON on the wire; ``keyed`` is the form of a patch, None if both forms are equal."""

    proposal: Proposal
    data: bytes
    keyed: bool | None = None


def encode_proposal(
    proposal: Proposal, metadata: Mapping[str, object] | None, *, keyed: bool
) -> EncodedProposal | Failure:
    """Return the encoded proposal, or why it cannot be sent; ``keyed``: the form of a patch."""
    try:
        text, content_type = aspect_text(proposal, keyed=keyed)
        document = {
            "entityType": proposal.entity_type,
            "entityUrn": proposal.entity_urn,
            # The sink has read that an aspect to be created is absent.
            "changeType": "UPSERT" if proposal.change_type == "CREATE" else proposal.change_type,
            "aspectName": proposal.aspect_name,
            "aspect": {"value": text.decode("ascii"), "contentType": content_type},
        }
        data = orjson.dumps({**document, "systemMetadata": metadata} if metadata else document)
    except _ENCODING_ERRORS as error:
        return Failure(proposal, f"cannot encode the proposal as JSON: {error}")
    if len(data) + 2 * _ENVELOPE_BYTES > MAX_GMS_BYTES:
        return Failure(proposal, f"the proposal has {len(data):,} bytes, DataHub accepts at most {MAX_GMS_BYTES:,}")
    has_forms = proposal.change_type == "PATCH" and proposal.aspect_name in KEYED_ASPECTS
    return EncodedProposal(proposal, data, keyed if has_forms else None)


def split_requests(items: Sequence[EncodedProposal], options: RestOptions) -> Iterator[Sequence[EncodedProposal]]:
    """Yield groups of ``items`` that fit into one request; an item that is too large is a request of its own."""
    max_items = PROPOSALS_PER_REQUEST
    if options.max_rate is not None:
        max_items = max(1, min(max_items, int(options.max_rate)))  # no burst of more than a second's worth
    separator_bytes = _ENVELOPE_BYTES if options.conditional_writes else 1
    start, size = 0, _ENVELOPE_BYTES
    for index, encoded in enumerate(items):
        new_size = size + len(encoded.data) + separator_bytes
        if index > start and (index - start >= max_items or new_size > MAX_BODY_BYTES):
            yield items[start:index]
            start, new_size = index, _ENVELOPE_BYTES + len(encoded.data) + separator_bytes
        size = new_size
    if start < len(items):
        yield items[start:]


def batch_body(items: Sequence[EncodedProposal], header: bytes = b"") -> bytes:
    """Return the body of ``ingestProposalBatch``; ``header`` is one more field of each proposal, with its comma."""
    if header:
        return (
            b'{"proposals":[' + b",".join([encoded.data[:-1] + header + b"}" for encoded in items]) + b"]" + _BODY_END
        )
    return b'{"proposals":[' + b",".join([encoded.data for encoded in items]) + b"]" + _BODY_END


def single_body(encoded: EncodedProposal, header: bytes = b"") -> bytes:
    """Return the body of ``ingestProposal``; ``header`` as above."""
    return b'{"proposal":' + (encoded.data[:-1] + header + b"}" if header else encoded.data) + _BODY_END
