"""The Kafka sink: batches to the topic of proposals; a batch is done when the brokers have acknowledged every message."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dh_bridge.datahub import schemas
from dh_bridge.datahub.creates import LEFT_OUT, drops_creates_silently
from dh_bridge.datahub.generic_aspect import keyed_patches
from dh_bridge.datahub.profiles import profile
from dh_bridge.datahub.urn_limits import unreadable_urn
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.sinks.base import SINKS, Closing, Delivery, Failure
from dh_bridge.sinks.kafka.envelope import Envelope, compile_envelope
from dh_bridge.sinks.kafka.errors import is_content, is_refused, sink_error
from dh_bridge.sinks.kafka.options import kafka_options
from dh_bridge.sinks.kafka.producer import Message, Producer
from dh_bridge.sinks.kafka.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka import KafkaError

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.base import SinkOptions
    from dh_bridge.sinks.kafka.options import KafkaOptions

_UNENCODABLE = (TypeError, ValueError, RecursionError)


class KafkaSink(Closing):
    """Delivers to the topic at ``where``.

    A message that the brokers refuse for what it holds is a permanent Failure. One that did not get through in time is a
    retryable one, and so is all that follows it for the same URN: sent again, they keep their order. A SinkError ends a batch of
    which nothing got through, or which nobody may write.

    ``left_out`` counts the CREATE proposals that the server would report as errors.
    """

    name = "kafka"
    kind = SINKS[name]

    def __init__(self, kafka: KafkaOptions, options: SinkOptions) -> None:
        self.where = f"kafka:{kafka.bootstrap}"
        self._kafka = kafka
        self._options = options
        self._registry = Registry(kafka.registry)
        self._envelope: Envelope | None = None
        self._producer: Producer | None = None
        self._closed = False
        self.left_out: Counter[str] = Counter()

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Deliver proposals and wait for the brokers' word."""
        if self._closed:
            raise SinkError("is closed", where=self.where)
        if not proposals:
            return Delivery(0, [])
        envelope, producer = self._ready()
        proposals = self._accepted(proposals, envelope)
        if not proposals:
            return Delivery(0, [])
        failed: dict[int, Failure] = {}
        messages = self._messages(proposals, envelope, producer.limit, failed)
        errors = self._sent(producer, messages)
        self._raise(producer, errors, len(messages))
        for place, error in errors.items():
            reason = sink_error(error, self.where, producer.cause).what
            failed[place] = Failure(proposals[place], reason, retryable=not is_content(error))
        for place in _followers(proposals, {place for place, one in failed.items() if one.retryable}):
            failed[place] = Failure(proposals[place], "waits for one before it of the same URN", retryable=True)
        return Delivery(len(proposals) - len(failed), [failed[place] for place in sorted(failed)])

    def _accepted(self, proposals: Sequence[Proposal], envelope: Envelope) -> Sequence[Proposal]:
        """Return the proposals without CREATE where a present aspect would make the server report an error."""
        newer = envelope.keyed if self._options.profile is None else drops_creates_silently(self._options.profile)
        if newer and envelope.has_headers:
            return proposals
        kept = [proposal for proposal in proposals if proposal.change_type != "CREATE"]
        if len(kept) < len(proposals):
            self.left_out[LEFT_OUT] += len(proposals) - len(kept)
        return kept

    def _ready(self) -> tuple[Envelope, Producer]:
        """Return envelope and producer; the topic is checked and the envelope fetched the first time, and after the end of one."""
        topic = self._kafka.topic
        if self._envelope is None:
            index = schemas.index(profile(self._options.profile).name)
            number, schema = self._registry.envelope(f"{topic}-value", schemas.load(index.envelope))
            self._envelope = compile_envelope(schema, number, where=self._registry.where)
        if self._producer is None:
            producer = Producer(self._kafka, self.where)
            try:
                producer.check([topic])
            except SinkError:
                producer.close()
                raise
            self._producer = producer
        return self._envelope, self._producer

    def _messages(
        self, proposals: Sequence[Proposal], envelope: Envelope, limit: int, failed: dict[int, Failure]
    ) -> list[Message]:
        """Return the messages, and put into ``failed`` what cannot be one."""
        metadata, keyed = self._options.system_metadata(), self._keyed(envelope)
        tail, creates_tail = envelope.tail(metadata), envelope.tail(metadata, creates=True)
        messages = []
        for place, proposal in enumerate(proposals):
            if (reason := unreadable_urn(proposal.entity_urn, self._options.profile)) is not None:
                failed[place] = Failure(proposal, reason)
                continue
            try:
                key = proposal.entity_urn.encode()
                last = creates_tail if proposal.change_type == "CREATE" else tail
                value = envelope.message(proposal, last, keyed=keyed)
            except _UNENCODABLE as error:
                failed[place] = Failure(proposal, f"cannot be written: {error}")
                continue
            if len(key) + len(value) > limit:
                failed[place] = Failure(proposal, f"is {len(value):,} bytes: the topic takes {limit:,}")
            else:
                messages.append(Message(place, self._kafka.topic, key, value))
        return messages

    def _keyed(self, envelope: Envelope) -> bool:
        """Say which form of patches the reader wants: the profile tells, else the envelope that it registered."""
        return envelope.keyed if self._options.profile is None else keyed_patches(self._options.profile)

    def _sent(self, producer: Producer, messages: Sequence[Message]) -> dict[int, KafkaError]:
        """Send messages; those of a batch that the broker refused for one of them are sent again one by one, in order.

        That ends when one does not get through: the others would each wait as long for the same brokers. What is not tried has
        the error of that one.
        """
        try:
            errors = producer.send(messages)
            refused = {place for place, error in errors.items() if is_content(error)}
            if not refused or len(messages) == 1:
                return errors
            keys = {message.key for message in messages if message.place in refused}
            again = [message for message in messages if message.key in keys and message.place >= min(refused)]
            for at, message in enumerate(again):
                errors.pop(message.place, None)
                errors |= producer.send([message])
                error = errors.get(message.place)
                if error is not None and not is_content(error):
                    errors |= {other.place: error for other in again[at + 1 :]}
                    break
        except SinkError:
            self._producer = None  # it has come to its end
            producer.close()
            raise
        return errors

    def _raise(self, producer: Producer, errors: dict[int, KafkaError], sent: int) -> None:
        """Raise the SinkError of a batch that nobody may write, or of which nothing got through."""
        lasting = [error for error in errors.values() if not is_content(error)]
        refused = next((error for error in [*lasting, producer.cause] if error is not None and is_refused(error)), None)
        if lasting and (refused is not None or len(lasting) == sent):
            raise sink_error(refused or lasting[0], self.where, producer.cause)

    def close(self) -> None:
        """Close the connections."""
        self._closed = True
        self._registry.close()
        if self._producer is not None:
            self._producer.close()
            self._producer = None


def _followers(proposals: Sequence[Proposal], late: set[int]) -> list[int]:
    """Return the places of what follows one of ``late`` for the same URN, and is not late itself."""
    if not late:
        return []
    first: dict[str, int] = {}
    for place in sorted(late):
        first.setdefault(proposals[place].entity_urn, place)
    return [
        place
        for place, proposal in enumerate(proposals)
        if place not in late and place > first.get(proposal.entity_urn, len(proposals))
    ]


def open_target(place: str, options: SinkOptions) -> KafkaSink:
    """Return the sink of ``kafka:BOOTSTRAP``, or of ``kafka:`` with ``options.kafka["bootstrap"]``; nothing is sent yet."""
    if options.file_format:
        raise SettingsError("kafka: has one format", where="--format", now="leave it out")
    return KafkaSink(kafka_options(place, options.kafka), options)
