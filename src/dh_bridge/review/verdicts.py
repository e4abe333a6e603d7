"""What of a delivery is there: written again it would change nothing, or it is missing, trimmed or overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from dh_bridge.catalog.dump import canonical
from dh_bridge.catalog.patch_layout import PatchError
from dh_bridge.catalog.templates import TEMPLATES
from dh_bridge.datahub import pointers
from dh_bridge.datahub.floats import stored
from dh_bridge.review.merging import SETS

if TYPE_CHECKING:
    from dh_bridge.review.state import Change
    from dh_bridge.sinks.base import Present

Word = Literal["held", "missing", "trimmed", "overwritten"]


class Verdict(NamedTuple):
    """``held``, or what is wrong: the paths that are gone or say something else, and who wrote the aspect last."""

    word: Word
    paths: list[str]
    writer: str | None


def verdict(change: Change) -> Verdict:
    """Compare an aspect as it is there with what the delivery would leave; what others added beside it is no fault."""
    whole = stored(change.aspect, change.after)
    after = canonical(change.aspect, whole)
    if change.before is None:
        return Verdict("held" if after is None else "missing", [], None)
    wanted, there = (
        _tree(change.aspect, after or whole),
        _tree(change.aspect, stored(change.aspect, change.before.value)),
    )
    gone: list[str] = []
    other: list[str] = []
    _compare(wanted, there, "", gone, other)
    if after is None:
        gone.clear()  # what says nothing may as well be absent
    taken = [pointers.steps(path) for path in sorted(change.taken)]
    other += ["/" + "/".join(parts) for parts in taken if _holds(there, parts) and not _holds(wanted, parts)]
    if not gone and not other:
        return Verdict("held", [], None)
    return Verdict("overwritten" if other else "trimmed", other or gone, writer(change.before))


def writer(present: Present) -> str | None:
    """Return who wrote an aspect: the pipeline and its run, else the actor."""
    said = [text for text in (present.pipeline_name, present.run_id) if text and text != "no-run-id-provided"]
    return " ".join(said) or present.actor


def _tree(aspect: str, value: dict[str, Any]) -> Any:
    """Return the aspect with its defaults, and its keyed arrays as objects: what others added stands beside, not between."""
    template = TEMPLATES.get(aspect)
    try:
        return value if template is None else template.tree({**template.default, **value})
    except PatchError:
        return value


def _compare(wanted: Any, there: Any, path: str, gone: list[str], other: list[str]) -> None:
    if isinstance(wanted, dict) and isinstance(there, dict):
        for key, value in wanted.items():
            if value in (None, [], {}):
                continue
            if key not in there or there[key] is None:
                gone.append(f"{path}/{key}")
            else:
                _compare(value, there[key], f"{path}/{key}", gone, other)
    elif isinstance(wanted, list) and isinstance(there, list) and path.rpartition("/")[2] in SETS:
        gone += [path] * any(one not in there for one in wanted)
    elif isinstance(wanted, list) and isinstance(there, list) and len(wanted) == len(there):
        for at, (one, found) in enumerate(zip(wanted, there, strict=True)):
            _compare(one, found, f"{path}/{at}", gone, other)
    elif wanted != there:
        other.append(path)


def _holds(tree: Any, path: list[str]) -> bool:
    """Say whether anything is left where a patch takes something away."""
    for step in path:
        tree = tree.get(step) if isinstance(tree, dict) else None
    return tree not in (None, [], {})
