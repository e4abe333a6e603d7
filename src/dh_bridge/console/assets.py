"""The files of the page, read once from the package."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from importlib.abc import Traversable

_CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_INDEX = "index.html"


class Asset(NamedTuple):
    """A file of the page: its content, its type and its entity tag."""

    content: bytes
    content_type: str
    etag: str


def find_asset(path: str) -> Asset | None:
    """Return a file by its path below ``static``, the page itself for an empty path; None if there is no such file."""
    return _assets().get(path or _INDEX)


@cache
def _assets() -> dict[str, Asset]:
    return dict(_read_folder(files("dh_bridge.console") / "static", ""))


def _read_folder(folder: Traversable, prefix: str) -> list[tuple[str, Asset]]:
    assets = []
    for entry in folder.iterdir():
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            assets += _read_folder(entry, f"{path}/")
        elif content_type := _CONTENT_TYPES.get(path[path.rfind(".") :]):
            content = entry.read_bytes()
            assets.append((path, Asset(content, content_type, f'"{blake2b(content, digest_size=12).hexdigest()}"')))
    return assets
