"""What DataHub took from Kafka and then refused: its topic of failed proposals, read back.

A message is a FailedMetadataChangeProposal: the proposal as it was sent, and the server's error (datahub-project/datahub,
FailedMetadataChangeProposal.pdl). It is read with the schema that its framing names, so whatever version wrote it.
"""

from __future__ import annotations

import struct
import time
from collections import deque
from io import BytesIO
from typing import TYPE_CHECKING, Any

from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.json_safe import load_json
from dh_bridge.sinks.base import Closing
from dh_bridge.sinks.kafka.envelope import UNPARSABLE
from dh_bridge.sinks.kafka.errors import is_moving, sink_error
from dh_bridge.sinks.kafka.options import function_at, kafka_options
from dh_bridge.sinks.kafka.registry import Registry

try:
    import fastavro
    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
except ImportError as error:
    raise SinkError(
        f"{error.name} cannot be imported: {error}", where="kafka", now="pip install 'dh-bridge[kafka]'"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_SECURITY = ("security.", "sasl.", "ssl.", "client.", "socket.", "broker.", "enable.ssl.", "oauth_cb")
"""How the names of those settings of the producer begin that a consumer has, too."""
_MANY = 500
_PAUSE = 0.2
"""Seconds between two questions to the coordinator of a group that is not ready."""
_WORDS = 2000
"""Characters of an error that are kept: the rest is a stack trace."""


class Refusals(Closing):
    """The messages of the topic since ``group`` last looked, up to those that stand there now; all of them without a group."""

    def __init__(self, place: str, area: Mapping[str, object], *, group: str | None) -> None:
        options = kafka_options(place, area)
        self._topic = options.failed_topic
        self.where = f"kafka:{options.bootstrap}, topic {self._topic}"
        self._group = group
        self._patience = options.connect_timeout
        self._registry = Registry(options.registry)
        self._schemas: dict[int, Any] = {}
        shared: dict[str, Any] = {key: value for key, value in options.producer.items() if key.startswith(_SECURITY)}
        if "oauth_cb" in shared:
            shared["oauth_cb"] = function_at(shared["oauth_cb"])
        #: the last error; no method of ours takes it, as the client would then hold us, who hold the client
        self._heard: deque[KafkaError] = deque(maxlen=1)
        settings = {
            **shared,
            "bootstrap.servers": options.bootstrap,
            "group.id": group or "dh_bridge",
            "log_level": "0",
        }
        try:
            self._reader: Any = Consumer({**settings, "enable.auto.commit": "false", "error_cb": self._heard.append})
        except (KafkaException, ValueError, TypeError) as error:
            raise SettingsError(str(error), where="kafka.producer", now="use the names of librdkafka") from error

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each refusal: its place, the server's error, and the proposal with its run and pipeline."""
        try:
            for partition in self._partitions():
                yield from self._of(partition)
        except KafkaException as error:
            raise sink_error(error.args[0], self.where, self._heard[-1] if self._heard else None) from error

    def _partitions(self) -> list[int]:
        found = self._reader.list_topics(self._topic, timeout=self._patience).topics[self._topic]
        if found.error is not None:
            raise sink_error(found.error, self.where)
        return sorted(found.partitions)

    def _of(self, partition: int) -> Iterator[dict[str, Any]]:
        place = TopicPartition(self._topic, partition)
        first, end = self._reader.get_watermark_offsets(place, timeout=self._patience)
        if self._group is not None:
            first = max(first, self._of_group(lambda: self._reader.committed([place], timeout=self._patience)))
        if first >= end:
            return
        self._reader.assign([TopicPartition(self._topic, partition, first)])
        quiet = time.monotonic() + self._patience
        while (at := self._reader.position([place])[0].offset) < end:
            messages = self._reader.consume(_MANY, 0.5)
            for message in messages:
                if message.error() is not None:
                    raise KafkaException(message.error())
                if message.offset() < end:
                    yield self._row(message)
            quiet = time.monotonic() + self._patience if messages else quiet
            if time.monotonic() > quiet:
                raise SinkError(f"stopped answering at offset {at:,}", where=self.where, retryable=True)
        if self._group is not None:
            done = [TopicPartition(self._topic, partition, end)]
            self._of_group(lambda: self._reader.commit(offsets=done, asynchronous=False))
        self._reader.unassign()

    def _of_group(self, ask: Callable[[], list[TopicPartition]]) -> int:
        """Return the group's offset that ``ask`` answers with; while the coordinator moves or loads, ask again.

        A KafkaException when that takes more than ``connect_timeout`` seconds, and for every other error.
        """
        end = time.monotonic() + self._patience
        while True:
            try:
                (answer,) = ask()
                error = answer.error
            except KafkaException as raised:
                error = raised.args[0]
            if error is None:
                return answer.offset
            if not is_moving(error) or time.monotonic() > end:
                raise KafkaException(error)
            time.sleep(_PAUSE)

    def _row(self, message: Any) -> dict[str, Any]:
        row = {"place": f"{self._topic}/{message.partition()}/{message.offset()}"}
        data = message.value() or b""
        try:
            magic, number = struct.unpack(">bI", data[:5])
            if magic != 0:
                raise ValueError(f"its first byte is {magic}")  # noqa: TRY301 - as unreadable as what follows
            record: Any = fastavro.schemaless_reader(BytesIO(data[5:]), self._schema(number), None)
            return {**row, "reason": record["error"][:_WORDS], **_proposal(record["metadataChangeProposal"])}
        except (struct.error, ValueError, KeyError, TypeError, EOFError, IndexError, RecursionError) as error:
            return {**row, "reason": f"cannot be read: {type(error).__name__} {error}"}
        except SinkError as error:
            if error.retryable:
                raise
            return {**row, "reason": f"cannot be read: {error}"}

    def _schema(self, number: int) -> Any:
        if number not in self._schemas:
            schema = self._registry.schema(number)
            try:
                self._schemas[number] = fastavro.parse_schema(schema)
            except (*UNPARSABLE, TypeError, ValueError, LookupError, RecursionError) as error:
                raise SinkError(f"no schema in Avro ({type(error).__name__})", where=f"schema {number}") from error
        return self._schemas[number]

    def close(self) -> None:
        """Close the connections."""
        self._registry.close()
        self._reader.close()


def _proposal(sent: dict[str, Any]) -> dict[str, Any]:
    """Return the proposal's line, as NDJSON has it, and who sent it in which run."""
    system = sent.get("systemMetadata") or {}
    aspect = sent.get("aspect") or {}
    try:
        value: Any = load_json(aspect.get("value") or b"null")
    except ValueError:
        value = aspect["value"].decode("utf-8", "backslashreplace")
    line = {name: sent.get(name) for name in ("entityType", "entityUrn", "changeType", "aspectName")}
    who = {"runId": system.get("runId"), "pipelineName": system.get("pipelineName")}
    return {**who, "proposal": {**line, "aspect": {"json": value}}}
