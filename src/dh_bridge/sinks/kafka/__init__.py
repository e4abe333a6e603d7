"""The Kafka sink: proposals to the topic that DataHub reads, in Confluent's framing.

``sink.py`` delivers batches, ``registry.py`` gets the envelope schema from the schema registry, ``envelope.py`` encodes it,
``producer.py`` sends messages to the brokers and waits for their acknowledgements, ``errors.py`` classifies errors of
librdkafka. ``refusals.py`` reads the proposals that DataHub rejected later.
"""
