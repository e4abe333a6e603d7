"""What a person may have meant who asks a catalogue for something that it does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.cli.screen import say
from dh_bridge.datahub import urns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.catalog.store import Catalog

_MOST = 5
_SHORT = 3


def say_unknown(catalog: Catalog, file: str, asked: str) -> None:
    """Say that ``file`` has nothing of the URN ``asked``, and which entities have its name, or the end of it, in theirs."""
    near: list[str] = next(filter(None, (catalog.named(name, _MOST) for name in _names(asked))), [])
    say(f"{file} knows nothing of {asked}" + (", but of" if near else ""))
    for urn in near:
        say(f"  {urn}")


def _names(asked: str) -> Iterator[str]:
    """Yield what may stand in the URN that was meant: the name, then the last part of it."""
    parts = urns.parse(asked)[1] if urns.is_urn(asked) else (asked,)
    names = [part for part in parts if len(part) > _SHORT and not part.startswith("urn:li:")]
    yield from names[:1]
    yield from (last for name in names[:1] if len(last := name.rpartition(".")[2]) > _SHORT and last != name)
