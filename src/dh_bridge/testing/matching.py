"""Find a proposal by its content; an AssertionError lists the proposals that were found instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub import pointers

if TYPE_CHECKING:
    from dh_bridge.datahub.proposal import Proposal

_ANY = object()
_MAX_SHOWN = 12
_TAGS = frozenset(("array", "boolean", "bytes", "double", "float", "int", "long", "map", "string"))
_OPERATIONS = frozenset(("add", "replace"))


def find(
    proposals: Iterable[Proposal],
    *,
    aspect: str | None = None,
    urn: str | None = None,
    path: str = "",
    value: Any = _ANY,
) -> Proposal:
    """Return the first proposal with this aspect, URN and value; an AssertionError when there is none.

    ``urn`` is a whole URN or, with a ``*`` at its end, how it begins. ``path`` and the values there are those of
    :func:`values_at`. ``value`` is compared; a function is asked (``value=lambda rows: rows > 0``); left out, any will do.
    """
    all_proposals = list(proposals)
    candidates = [
        proposal
        for proposal in all_proposals
        if (aspect is None or proposal.aspect_name == aspect) and _matches_urn(proposal.entity_urn, urn)
    ]
    for proposal in candidates:
        if (not path and value is _ANY) or any(_matches_value(actual, value) for actual in values_at(proposal, path)):
            return proposal
    raise AssertionError(_failure_message(all_proposals, candidates, aspect=aspect, urn=urn, path=path, value=value))


def values_at(proposal: Proposal, path: str = "") -> list[Any]:
    """Return the values at a JSON pointer of the aspect (``/result/type``, ``/owners/*/owner``; ``*`` is any member).

    Names of union branches (``{"string": "x"}``) may be left out. Of a PATCH, it is looked up among the operations that add
    or replace: their paths, then inside of their values.
    """
    if path and not path.startswith("/"):  # of "result/type" nothing but "type" would be looked up
        raise ValueError(f"{path!r} is not a JSON pointer: use {'/' + path!r}")
    steps = pointers.steps(path)
    if proposal.change_type != "PATCH":
        return list(_iter_values(proposal.value, steps))
    values: list[Any] = []
    for operation in operations(proposal):
        operation_steps = pointers.steps(operation["path"])
        if operation["op"] in _OPERATIONS and _is_prefix(operation_steps, steps):
            values += _iter_values(operation.get("value"), steps[len(operation_steps) :])
    return values


def operations(proposal: Proposal) -> list[dict[str, Any]]:
    """Return the operations of a PATCH, also of one in the envelope that names its array keys."""
    value = proposal.value
    patch = value.get("patch", []) if isinstance(value, Mapping) else value
    return list(patch)


def _is_prefix(operation_steps: Sequence[str], steps: Sequence[str]) -> bool:
    """Return whether an operation's path is the wanted one, or leads to it."""
    return len(operation_steps) <= len(steps) and all(
        step in ("*", operation_step) for operation_step, step in zip(operation_steps, steps, strict=False)
    )


def _iter_values(value: Any, steps: Sequence[str]) -> Iterator[Any]:
    value = _strip_union_tag(value, steps[0] if steps else None)
    if not steps:
        yield value
    elif isinstance(value, list):
        members = value if steps[0] == "*" else value[int(steps[0]) :][:1] if steps[0].isdecimal() else []
        for member in members:
            yield from _iter_values(member, steps[1:])
    elif isinstance(value, Mapping):
        members = list(value.values()) if steps[0] == "*" else [value[steps[0]]] if steps[0] in value else []
        for member in members:
            yield from _iter_values(member, steps[1:])


def _strip_union_tag(value: Any, step: str | None) -> Any:
    """Return the branch of a union that names its branches, unless the path names it too."""
    if isinstance(value, Mapping) and len(value) == 1:
        (tag,) = value
        if tag != step and (tag in _TAGS or tag.startswith("com.linkedin.")):
            return value[tag]
    return value


def _matches_urn(urn: str, pattern: str | None) -> bool:
    if pattern is None or urn == pattern:
        return True
    return pattern.endswith("*") and urn.startswith(pattern[:-1])


def _matches_value(actual: Any, expected: Any) -> bool:
    if expected is _ANY:
        return True
    return bool(expected(actual)) if callable(expected) else bool(actual == expected)


def _failure_message(
    all_proposals: list[Proposal], candidates: list[Proposal], *, path: str, value: Any, **criteria: str | None
) -> str:
    criteria_text = " ".join(f"{name}={text!r}" for name, text in criteria.items() if text is not None)
    path_text = f" path={path!r}" if path else ""
    value_text = "" if value is _ANY else f" value={value!r}"
    head = f"no proposal has {(criteria_text + path_text + value_text).strip() or 'anything'}"
    if not all_proposals:
        return f"{head}: there are no proposals"
    if candidates and path:
        return "\n".join(
            [
                f"{head}; there is",
                *(_describe_values(proposal, path) for proposal in candidates[:_MAX_SHOWN]),
                *_remaining_line(candidates),
            ]
        )
    return "\n".join(
        [
            f"{head}; there are",
            *(f"  {_title(proposal)}" for proposal in all_proposals[:_MAX_SHOWN]),
            *_remaining_line(all_proposals),
        ]
    )


def _describe_values(proposal: Proposal, path: str) -> str:
    values = values_at(proposal, path)
    if values:
        return f"  {_title(proposal)}: " + ", ".join(map(repr, values))
    paths = (
        [operation["path"] for operation in operations(proposal)]
        if proposal.change_type == "PATCH"
        else [f"/{key}" for key in proposal.value]
    )
    return f"  {_title(proposal)}: no such path, only {', '.join(paths)}"


def _title(proposal: Proposal) -> str:
    return f"{proposal.change_type} {proposal.aspect_name} of {proposal.entity_urn}"


def _remaining_line(proposals: list[Proposal]) -> list[str]:
    return [f"  … and {len(proposals) - _MAX_SHOWN} more"] if len(proposals) > _MAX_SHOWN else []
