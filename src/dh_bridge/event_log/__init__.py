"""The event log: every accepted event, once, in files that need no version of this package to be read.

``format.py`` has the bytes of a file, ``segment.py`` reads one file, ``segment_writer.py`` appends to one, and ``log.py`` is the
folder of them. The log knows bytes and positions, and nothing of OpenLineage.
"""

from dh_bridge.event_log.format import LoggedEvent
from dh_bridge.event_log.log import EventLog, LogBatch, PositionedEvent
from dh_bridge.event_log.status import LogStatus

__all__ = ["EventLog", "LogBatch", "LogStatus", "LoggedEvent", "PositionedEvent"]
