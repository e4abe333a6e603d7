"""dataSource (dataset): the connection. https://openlineage.io/docs/spec/facets/dataset-facets/data_source"""

from __future__ import annotations

from dh_bridge.translation.reading.generic import kept_facet

data_source = kept_facet(
    "dataSource",
    at="dataset",
    doc="Name and URI, redacted: a connection is neither a platform instance nor a page to link to.",
)
