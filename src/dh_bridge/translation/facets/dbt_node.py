"""dbt_node (job): the node of the dbt project (openlineage-dbt)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from dh_bridge.translation.facet import Open, facet, kept, property_statement
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.rungs import PAGE_NODE
from dh_bridge.translation.slots import JOB_FIELD, Statements

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place


@facet("dbt_node", at="job", leaves={"**": kept()}, producer="dbt", remember=True)
def dbt_node(opened: Open, at: Place) -> Statements:
    """File, database, schema, alias and unique id of the node; the page of its file by ``links.dbt_repository``."""
    if opened.properties is None:
        opened.properties = flattened("dbt_node", opened.body)
    if opened.properties:
        yield property_statement(at, opened.properties)
    repository, path = at.options.settings.links.dbt_repository, opened.body.get("original_file_path")
    if repository is not None and isinstance(path, str) and path:
        posix = path.replace("\\", "/")  # dbt on Windows writes paths as Windows does
        url = f"{repository.rstrip('/')}/{quote(posix.lstrip('/'))}"
        yield at.owner, JOB_FIELD, ("externalUrl", PAGE_NODE), url
