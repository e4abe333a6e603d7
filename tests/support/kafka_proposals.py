"""Messages of Kafka as acryl-datahub and Confluent's own client read them: the oracle of the Kafka sink."""

from __future__ import annotations

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from datahub.metadata.schema_classes import MetadataChangeProposalClass
from datahub.metadata.schemas import getMetadataChangeProposalSchema


def read(messages, url, reader=None):
    """Return each message as acryl-datahub's own object, read with its schema unless ``reader`` is another."""
    own = reader or getMetadataChangeProposalSchema()
    with SchemaRegistryClient({"url": url}) as registry:
        deserialize = AvroDeserializer(
            registry,
            own,
            lambda record, _context: MetadataChangeProposalClass.from_obj(record, tuples=True),
            return_record_name=True,
        )
        return [
            deserialize(message.value(), SerializationContext(message.topic(), MessageField.VALUE))
            for message in messages
        ]
