"""Links: URLs of pages about the runs and jobs that events name."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import quote

from pydantic import AfterValidator

_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_URL = re.compile(r"https?://\S+").fullmatch
#: Placeholders by the kind of link; each other kind is a source of the facet externalQuery.
_PLACEHOLDERS = {
    "databricks": {"job", "run"},
    "dataproc": {"section", "id", "project"},
    "dbt": {"path"},
}


def _check_templates(templates: dict[str, str]) -> dict[str, str]:
    for kind, template in templates.items():
        expected = _PLACEHOLDERS.get(kind, {"id"})
        if not _URL(template) or not _PLACEHOLDER.search(template) or set(_PLACEHOLDER.findall(template)) - expected:
            listed = ", ".join(f"{{{name}}}" for name in sorted(expected))
            raise ValueError(f"`{kind}` should be an URL (http or https) with {listed}")
    return templates


def fill_link(templates: dict[str, str], kind: str, **values: str) -> str | None:
    """Return the URL of a page, None if the settings have no template of this kind for these values.

    >>> fill_link({"dbt": "https://git.example.com/{path}"}, "dbt", path="models/a b.sql")
    'https://git.example.com/models/a%20b.sql'
    """
    template = templates.get(kind)
    if template is None or not values.keys() >= set(_PLACEHOLDER.findall(template)):
        return None
    safe = "/" if kind == "dbt" else ""
    return _PLACEHOLDER.sub(lambda match: quote(values[match[1]], safe=safe), template)


Links = Annotated[dict[str, str], AfterValidator(_check_templates)]
