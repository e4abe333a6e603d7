"""An HTTP endpoint for events, as any OpenLineage backend; a request is answered when its events are durable.

``ingest_queue.py`` merges the events of waiting requests in one transaction, ``sending.py`` delivers in the background,
With an event log, ``accept_queue.py`` appends the events to it, and ``folding.py`` processes them in a process of its own.
``app.py`` is the WSGI application, ``running.py`` runs a server for it. Clients of Spark, Flink, Trino, Hive and
openlineage-python need a URL and no package of ours.
"""

from dh_bridge.receiver.app import Receiver
from dh_bridge.receiver.ingest_queue import IngestQueue
from dh_bridge.receiver.metrics import ReceiverMetrics
from dh_bridge.receiver.sending import DeliveryWorker

__all__ = ["DeliveryWorker", "IngestQueue", "Receiver", "ReceiverMetrics"]
