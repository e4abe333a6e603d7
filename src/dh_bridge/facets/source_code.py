"""Facets of the code of a job: its SQL, its text, and its location."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.sibling_facets import sibling_facet
from dh_bridge.model.facts import JOB_FIELD, JOB_PROPERTIES, VERSION_INFO, Facts
from dh_bridge.model.facts import SQL as SQL_TEXT
from dh_bridge.model.precedence import PAGE_CODE
from dh_bridge.model.properties import flatten, present_property_text, truncate

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


# -- sql (job): the statement that ran. https://openlineage.io/docs/spec/facets/job-facets/sql


class SqlFacet(Facet):
    """Query text and dialect."""

    query: str | None = None
    dialect: str | None = None


@facet(
    "sql",
    attach="job",
    struct=SqlFacet,
    outcomes={
        "query": mapped(SQL_TEXT, JOB_PROPERTIES["sql.query"]),
        "dialect": as_property(
            JOB_PROPERTIES,
            "queryProperties.urn",
        ),
    },
)
def sql(facet: SqlFacet, ctx: FacetContext) -> Facts:
    """DataTransformLogic of the job, or on servers without this aspect the property ``sql.query`` with its hash. With ``optional_metadata: [queries]``, also a query."""
    if facet.query and facet.query.strip():
        # of the statements of a dbt node the longest counts: others begin, rename and commit
        version = (len(facet.query), *ctx.version[1:]) if ctx.is_statement else ctx.version
        yield ctx.owner_urn, SQL_TEXT, "", ((version, facet.query),)
    if facet.dialect:
        yield property_fact(ctx, {"sql.dialect": present_property_text("sql.dialect", facet.dialect)})


# -- sourceCode (job): the code that ran. https://openlineage.io/docs/spec/facets/job-facets/source-code


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
    """SQL is written as that of the facet sql, which wins if an event has both. Of other code, which may have secrets, hash and length; with ``source_code: keep`` its text."""
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


# -- sourceCodeLocation (job): location of its code. https://openlineage.io/docs/spec/facets/job-facets/source-code-location

_PROPERTY_FIELDS = ("type", "repoUrl", "path", "version", "tag", "branch", "pullRequestNumber")


class SourceCodeLocation(Facet):
    """Repository, path and revision."""

    type: str | None = None
    url: str | None = None
    repoUrl: str | None = None
    path: str | None = None
    version: str | None = None
    tag: str | None = None
    branch: str | None = None
    pullRequestNumber: str | None = None


@facet(
    "sourceCodeLocation",
    attach="job",
    struct=SourceCodeLocation,
    outcomes={
        "url": mapped(JOB_FIELD["externalUrl"], JOB_PROPERTIES, "assertionInfo.externalUrl"),
        **{name: as_property(allows_empty=True) for name in _PROPERTY_FIELDS},
        "version": mapped(VERSION_INFO, JOB_PROPERTIES),
    },
)
def source_code_location(facet: SourceCodeLocation, ctx: FacetContext) -> Facts:
    """The web page of the code is the externalUrl of the job and of the checks of its runs. The revision is versionInfo. All fields are also properties."""
    properties = flatten("sourceCodeLocation", {name: getattr(facet, name) for name in _PROPERTY_FIELDS})
    if facet.url:
        if facet.url.startswith(("http://", "https://")):
            yield ctx.owner_urn, JOB_FIELD, ("externalUrl", PAGE_CODE), facet.url
        else:
            properties["sourceCodeLocation.url"] = facet.url
    if facet.version and facet.version.strip():
        url = facet.url if facet.url and facet.url.startswith(("http://", "https://")) else None
        version_type = (facet.type or "").strip() or "unknown"
        yield ctx.owner_urn, VERSION_INFO, "", (truncate(facet.version.strip()), truncate(version_type), url)
    if properties:
        yield property_fact(ctx, properties)
