"""A transport of OpenLineage's Python client: what emits events through it writes to DataHub, with no server in between.

In ``openlineage.yml``, or as ``OPENLINEAGE__TRANSPORT__TYPE`` and its like::

    transport:
      type: dh_bridge.transport.DataHubTransport
      to: rest:http://localhost:8080

It needs openlineage-python, which is there wherever such a client is: ``pip install 'dh-bridge[openlineage]'``.
"""

from dh_bridge.transport.config import DataHubConfig
from dh_bridge.transport.transport import DataHubTransport

__all__ = ["DataHubConfig", "DataHubTransport"]
