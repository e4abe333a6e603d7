"""dbt_node (job): the node of the dbt project (openlineage-dbt)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from dh_bridge.translation.facet import Open, facet, kept, property_statement
from dh_bridge.translation.facts import ASSERTION_PROPERTIES, ASSERTION_URL, JOB_FIELD, JOB_PROPERTIES, Statements
from dh_bridge.translation.precedence import PAGE_NODE
from dh_bridge.translation.properties import flattened

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


_TYPE, _TEST = "dbt_node.test_type", "test."


@facet(
    "dbt_node",
    at="job",
    leaves={
        "test_type": kept(JOB_PROPERTIES, ASSERTION_PROPERTIES),
        "**": kept(),
    },
    producer="dbt",
    remember=True,
)
def dbt_node(opened: Open, at: Place) -> Statements:
    """File, database, schema, alias and unique id of the node; the page of its file by ``links.dbt_repository``.

    The type of a test and the page of its file are those of its check, too.
    """
    if opened.properties is None:
        opened.properties = flattened("dbt_node", opened.body)
    if opened.properties:
        yield property_statement(at, opened.properties)
    checks = [urn for found in at.checks.values() for urn in found]
    if _TYPE in opened.properties:
        for urn in checks:
            yield urn, ASSERTION_PROPERTIES, "dbt_node", {_TYPE: opened.properties[_TYPE]}
    repository, path = at.options.settings.links.dbt_repository, opened.body.get("original_file_path")
    if repository is not None and isinstance(path, str) and path:
        posix = path.replace("\\", "/")  # dbt on Windows writes paths as Windows does
        url = f"{repository.rstrip('/')}/{quote(posix.lstrip('/'))}"
        yield at.owner, JOB_FIELD, ("externalUrl", PAGE_NODE), url
        if str(opened.body.get("unique_id")).startswith(_TEST):  # the file of a model is not that of its tests
            for urn in checks:
                yield urn, ASSERTION_URL, "", url
