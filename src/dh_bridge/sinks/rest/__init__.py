"""The REST sink: proposals to DataHub's metadata service (GMS), through its rest.li API.

``sink.py`` delivers batches, ``batches.py`` divides them into request bodies, ``connection.py`` sends one body until there is a
final response, ``responses.py`` classifies responses, ``backoff.py`` computes pauses, ``server.py`` reads the server's version.
"""
