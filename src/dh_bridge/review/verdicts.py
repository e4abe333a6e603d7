"""The state of a delivery at the target: unchanged, missing, trimmed or overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from dh_bridge.catalog.dump import canonical_aspect
from dh_bridge.catalog.patch_layout import PatchError
from dh_bridge.catalog.templates import TEMPLATES
from dh_bridge.datahub import pointers
from dh_bridge.datahub.floats import round_floats
from dh_bridge.review.merging import SET_FIELDS

if TYPE_CHECKING:
    from dh_bridge.review.state import AspectChange
    from dh_bridge.sinks.base import StoredAspect

VerdictStatus = Literal["held", "missing", "trimmed", "overwritten"]


class Verdict(NamedTuple):
    """``held``, or the problem: the paths that are missing or differ, and the last writer of the aspect."""

    status: VerdictStatus
    paths: list[str]
    writer: str | None


def judge_change(change: AspectChange) -> Verdict:
    """Compare the present aspect with the delivered one; additions of other writers are not a problem."""
    expected_value = round_floats(change.aspect, change.after)
    after = canonical_aspect(change.aspect, expected_value)
    if change.before is None:
        return Verdict("held" if after is None else "missing", [], None)
    expected, present = (
        _tree(change.aspect, after or expected_value),
        _tree(change.aspect, round_floats(change.aspect, change.before.value)),
    )
    missing_paths: list[str] = []
    different_paths: list[str] = []
    _compare(expected, present, "", missing_paths, different_paths)
    if after is None:
        missing_paths.clear()  # an empty value may be absent
    removed_paths = [pointers.steps(path) for path in sorted(change.removed_paths)]
    different_paths += [
        "/" + "/".join(parts)
        for parts in removed_paths
        if _has_value(present, parts) and not _has_value(expected, parts)
    ]
    if not missing_paths and not different_paths:
        return Verdict("held", [], None)
    return Verdict(
        "overwritten" if different_paths else "trimmed", different_paths or missing_paths, last_writer(change.before)
    )


def last_writer(present: StoredAspect) -> str | None:
    """Return who wrote an aspect: the pipeline and its run, else the actor."""
    names = [text for text in (present.pipeline_name, present.run_id) if text and text != "no-run-id-provided"]
    return " ".join(names) or present.actor


def _tree(aspect: str, value: dict[str, Any]) -> Any:
    """Return the aspect with its defaults, and keyed arrays as objects, so that elements of others do not shift positions."""
    template = TEMPLATES.get(aspect)
    try:
        return value if template is None else template.tree({**template.default, **value})
    except PatchError:
        return value


def _compare(expected: Any, present: Any, path: str, missing_paths: list[str], different_paths: list[str]) -> None:
    if isinstance(expected, dict) and isinstance(present, dict):
        for key, value in expected.items():
            if value in (None, [], {}):
                continue
            if key not in present or present[key] is None:
                missing_paths.append(f"{path}/{key}")
            else:
                _compare(value, present[key], f"{path}/{key}", missing_paths, different_paths)
    elif isinstance(expected, list) and isinstance(present, list) and path.rpartition("/")[2] in SET_FIELDS:
        missing_paths += [path] * any(expected_item not in present for expected_item in expected)
    elif isinstance(expected, list) and isinstance(present, list) and len(expected) == len(present):
        for index, (expected_item, present_item) in enumerate(zip(expected, present, strict=True)):
            _compare(expected_item, present_item, f"{path}/{index}", missing_paths, different_paths)
    elif expected != present:
        different_paths.append(path)


def _has_value(tree: Any, path: list[str]) -> bool:
    """Return whether a path that a patch removes still has a value."""
    for step in path:
        tree = tree.get(step) if isinstance(tree, dict) else None
    return tree not in (None, [], {})
