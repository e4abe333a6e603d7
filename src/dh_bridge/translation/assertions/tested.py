"""Which datasets a ``test`` of a run is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dh_bridge.translation.assertions.check import Check, said

if TYPE_CHECKING:
    from collections.abc import Sequence

_HINTS = ("dataset", "model", "column")


def datasets_of_test(
    check: Check, datasets: Sequence[str], *, several: Literal["all", "first", "none"] = "all"
) -> list[str]:
    """Return the URNs among ``datasets`` (the event's inputs, else its outputs) that ``check`` is about.

    The parameters ``dataset``, ``model`` or ``column`` may name one; without a hint, ``several`` decides: a
    relationship concerns both. "First" is the smallest URN.
    """
    if len(datasets) < 2:
        return list(datasets)
    for hint in _HINTS:
        value = said(check.params.get(hint))
        if not isinstance(value, str):
            continue
        wanted = value.rpartition(".")[0] if hint == "column" else value
        named = [urn for urn in datasets if wanted and _is_called(urn, wanted)]
        if len(named) == 1:
            return named
    if several == "all":
        return sorted(datasets)
    return [min(datasets)] if several == "first" else []


def _is_called(urn: str, name: str) -> bool:
    if urn == name:
        return True
    # urn:li:dataset:(urn:li:dataPlatform:<platform>,<name>,<env>)
    full = urn.split(",", 1)[-1].rsplit(",", 1)[0].lower()
    return full == name.lower() or full.endswith(f".{name.lower()}")
