"""A source of ``datahub ingest``: a recipe names it, and the sink of the recipe delivers its proposals.

In a recipe, beside ``pip install 'dh-bridge[datahub]'``::

    source:
      type: dh-bridge
      config:
        events: [/var/log/openlineage]

``config.py`` has the options of a recipe, ``source.py`` the source.
"""

from dh_bridge.ingestion.config import RecipeConfig
from dh_bridge.ingestion.source import OpenLineageSource

__all__ = ["OpenLineageSource", "RecipeConfig"]
