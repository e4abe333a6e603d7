"""A web door: producers send events over HTTP, as to any OpenLineage backend, and are answered when those are in the ledger.

``intake.py`` folds what came meanwhile in one transaction, ``sending.py`` delivers behind the requests' backs, ``app.py`` is
the WSGI application, ``running.py`` a server for it until somebody ends it. Senders of Spark, Flink, Trino, Hive and
openlineage-python need a URL and nothing of ours.
"""

from dh_bridge.receiver.app import Receiver
from dh_bridge.receiver.ingest_queue import IngestQueue
from dh_bridge.receiver.metrics import ReceiverMetrics
from dh_bridge.receiver.sending import DeliveryWorker

__all__ = ["DeliveryWorker", "IngestQueue", "Receiver", "ReceiverMetrics"]
