"""spark_properties (run): chosen Spark settings (OpenLineage integration/spark)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, property_statement
from dh_bridge.translation.properties import kept as kept_text

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place
    from dh_bridge.translation.slots import Statements


@facet("spark_properties", at="run", leaves={"**": kept()}, producer="Spark")
def spark_properties(opened: Open, at: Place) -> Statements:
    """All properties as one redacted JSON map; spark.master on its own too."""
    body = opened.body.get("properties")
    values = body if isinstance(body, dict) else opened.body
    properties = {}
    written = kept_text("spark_properties", values) if values else None
    if written:
        properties["spark_properties"] = written
    master = values.get("spark.master")
    if isinstance(master, str):
        properties["spark_properties.spark.master"] = master
    rest = {key: value for key, value in opened.body.items() if key != "properties"} if values is body else {}
    extra = kept_text("spark_properties.other", rest) if rest else None
    if extra:
        properties["spark_properties.other"] = extra
    if properties:
        yield property_statement(at, properties)
