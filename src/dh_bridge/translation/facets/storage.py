"""storage (dataset): layer and format. https://openlineage.io/docs/spec/facets/dataset-facets/storage"""

from __future__ import annotations

from dh_bridge.translation.reading.generic import kept_facet

storage = kept_facet("storage", at="dataset", doc="Storage layer and file format.")
