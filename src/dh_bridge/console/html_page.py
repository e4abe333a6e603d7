"""One HTML file with the lineage graph of the console: its scripts, styles and data are inside, and it loads nothing.

The modules of the page import each other. In the file each of them is a function that returns its exports, in the order of the
imports. The content security policy of the file allows exactly these scripts and styles.
"""

from __future__ import annotations

import base64
import hashlib
import posixpath
import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.console.assets import find_asset
from dh_bridge.console.column_lineage import ColumnEdge, read_column_lineage
from dh_bridge.console.entities import DatasetColumn, read_columns
from dh_bridge.console.lineage_view import MAX_NODES, LineageView, read_lineage_view

if TYPE_CHECKING:
    from dh_bridge.catalog.lineage import Direction
    from dh_bridge.catalog.store import Catalog

_ENTRY = "js/page.js"
_THEME_SCRIPT = "js/theme_start.js"
_STYLES = ("css/tokens.css", "css/base.css", "css/views.css", "css/graph.css")
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "([^"]+)";$', re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)
_EXPORT_LIST = re.compile(r"export\s*\{([^}]*)\};?")
_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '{theme_hash}' '{script_hash}'; style-src '{style_hash}'; img-src blob:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<script>{theme_script}</script>
<style>{styles}</style>
</head>
<body>
<header class="bar"><span class="brand">dh_bridge <span class="brand-part">lineage</span></span><span class="bar-search"></span>\
<button class="quiet" id="theme" type="button"></button></header>
<main id="main" class="wide"></main>
<p class="announce" id="announce" role="status" aria-live="polite"></p>
<script type="application/json" id="data">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


class LineagePageData(msgspec.Struct, frozen=True):
    """The data of the page: the graph, the columns of its datasets by URN, the edges between them, and when it was written."""

    view: LineageView
    columns: dict[str, list[DatasetColumn]]
    column_edges: list[ColumnEdge]
    written: str


def lineage_page(catalog: Catalog, urn: str, *, direction: Direction, depth: int) -> str:
    """Return the HTML of a page with the lineage around an entity, of at most 500 nodes.

    Args:
        catalog: The catalogue.
        urn: A dataset or job.
        direction: The sides to follow.
        depth: The number of steps to follow on each side.
    """
    view = read_lineage_view(catalog, urn, direction=direction, depth=depth, limit=MAX_NODES)
    columns = {item.urn: read_columns(catalog, item.urn) for item in view.nodes if item.type == "dataset"}
    edges = {
        edge: None
        for dataset, dataset_columns in columns.items()
        for column in dataset_columns
        for edge in read_column_lineage(catalog, dataset, column.path, steps=1).edges
    }
    written = f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M}"
    data = msgspec.json.encode(LineagePageData(view, columns, list(edges), written)).decode()
    script, theme_script, styles = _bundle(), _read(_THEME_SCRIPT), "\n".join(_read(path) for path in _STYLES)
    return _PAGE.format(
        title=_escape(f"Lineage of {view.nodes[0].name}"),
        styles=styles,
        script=script,
        theme_script=theme_script,
        data=data.replace("<", "\\u003c"),
        script_hash=_hash(script),
        theme_hash=_hash(theme_script),
        style_hash=_hash(styles),
    )


def _bundle() -> str:
    """Return the modules that the page needs as one script."""
    names: dict[str, str] = {}
    parts: list[str] = []

    def add(path: str) -> str:
        if path not in names:
            source = _SOURCE_MAP.sub("", _read(path))

            def replace(match: re.Match[str]) -> str:
                name = add(posixpath.normpath(posixpath.join(posixpath.dirname(path), match[2])))
                return f"const {match[1].replace(' as ', ': ')} = {name};"

            source = _IMPORT.sub(replace, source)
            names[path] = f"module{len(names)}"
            parts.append(f"const {names[path]} = (() => {{\n{_with_exports(source)}\n}})();")
        return names[path]

    add(_ENTRY)
    return "\n".join(parts)


def _with_exports(source: str) -> str:
    """Return a module's source as the body of a function that returns its exports."""
    exports = _EXPORTED.findall(source)
    source = re.sub(r"^export ", "", _EXPORT_LIST.sub(_returned_list, source), flags=re.MULTILINE)
    return f"{source}\nreturn {{ {', '.join(exports)} }};" if exports else source


def _returned_list(match: re.Match[str]) -> str:
    pairs = [part.strip().partition(" as ") for part in match[1].split(",")]
    return f"return {{ {', '.join(f'{exported or local}: {local}' for local, _, exported in pairs)} }};"


def _read(path: str) -> str:
    asset = find_asset(path)
    assert asset is not None, path  # noqa: S101 - a file of the package
    return asset.content.decode()


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
