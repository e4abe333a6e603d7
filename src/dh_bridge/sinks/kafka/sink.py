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
from dh_bridge.sinks.base import SINK_KINDS, Closable, Delivery, Failure
from dh_bridge.sinks.kafka.envelope import Envelope, compile_envelope
from dh_bridge.sinks.kafka.errors import is_content_error, is_permanent, sink_error
from dh_bridge.sinks.kafka.options import kafka_options
from dh_bridge.sinks.kafka.producer import KafkaProducer, Message
from dh_bridge.sinks.kafka.registry import SchemaRegistry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka import KafkaError

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.base import SinkOptions
    from dh_bridge.sinks.kafka.options import KafkaOptions

_ENCODING_ERRORS = (TypeError, ValueError, RecursionError)


class KafkaSink(Closable):
    """Delivers to the topic at ``location``.

    A message that the brokers reject because of its content is a permanent Failure. A message that did not arrive in time is a
    retryable one, and so are all later messages of the same URN: sent again, they stay in order. A SinkError ends a batch of
    which nothing arrived, or which may not be written.

    ``dropped_counts`` counts the CREATE proposals that the server would report as errors.
    """

    name = "kafka"
    kind = SINK_KINDS[name]

    def __init__(self, kafka: KafkaOptions, options: SinkOptions) -> None:
        self.location = f"kafka:{kafka.bootstrap}"
        self._kafka = kafka
        self._options = options
        self._registry = SchemaRegistry(kafka.registry)
        self._envelope: Envelope | None = None
        self._producer: KafkaProducer | None = None
        self._is_closed = False
        self.dropped_counts: Counter[str] = Counter()

    def emit(self, proposals: Sequence[Proposal]) -> Delivery:
        """Deliver proposals and wait for the acknowledgements of the brokers."""
        if self._is_closed:
            raise SinkError("the sink is closed", location=self.location)
        if not proposals:
            return Delivery(0, [])
        envelope, producer = self._open()
        proposals = self._drop_unsupported_creates(proposals, envelope)
        if not proposals:
            return Delivery(0, [])
        failures: dict[int, Failure] = {}
        messages = self._encode_messages(proposals, envelope, producer.max_message_bytes, failures)
        errors = self._send(producer, messages)
        self._raise_if_failed(producer, errors, len(messages))
        for position, error in errors.items():
            reason = sink_error(error, self.location, producer.connection_error).problem
            failures[position] = Failure(proposals[position], reason, retryable=not is_content_error(error))
        for position in _following_positions(
            proposals, {position for position, failure in failures.items() if failure.retryable}
        ):
            failures[position] = Failure(
                proposals[position], "waits for an earlier proposal of the same URN", retryable=True
            )
        return Delivery(len(proposals) - len(failures), [failures[position] for position in sorted(failures)])

    def _drop_unsupported_creates(self, proposals: Sequence[Proposal], envelope: Envelope) -> Sequence[Proposal]:
        """Return the proposals without CREATE if a present aspect would make the server report an error."""
        can_create = (
            envelope.has_keyed_patches
            if self._options.datahub_version is None
            else drops_creates_silently(self._options.datahub_version)
        )
        if can_create and envelope.has_headers:
            return proposals
        supported = [proposal for proposal in proposals if proposal.change_type != "CREATE"]
        if len(supported) < len(proposals):
            self.dropped_counts[LEFT_OUT] += len(proposals) - len(supported)
        return supported

    def _open(self) -> tuple[Envelope, KafkaProducer]:
        """Return envelope and producer.

        The first call, and each after a failed client, checks the topic and gets the envelope.
        """
        topic = self._kafka.topic
        if self._envelope is None:
            index = schemas.load_index(profile(self._options.datahub_version).name)
            schema_id, schema = self._registry.envelope_schema(f"{topic}-value", schemas.load_schema(index.envelope))
            self._envelope = compile_envelope(schema, schema_id, location=self._registry.location)
        if self._producer is None:
            producer = KafkaProducer(self._kafka, self.location)
            try:
                producer.check([topic])
            except SinkError:
                producer.close()
                raise
            self._producer = producer
        return self._envelope, self._producer

    def _encode_messages(
        self, proposals: Sequence[Proposal], envelope: Envelope, limit: int, failures: dict[int, Failure]
    ) -> list[Message]:
        """Return the messages; proposals that cannot be encoded are added to ``failures``."""
        metadata, keyed = self._options.system_metadata(), self._uses_keyed_patches(envelope)
        tail, creates_tail = envelope.tail(metadata), envelope.tail(metadata, creates=True)
        messages = []
        for position, proposal in enumerate(proposals):
            if (reason := unreadable_urn(proposal.entity_urn, self._options.datahub_version)) is not None:
                failures[position] = Failure(proposal, reason)
                continue
            try:
                key = proposal.entity_urn.encode()
                message_tail = creates_tail if proposal.change_type == "CREATE" else tail
                value = envelope.message(proposal, message_tail, keyed=keyed)
            except _ENCODING_ERRORS as error:
                failures[position] = Failure(proposal, f"cannot encode the proposal: {error}")
                continue
            if len(key) + len(value) > limit:
                failures[position] = Failure(
                    proposal, f"the proposal has {len(value):,} bytes, the topic accepts at most {limit:,}"
                )
            else:
                messages.append(Message(position, self._kafka.topic, key, value))
        return messages

    def _uses_keyed_patches(self, envelope: Envelope) -> bool:
        """Return the form of patches that the server accepts: that of its version, else that of the registered envelope."""
        return (
            envelope.has_keyed_patches
            if self._options.datahub_version is None
            else keyed_patches(self._options.datahub_version)
        )

    def _send(self, producer: KafkaProducer, messages: Sequence[Message]) -> dict[int, KafkaError]:
        """Send messages; if a broker rejects a batch because of one message, its messages are sent again one by one.

        In order.

        The retry ends when one of them does not arrive: the others would each wait as long for the same brokers, so they get
        the same error.
        """
        try:
            errors = producer.send(messages)
            rejected_positions = {position for position, error in errors.items() if is_content_error(error)}
            if not rejected_positions or len(messages) == 1:
                return errors
            keys = {message.key for message in messages if message.position in rejected_positions}
            retried = [
                message for message in messages if message.key in keys and message.position >= min(rejected_positions)
            ]
            for number, message in enumerate(retried):
                errors.pop(message.position, None)
                errors |= producer.send([message])
                error = errors.get(message.position)
                if error is not None and not is_content_error(error):
                    errors |= {later_message.position: error for later_message in retried[number + 1 :]}
                    break
        except SinkError:
            self._producer = None  # the client has failed
            producer.close()
            raise
        return errors

    def _raise_if_failed(self, producer: KafkaProducer, errors: dict[int, KafkaError], message_count: int) -> None:
        """Raise the SinkError of a batch that may not be written, or of which nothing arrived."""
        delivery_errors = [error for error in errors.values() if not is_content_error(error)]
        permanent_error = next(
            (
                error
                for error in [*delivery_errors, producer.connection_error]
                if error is not None and is_permanent(error)
            ),
            None,
        )
        if delivery_errors and (permanent_error is not None or len(delivery_errors) == message_count):
            raise sink_error(permanent_error or delivery_errors[0], self.location, producer.connection_error)

    def close(self) -> None:
        """Close the connections."""
        self._is_closed = True
        self._registry.close()
        if self._producer is not None:
            self._producer.close()
            self._producer = None


def _following_positions(proposals: Sequence[Proposal], retryable_positions: set[int]) -> list[int]:
    """Return the positions after one of ``retryable_positions`` of the same URN, which did arrive."""
    if not retryable_positions:
        return []
    first_by_urn: dict[str, int] = {}
    for position in sorted(retryable_positions):
        first_by_urn.setdefault(proposals[position].entity_urn, position)
    return [
        position
        for position, proposal in enumerate(proposals)
        if position not in retryable_positions and position > first_by_urn.get(proposal.entity_urn, len(proposals))
    ]


def open_target(address: str, options: SinkOptions) -> KafkaSink:
    """Return the sink of ``kafka:BOOTSTRAP``, or of ``kafka:`` with ``options.kafka["bootstrap"]``; nothing is sent yet."""
    if options.file_format:
        raise SettingsError("not supported by kafka:", location="--format", remedy="remove this option")
    return KafkaSink(kafka_options(address, options.kafka), options)
