"""dataSource (dataset): the connection. https://openlineage.io/docs/spec/facets/dataset-facets/data_source"""

from __future__ import annotations

from dh_bridge.facet_support.generic import property_facet

data_source = property_facet(
    "dataSource",
    attach="dataset",
    doc="Name and URI, redacted: a connection is neither a platform instance nor a page to link to.",
)
