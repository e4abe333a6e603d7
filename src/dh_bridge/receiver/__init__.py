"""An HTTP endpoint for events, as any OpenLineage backend; a request is answered when its events are durable.

``accept_queue.py`` appends the events of requests to the event log of the ledger. ``folding.py`` merges them and delivers, in a
process of its own. ``app.py`` is the WSGI application, ``running.py`` runs a server for it. Clients of Spark, Flink, Trino, Hive
and openlineage-python need a URL and no package of ours.
"""

from dh_bridge.receiver.accept_queue import AcceptQueue
from dh_bridge.receiver.app import Receiver
from dh_bridge.receiver.metrics import ReceiverMetrics
from dh_bridge.receiver.sending import DeliveryWorker

__all__ = ["AcceptQueue", "DeliveryWorker", "Receiver", "ReceiverMetrics"]
