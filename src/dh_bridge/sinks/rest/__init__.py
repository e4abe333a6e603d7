"""The REST sink: proposals to DataHub's metadata service (GMS), by its rest.li door.

``sink.py`` delivers batches, ``batches.py`` cuts them into request bodies, ``connection.py`` sends one body until it is
answered, ``answers.py`` says what an answer means, ``pauses.py`` how long to wait, ``server.py`` who answers.
"""
