"""The Kafka sink: proposals to the topic that DataHub reads, in Confluent's framing.

``sink.py`` delivers batches, ``registry.py`` asks the schema registry which envelope to write, ``envelope.py`` writes it,
``producer.py`` hands messages to the brokers and waits for their receipts, ``errors.py`` says what a missing one means.
``refusals.py`` reads back what DataHub refused later.
"""
