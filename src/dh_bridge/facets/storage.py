"""storage (dataset): layer and format. https://openlineage.io/docs/spec/facets/dataset-facets/storage"""

from __future__ import annotations

from dh_bridge.facet_support.generic import property_facet

storage = property_facet("storage", attach="dataset", doc="Storage layer and file format.")
