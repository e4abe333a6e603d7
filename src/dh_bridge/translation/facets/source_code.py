"""sourceCode (job): the code that ran. https://openlineage.io/docs/spec/facets/job-facets/source-code"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import JOB_PROPERTIES, Statements
from dh_bridge.translation.facts import SQL as SQL_TEXT
from dh_bridge.translation.properties import worded
from dh_bridge.translation.reading.beside import beside

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


class SourceCode(Facet):
    """Language and text."""

    language: str | None = None
    sourceCode: str | None = None


@facet(
    "sourceCode",
    at="job",
    reads=SourceCode,
    leaves={
        "language": kept(),
        "sourceCode": mapped(SQL_TEXT, JOB_PROPERTIES["sql.query"]),
    },
)
def source_code(facet: SourceCode, at: Place) -> Statements:
    """SQL text as the sql facet (which wins); other code may hold secrets: hash and length, text by ``source_code: keep``."""
    properties = {}
    if facet.language:
        properties["sourceCode.language"] = worded("sourceCode.language", facet.language)
    code = facet.sourceCode
    if code:
        if (facet.language or "").upper() == "SQL":
            if str(beside(at, "sql").get("query", "")).strip():
                at.withheld("sourceCode", "duplicate-of:sql.query")
            else:
                yield at.owner, SQL_TEXT, "", ((at.stamp, code),)
        else:
            properties["sourceCode.sha256"] = hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
            properties["sourceCode.length"] = str(len(code))
            if at.options.settings.source_code == "keep":
                properties["sourceCode.sourceCode"] = worded("sourceCode.text", code)
            else:
                at.withheld("sourceCode", "secret")
    if properties:
        yield property_statement(at, properties)
