"""An HTTP endpoint for events, as any OpenLineage backend; a request is answered when its events are in the ledger.

``ingest_queue.py`` merges the events of waiting requests in one transaction, ``sending.py`` delivers in the background,
``app.py`` is the WSGI application, ``running.py`` runs a server for it. Clients of Spark, Flink, Trino, Hive and
openlineage-python need a URL and no package of ours.
"""

from dh_bridge.receiver.app import Receiver
from dh_bridge.receiver.ingest_queue import IngestQueue
from dh_bridge.receiver.metrics import ReceiverMetrics
from dh_bridge.receiver.sending import DeliveryWorker

__all__ = ["DeliveryWorker", "IngestQueue", "Receiver", "ReceiverMetrics"]
