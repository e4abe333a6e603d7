"""Which datasets a ``test`` of a run is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dh_bridge.assertions.check import Check, meaningful_value

if TYPE_CHECKING:
    from collections.abc import Sequence

_HINTS = ("dataset", "model", "column")


def datasets_of_test(
    check: Check, datasets: Sequence[str], *, multi_dataset: Literal["all", "first", "none"] = "all"
) -> list[str]:
    """Return the URNs among ``datasets`` (the event's inputs, else its outputs) that ``check`` is about.

    The parameters ``dataset``, ``model`` or ``column`` may name one; without a hint, ``multi_dataset`` decides: a
    relationship concerns both. "First" is the smallest URN.
    """
    if len(datasets) < 2:
        return list(datasets)
    for hint in _HINTS:
        value = meaningful_value(check.params.get(hint))
        if not isinstance(value, str):
            continue
        dataset_name = value.rpartition(".")[0] if hint == "column" else value
        matches = [urn for urn in datasets if dataset_name and _has_name(urn, dataset_name)]
        if len(matches) == 1:
            return matches
    if multi_dataset == "all":
        return sorted(datasets)
    return [min(datasets)] if multi_dataset == "first" else []


def _has_name(urn: str, name: str) -> bool:
    if urn == name:
        return True
    # urn:li:dataset:(urn:li:dataPlatform:<platform>,<name>,<env>)
    dataset_name = urn.split(",", 1)[-1].rsplit(",", 1)[0].lower()
    return dataset_name == name.lower() or dataset_name.endswith(f".{name.lower()}")
