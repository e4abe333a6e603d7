"""Reads the proposals that DataHub consumed from Kafka and then rejected: the topic of failed proposals.

A message is a FailedMetadataChangeProposal: the proposal as it was sent, and the server's error (datahub-project/datahub,
FailedMetadataChangeProposal.pdl). It is decoded with the schema that its framing names, so any version can have written it.
"""

from __future__ import annotations

import struct
import time
from collections import deque
from io import BytesIO
from typing import TYPE_CHECKING, Any

from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.json_safe import load_json
from dh_bridge.sinks.base import Closable
from dh_bridge.sinks.kafka.envelope import SCHEMA_ERRORS
from dh_bridge.sinks.kafka.errors import is_coordinator_moving, sink_error
from dh_bridge.sinks.kafka.options import import_function, kafka_options
from dh_bridge.sinks.kafka.registry import SchemaRegistry

try:
    import fastavro
    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
except ImportError as error:
    raise SinkError(
        f"cannot import {error.name}: {error}", location="kafka", remedy="pip install 'dh-bridge[kafka]'"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_SHARED_PREFIXES = ("security.", "sasl.", "ssl.", "client.", "socket.", "broker.", "enable.ssl.", "oauth_cb")
"""Prefixes of the producer settings that a consumer has, too."""
_MESSAGES_PER_READ = 500
_PAUSE_SECONDS = 0.2
"""Seconds between two requests to a group coordinator that is not ready."""
_MAX_REASON_CHARS = 2000
"""Characters of an error that are stored: the rest is a stack trace."""


class FailedProposalReader(Closable):
    """The messages of the topic since the last offset of ``group``, up to the present end; all of them without a group."""

    def __init__(self, address: str, area: Mapping[str, object], *, group: str | None) -> None:
        options = kafka_options(address, area)
        self._topic = options.failed_topic
        self.location = f"kafka:{options.bootstrap}, topic {self._topic}"
        self._group = group
        self._timeout = options.connect_timeout
        self._registry = SchemaRegistry(options.registry)
        self._schemas: dict[int, Any] = {}
        shared: dict[str, Any] = {
            key: value for key, value in options.producer.items() if key.startswith(_SHARED_PREFIXES)
        }
        if "oauth_cb" in shared:
            shared["oauth_cb"] = import_function(shared["oauth_cb"])
        #: the last error; no method of this object sets it, because then the client and the object would reference each other
        self._errors: deque[KafkaError] = deque(maxlen=1)
        settings = {
            **shared,
            "bootstrap.servers": options.bootstrap,
            "group.id": group or "dh_bridge",
            "log_level": "0",
        }
        try:
            self._consumer: Any = Consumer({**settings, "enable.auto.commit": "false", "error_cb": self._errors.append})
        except (KafkaException, ValueError, TypeError) as error:
            raise SettingsError(str(error), location="kafka.producer", remedy="use the names of librdkafka") from error

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each rejected proposal: its location, the server's error, and the proposal with its run and pipeline."""
        try:
            for partition in self._partitions():
                yield from self._read_partition(partition)
        except KafkaException as error:
            raise sink_error(error.args[0], self.location, self._errors[-1] if self._errors else None) from error

    def _partitions(self) -> list[int]:
        metadata = self._consumer.list_topics(self._topic, timeout=self._timeout).topics[self._topic]
        if metadata.error is not None:
            raise sink_error(metadata.error, self.location)
        return sorted(metadata.partitions)

    def _read_partition(self, partition: int) -> Iterator[dict[str, Any]]:
        topic_partition = TopicPartition(self._topic, partition)
        start_offset, end_offset = self._consumer.get_watermark_offsets(topic_partition, timeout=self._timeout)
        if self._group is not None:
            start_offset = max(
                start_offset,
                self._group_offset(lambda: self._consumer.committed([topic_partition], timeout=self._timeout)),
            )
        if start_offset >= end_offset:
            return
        self._consumer.assign([TopicPartition(self._topic, partition, start_offset)])
        deadline = time.monotonic() + self._timeout
        while (offset := self._consumer.position([topic_partition])[0].offset) < end_offset:
            messages = self._consumer.consume(_MESSAGES_PER_READ, 0.5)
            for message in messages:
                if message.error() is not None:
                    raise KafkaException(message.error())
                if message.offset() < end_offset:
                    yield self._read_message(message)
            deadline = time.monotonic() + self._timeout if messages else deadline
            if time.monotonic() > deadline:
                raise SinkError(
                    f"the broker stopped responding at offset {offset:,}", location=self.location, retryable=True
                )
        if self._group is not None:
            offsets = [TopicPartition(self._topic, partition, end_offset)]
            self._group_offset(lambda: self._consumer.commit(offsets=offsets, asynchronous=False))
        self._consumer.unassign()

    def _group_offset(self, ask: Callable[[], list[TopicPartition]]) -> int:
        """Return the group's offset that ``ask`` returns; while the coordinator moves or loads, ask again.

        Raises a KafkaException after ``connect_timeout`` seconds, and for every other error.
        """
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                (partition,) = ask()
                error = partition.error
            except KafkaException as raised:
                error = raised.args[0]
            if error is None:
                return partition.offset
            if not is_coordinator_moving(error) or time.monotonic() > deadline:
                raise KafkaException(error)
            time.sleep(_PAUSE_SECONDS)

    def _read_message(self, message: Any) -> dict[str, Any]:
        row = {"place": f"{self._topic}/{message.partition()}/{message.offset()}"}
        data = message.value() or b""
        try:
            magic, schema_id = struct.unpack(">bI", data[:5])
            if magic != 0:
                raise ValueError(f"unexpected first byte {magic}")  # noqa: TRY301 - as unreadable as what follows
            record: Any = fastavro.schemaless_reader(BytesIO(data[5:]), self._schema(schema_id), None)
            return {
                **row,
                "reason": record["error"][:_MAX_REASON_CHARS],
                **_proposal_fields(record["metadataChangeProposal"]),
            }
        except (struct.error, ValueError, KeyError, TypeError, EOFError, IndexError, RecursionError) as error:
            return {**row, "reason": f"cannot read the message: {type(error).__name__} {error}"}
        except SinkError as error:
            if error.retryable:
                raise
            return {**row, "reason": f"cannot read the message: {error}"}

    def _schema(self, schema_id: int) -> Any:
        if schema_id not in self._schemas:
            schema = self._registry.schema(schema_id)
            try:
                self._schemas[schema_id] = fastavro.parse_schema(schema)
            except (*SCHEMA_ERRORS, TypeError, ValueError, LookupError, RecursionError) as error:
                raise SinkError(
                    f"not an Avro schema ({type(error).__name__})", location=f"schema {schema_id}"
                ) from error
        return self._schemas[schema_id]

    def close(self) -> None:
        """Close the connections."""
        self._registry.close()
        self._consumer.close()


def _proposal_fields(record: dict[str, Any]) -> dict[str, Any]:
    """Return the proposal's line, as NDJSON has it, and who sent it in which run."""
    system = record.get("systemMetadata") or {}
    aspect = record.get("aspect") or {}
    try:
        value: Any = load_json(aspect.get("value") or b"null")
    except ValueError:
        value = aspect["value"].decode("utf-8", "backslashreplace")
    fields = {name: record.get(name) for name in ("entityType", "entityUrn", "changeType", "aspectName")}
    origin = {"runId": system.get("runId"), "pipelineName": system.get("pipelineName")}
    return {**origin, "proposal": {**fields, "aspect": {"json": value}}}
