"""Mermaid diagrams as SVG. The pages contain the Mermaid source, which GitHub renders; the site contains the SVG and no script."""

from __future__ import annotations

import re
from typing import Any

import mmdr

_ROOT_TAG = re.compile(r"<svg\b[^>]*>")


def mermaid_svg(source: str) -> str:
    """Return the SVG of a Mermaid diagram.

    Raises:
        ValueError: the source is no diagram.
    """
    return str(mmdr.render(source, backend="mermaid-rs-renderer").svg())


def mermaid_figure(source: str, _language: str, _class: str, _options: Any, _markdown: Any, **_kwargs: Any) -> str:
    """Return the HTML of a fenced ``mermaid`` block, in the form of a custom fence of pymdownx.superfences."""
    svg = mermaid_svg(source)
    return f'<figure class="diagram">{svg[svg.index("<svg") :]}</figure>'
