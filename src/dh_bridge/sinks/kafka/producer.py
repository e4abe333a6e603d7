"""The producer: hands messages to the brokers and waits until each is stored for good, or is not.

A message that is neither refused nor reported lost was acknowledged by all replicas in sync: librdkafka reports failures alone
(``delivery.report.only.error``), which costs half of a report for each.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.sinks.kafka.errors import is_missing, is_refused, sink_error
from dh_bridge.sinks.kafka.options import TOPIC_LIMIT, function_at

try:
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka import Producer as Client
except ImportError as error:
    raise SinkError(
        f"confluent-kafka cannot be imported: {error}", where="kafka", now="pip install 'dh-bridge[kafka]'"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dh_bridge.sinks.kafka.options import KafkaOptions

DEFAULTS: dict[str, str] = {
    "client.id": "dh-bridge",
    "compression.type": "lz4",
    "linger.ms": "5",
    "log_level": "0",  # what it has to say comes back as errors
    "message.max.bytes": str(TOPIC_LIMIT),
    "partitioner": "murmur2_random",  # as the Java clients of DataHub: one URN, one partition, whoever writes
    "queue.buffering.max.messages": "1000000",
    # a broker that is back is found within the time of a message; by default the client may look every ten seconds only
    "reconnect.backoff.max.ms": "1000",
}
MUST: dict[str, object] = {"acks": "all", "delivery.report.only.error": True}
IDEMPOTENT = "enable.idempotence"
_SLICE = 0.2
"""Seconds between two looks at what the client says of its connections."""
_TOPIC_PATIENCE = 5.0
"""Seconds that a broker may take to make a topic that it makes when it is asked for."""
_SLACK = 5.0
"""Seconds beyond a message's time that its report may take."""


class Message(NamedTuple):
    """A message, and the place of its proposal in the batch."""

    place: int
    topic: str
    key: bytes
    value: bytes


class _Heard:
    """What the client said last of its connections; a refusal stays.

    Not the producer's own method: the client holds it, and would then hold the producer, and that the client.
    """

    def __init__(self) -> None:
        self.last: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        if self.last is None or not is_refused(self.last):
            self.last = error


class Producer:
    """A connection to the brokers at ``where``; a SettingsError when librdkafka does not know a setting."""

    def __init__(self, options: KafkaOptions, where: str) -> None:
        self.where = where
        self._options = options
        self._heard = _Heard()
        settings: dict[str, Any] = {
            **DEFAULTS,
            IDEMPOTENT: "true",
            "message.timeout.ms": str(int(options.timeout * 1000)),
            **options.producer,
            **MUST,
            "bootstrap.servers": options.bootstrap,
            "error_cb": self._heard,
        }
        if "oauth_cb" in settings:
            settings["oauth_cb"] = function_at(settings["oauth_cb"])
        self.limit = _number(settings, "message.max.bytes")
        try:
            self._client: Any = Client(settings)
        except (KafkaException, ValueError, TypeError) as error:
            reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
            raise SettingsError(reason, where="kafka.producer", now="use the names and values of librdkafka") from error

    def check(self, topics: Iterable[str]) -> None:
        """Return when the brokers answer and have the topics; a SinkError says what is amiss."""
        for topic in topics:
            began = time.monotonic()
            while (error := self._topic_error(topic)) is not None:
                if time.monotonic() - began > self._patience(error):
                    raise sink_error(error, f"{self.where}, topic {topic}", self.cause)
                time.sleep(_SLICE)

    def _topic_error(self, topic: str) -> KafkaError | None:
        self._client.poll(0)
        try:
            found = self._client.list_topics(topic, timeout=1.0).topics[topic].error
        except KafkaException as error:
            self._client.poll(0)  # brings what the client has to say of its connections
            found = error.args[0]
        return found if isinstance(found, KafkaError) else None

    def _patience(self, error: KafkaError) -> float:
        """Return the seconds that an answer like that is worth: none when nothing can change it."""
        if self.cause is not None and is_refused(self.cause):
            return 0.0
        if is_missing(error):
            return min(_TOPIC_PATIENCE, self._options.connect_timeout)
        return 0.0 if is_refused(error) else self._options.connect_timeout

    def send(self, messages: Sequence[Message]) -> dict[int, KafkaError]:
        """Send messages in their order and wait; return the error of each that the brokers do not have, by its place.

        A SinkError when the client has come to an end and a new one is needed.
        """
        self._heard.last = None
        failed: dict[int, KafkaError] = {}
        try:
            for message in messages:
                self._produce(message, failed)
            end = self._end()
            while self._client.flush(_SLICE):
                if time.monotonic() > end or (self.cause is not None and is_refused(self.cause)):
                    self._client.purge()
                    self._client.flush(_SLACK)
                    break
        except BaseException:
            self._client.purge()  # nothing of a batch that broke off may follow later
            self._client.flush(_SLACK)
            raise
        if self.cause is not None and self.cause.fatal():
            raise sink_error(self.cause, self.where)
        return failed

    def _produce(self, message: Message, failed: dict[int, KafkaError]) -> None:
        report = partial(_missing, failed, message.place)
        try:
            self._client.produce(message.topic, message.value, message.key, on_delivery=report)
        except BufferError:
            self._room()
            self._produce(message, failed)
        except KafkaException as error:
            failed[message.place] = error.args[0]

    def _room(self) -> None:
        """Return when the queue has room again: what has been sent or given up makes some."""
        full, end = len(self._client), self._end()
        while len(self._client) >= full:
            self._client.poll(_SLICE)
            if time.monotonic() > end:
                raise SinkError("the queue stays full", where=self.where, retryable=True)

    def _end(self) -> float:
        """Return the moment by which whatever has been handed over now is stored or reported lost."""
        return time.monotonic() + self._options.timeout + _SLACK

    @property
    def cause(self) -> KafkaError | None:
        """What the client last said of its connections."""
        return self._heard.last

    def close(self) -> None:
        """Give up what is still on its way, for emit has waited for its own, and end the client with its threads."""
        client, self._client = self._client, None
        if client is None:
            return
        client.purge()
        client.flush(_SLACK)
        if hasattr(client, "close"):  # not in 2.5: there it ends as nobody holds it any more
            client.close()


def _missing(failed: dict[int, KafkaError], place: int, error: KafkaError | None, _message: object) -> None:
    if error is not None:
        failed[place] = error


def _number(settings: dict[str, Any], name: str) -> int:
    try:
        return int(settings[name])
    except ValueError as error:
        raise SettingsError(
            f"{settings[name]!r} is no number", where=f"kafka.producer.{name}", now="write a whole number of bytes"
        ) from error
