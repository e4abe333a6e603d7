"""A door inside ``datahub ingest``: a source that a recipe names, delivered by whatever sink the recipe has.

In a recipe, beside ``pip install 'dh-bridge[datahub]'``::

    source:
      type: dh-bridge
      config:
        events: [/var/log/openlineage]

``config.py`` is what a recipe may say, ``source.py`` the source.
"""

from dh_bridge.ingestion.config import RecipeConfig
from dh_bridge.ingestion.source import OpenLineageSource

__all__ = ["OpenLineageSource", "RecipeConfig"]
