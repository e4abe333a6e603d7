"""sourceCode (job): the code that ran. https://openlineage.io/docs/spec/facets/job-facets/source-code"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.sibling_facets import sibling_facet
from dh_bridge.model.facts import JOB_PROPERTIES, Facts
from dh_bridge.model.facts import SQL as SQL_TEXT
from dh_bridge.model.properties import present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


class SourceCode(Facet):
    """Language and text."""

    language: str | None = None
    sourceCode: str | None = None


@facet(
    "sourceCode",
    attach="job",
    struct=SourceCode,
    outcomes={
        "language": as_property(),
        "sourceCode": mapped(SQL_TEXT, JOB_PROPERTIES["sql.query"]),
    },
)
def source_code(facet: SourceCode, ctx: FacetContext) -> Facts:
    """SQL text as the sql facet (which wins); other code may hold secrets: hash and length, text by ``source_code: keep``."""
    properties = {}
    if facet.language:
        properties["sourceCode.language"] = present_property_text("sourceCode.language", facet.language)
    code = facet.sourceCode
    if code:
        if (facet.language or "").upper() == "SQL":
            if str(sibling_facet(ctx, "sql").get("query", "")).strip():
                ctx.note_dropped("sourceCode", "duplicate-of:sql.query")
            else:
                yield ctx.owner_urn, SQL_TEXT, "", ((ctx.version, code),)
        else:
            properties["sourceCode.sha256"] = hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
            properties["sourceCode.length"] = str(len(code))
            if ctx.options.settings.source_code == "keep":
                properties["sourceCode.sourceCode"] = present_property_text("sourceCode.text", code)
            else:
                ctx.note_dropped("sourceCode", "secret")
    if properties:
        yield property_fact(ctx, properties)
