"""The producer: sends messages to the brokers and waits until each is stored or has failed.

A message without an error was acknowledged by all replicas in sync: librdkafka reports failures only
(``delivery.report.only.error``), as a report for each message would cost half of the time.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.sinks.kafka.errors import is_permanent, is_topic_missing, sink_error
from dh_bridge.sinks.kafka.options import MAX_MESSAGE_BYTES, import_function

try:
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka import Producer as Client
except ImportError as error:
    raise SinkError(
        f"cannot import confluent-kafka: {error}", location="kafka", remedy="pip install 'dh-bridge[kafka]'"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dh_bridge.sinks.kafka.options import KafkaOptions

DEFAULT_SETTINGS: dict[str, str] = {
    "client.id": "dh-bridge",
    "compression.type": "lz4",
    "linger.ms": "5",
    "log_level": "0",  # its messages arrive as errors
    "message.max.bytes": str(MAX_MESSAGE_BYTES),
    "partitioner": "murmur2_random",  # as DataHub's Java clients: one URN, one partition, for all writers
    "queue.buffering.max.messages": "1000000",
    # reconnect within the timeout of a message; the client's default is up to ten seconds
    "reconnect.backoff.max.ms": "1000",
}
FORCED_SETTINGS: dict[str, object] = {"acks": "all", "delivery.report.only.error": True}
IDEMPOTENCE_SETTING = "enable.idempotence"
_POLL_SECONDS = 0.2
"""Seconds between two looks at the client's errors of its connections."""
_TOPIC_SECONDS = 5.0
"""Seconds for a broker to create a topic automatically."""
_REPORT_SECONDS = 5.0
"""Seconds after the timeout of a message within which its report arrives."""


class Message(NamedTuple):
    """A message, and the position of its proposal in the batch."""

    position: int
    topic: str
    key: bytes
    value: bytes


class _ErrorCallback:
    """The last connection error of the client; a rejected login is not replaced.

    This is not a method of the producer: otherwise the client would reference the producer, which references the client.
    """

    def __init__(self) -> None:
        self.last_error: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        if self.last_error is None or not is_permanent(self.last_error):
            self.last_error = error


class KafkaProducer:
    """A connection to the brokers at ``location``; a SettingsError if librdkafka rejects a setting."""

    def __init__(self, options: KafkaOptions, location: str) -> None:
        self.location = location
        self._options = options
        self._error_callback = _ErrorCallback()
        settings: dict[str, Any] = {
            **DEFAULT_SETTINGS,
            IDEMPOTENCE_SETTING: "true",
            "message.timeout.ms": str(int(options.timeout * 1000)),
            **options.producer,
            **FORCED_SETTINGS,
            "bootstrap.servers": options.bootstrap,
            "error_cb": self._error_callback,
        }
        if "oauth_cb" in settings:
            settings["oauth_cb"] = import_function(settings["oauth_cb"])
        self.max_message_bytes = _parse_number(settings, "message.max.bytes")
        try:
            self._client: Any = Client(settings)
        except (KafkaException, ValueError, TypeError) as error:
            reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
            raise SettingsError(
                reason, location="kafka.producer", remedy="use the names and values of librdkafka"
            ) from error

    def check(self, topics: Iterable[str]) -> None:
        """Wait until the brokers answer and have the topics; a SinkError has the reason if they do not."""
        for topic in topics:
            started_at = time.monotonic()
            while (error := self._topic_error(topic)) is not None:
                if time.monotonic() - started_at > self._timeout_for(error):
                    raise sink_error(error, f"{self.location}, topic {topic}", self.connection_error)
                time.sleep(_POLL_SECONDS)

    def _topic_error(self, topic: str) -> KafkaError | None:
        self._client.poll(0)
        try:
            topic_error = self._client.list_topics(topic, timeout=1.0).topics[topic].error
        except KafkaException as error:
            self._client.poll(0)  # triggers the client's callbacks
            topic_error = error.args[0]
        return topic_error if isinstance(topic_error, KafkaError) else None

    def _timeout_for(self, error: KafkaError) -> float:
        """Return the seconds to wait after such an error: none if it is permanent."""
        if self.connection_error is not None and is_permanent(self.connection_error):
            return 0.0
        if is_topic_missing(error):
            return min(_TOPIC_SECONDS, self._options.connect_timeout)
        return 0.0 if is_permanent(error) else self._options.connect_timeout

    def send(self, messages: Sequence[Message]) -> dict[int, KafkaError]:
        """Send messages in order and wait; return the errors by position of the messages that the brokers do not have.

        A SinkError means that the client has failed and a new one is needed.
        """
        self._error_callback.last_error = None
        errors: dict[int, KafkaError] = {}
        try:
            for message in messages:
                self._produce(message, errors)
            deadline = self._deadline()
            while self._client.flush(_POLL_SECONDS):
                if time.monotonic() > deadline or (
                    self.connection_error is not None and is_permanent(self.connection_error)
                ):
                    self._client.purge()
                    self._client.flush(_REPORT_SECONDS)
                    break
        except BaseException:
            self._client.purge()  # no message of a failed batch may arrive later
            self._client.flush(_REPORT_SECONDS)
            raise
        if self.connection_error is not None and self.connection_error.fatal():
            raise sink_error(self.connection_error, self.location)
        return errors

    def _produce(self, message: Message, errors: dict[int, KafkaError]) -> None:
        report = partial(_record_error, errors, message.position)
        try:
            self._client.produce(message.topic, message.value, message.key, on_delivery=report)
        except BufferError:
            self._wait_for_queue()
            self._produce(message, errors)
        except KafkaException as error:
            errors[message.position] = error.args[0]

    def _wait_for_queue(self) -> None:
        """Wait until the queue has room: messages that are sent or dropped make some."""
        full_length, deadline = len(self._client), self._deadline()
        while len(self._client) >= full_length:
            self._client.poll(_POLL_SECONDS)
            if time.monotonic() > deadline:
                raise SinkError("the queue of the Kafka client stays full", location=self.location, retryable=True)

    def _deadline(self) -> float:
        """Return the time by which all messages so far are stored or reported as failed."""
        return time.monotonic() + self._options.timeout + _REPORT_SECONDS

    @property
    def connection_error(self) -> KafkaError | None:
        """The client's last error of its connections."""
        return self._error_callback.last_error

    def close(self) -> None:
        """Drop messages in flight (emit has waited for its own), and end the client with its threads."""
        client, self._client = self._client, None
        if client is None:
            return
        client.purge()
        client.flush(_REPORT_SECONDS)
        if hasattr(client, "close"):  # not in 2.5: that version ends when it is garbage-collected
            client.close()


def _record_error(errors: dict[int, KafkaError], position: int, error: KafkaError | None, _message: object) -> None:
    if error is not None:
        errors[position] = error


def _parse_number(settings: dict[str, Any], name: str) -> int:
    try:
        return int(settings[name])
    except ValueError as error:
        raise SettingsError(
            f"{settings[name]!r} is not a number",
            location=f"kafka.producer.{name}",
            remedy="use a whole number of bytes",
        ) from error
