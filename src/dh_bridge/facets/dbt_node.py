"""dbt_node (job): the node of the dbt project (openlineage-dbt)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, property_fact
from dh_bridge.model.facts import ASSERTION_PROPERTIES, ASSERTION_URL, JOB_FIELD, JOB_PROPERTIES, Facts
from dh_bridge.model.precedence import PAGE_NODE
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


_TEST_TYPE, _TEST_PREFIX = "dbt_node.test_type", "test."


@facet(
    "dbt_node",
    attach="job",
    outcomes={
        "test_type": as_property(JOB_PROPERTIES, ASSERTION_PROPERTIES),
        "**": as_property(),
    },
    producer="dbt",
    is_cached=True,
)
def dbt_node(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """File, database, schema, alias and unique id of the node; the page of its file by ``links.dbt_repository``.

    The type of a test and the page of its file are those of its check, too.
    """
    if facet.properties is None:
        facet.properties = flatten("dbt_node", facet.content)
    if facet.properties:
        yield property_fact(ctx, facet.properties)
    checks = [urn for checks_by_urn in ctx.checks.values() for urn in checks_by_urn]
    if _TEST_TYPE in facet.properties:
        for urn in checks:
            yield urn, ASSERTION_PROPERTIES, "dbt_node", {_TEST_TYPE: facet.properties[_TEST_TYPE]}
    repository, path = ctx.options.settings.links.dbt_repository, facet.content.get("original_file_path")
    if repository is not None and isinstance(path, str) and path:
        posix_path = path.replace("\\", "/")  # dbt on Windows writes paths as Windows does
        url = f"{repository.rstrip('/')}/{quote(posix_path.lstrip('/'))}"
        yield ctx.owner_urn, JOB_FIELD, ("externalUrl", PAGE_NODE), url
        if str(facet.content.get("unique_id")).startswith(_TEST_PREFIX):  # the file of a model is not that of its tests
            for urn in checks:
                yield urn, ASSERTION_URL, "", url
