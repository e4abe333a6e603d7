"""Find a proposal by what it says; an AssertionError tells what there was instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub import pointers

if TYPE_CHECKING:
    from dh_bridge.datahub.proposal import Proposal

_ANY = object()
_SHOWN = 12
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
    found = list(proposals)
    near = [one for one in found if (aspect is None or one.aspect_name == aspect) and _is_urn(one.entity_urn, urn)]
    for one in near:
        if (not path and value is _ANY) or any(_fits(given, value) for given in values_at(one, path)):
            return one
    raise AssertionError(_complaint(found, near, aspect=aspect, urn=urn, path=path, value=value))


def values_at(proposal: Proposal, path: str = "") -> list[Any]:
    """Return the values at a JSON pointer of the aspect (``/result/type``, ``/owners/*/owner``; ``*`` is any member).

    Names of union branches (``{"string": "x"}``) may be left out. Of a PATCH, it is looked up among the operations that add
    or replace: their paths, then inside of their values.
    """
    if path and not path.startswith("/"):  # of "result/type" nothing but "type" would be looked up
        raise ValueError(f"{path!r} is no JSON pointer: write {'/' + path!r}")
    wanted = pointers.steps(path)
    if proposal.change_type != "PATCH":
        return list(_below(proposal.value, wanted))
    found: list[Any] = []
    for operation in operations(proposal):
        own = pointers.steps(operation["path"])
        if operation["op"] in _OPERATIONS and _agree(own, wanted):
            found += _below(operation.get("value"), wanted[len(own) :])
    return found


def operations(proposal: Proposal) -> list[dict[str, Any]]:
    """Return the operations of a PATCH, also of one in the envelope that names its array keys."""
    value = proposal.value
    listed = value.get("patch", []) if isinstance(value, Mapping) else value
    return list(listed)


def _agree(own: Sequence[str], steps: Sequence[str]) -> bool:
    """Return whether an operation's path is the wanted one, or leads to it."""
    return len(own) <= len(steps) and all(want in ("*", has) for has, want in zip(own, steps, strict=False))


def _below(value: Any, steps: Sequence[str]) -> Iterator[Any]:
    value = _untagged(value, steps[0] if steps else None)
    if not steps:
        yield value
    elif isinstance(value, list):
        chosen = value if steps[0] == "*" else value[int(steps[0]) :][:1] if steps[0].isdecimal() else []
        for member in chosen:
            yield from _below(member, steps[1:])
    elif isinstance(value, Mapping):
        chosen = list(value.values()) if steps[0] == "*" else [value[steps[0]]] if steps[0] in value else []
        for member in chosen:
            yield from _below(member, steps[1:])


def _untagged(value: Any, step: str | None) -> Any:
    """Return the branch of a union that names its branches, unless the path names it too."""
    if isinstance(value, Mapping) and len(value) == 1:
        (tag,) = value
        if tag != step and (tag in _TAGS or tag.startswith("com.linkedin.")):
            return value[tag]
    return value


def _is_urn(urn: str, wanted: str | None) -> bool:
    if wanted is None or urn == wanted:
        return True
    return wanted.endswith("*") and urn.startswith(wanted[:-1])


def _fits(given: Any, value: Any) -> bool:
    if value is _ANY:
        return True
    return bool(value(given)) if callable(value) else bool(given == value)


def _complaint(found: list[Proposal], near: list[Proposal], *, path: str, value: Any, **asked: str | None) -> str:
    wanted = " ".join(f"{name}={text!r}" for name, text in asked.items() if text is not None)
    place = f" path={path!r}" if path else ""
    say = "" if value is _ANY else f" value={value!r}"
    head = f"no proposal has {(wanted + place + say).strip() or 'anything'}"
    if not found:
        return f"{head}: there are no proposals"
    if near and path:
        return "\n".join([f"{head}; there is", *(_said(one, path) for one in near[:_SHOWN]), *_more(near)])
    return "\n".join([f"{head}; there are", *(f"  {_name(one)}" for one in found[:_SHOWN]), *_more(found)])


def _said(proposal: Proposal, path: str) -> str:
    values = values_at(proposal, path)
    if values:
        return f"  {_name(proposal)}: " + ", ".join(map(repr, values))
    known = (
        [operation["path"] for operation in operations(proposal)]
        if proposal.change_type == "PATCH"
        else [f"/{key}" for key in proposal.value]
    )
    return f"  {_name(proposal)}: nothing there, only {', '.join(known)}"


def _name(proposal: Proposal) -> str:
    return f"{proposal.change_type} {proposal.aspect_name} of {proposal.entity_urn}"


def _more(proposals: list[Proposal]) -> list[str]:
    return [f"  … and {len(proposals) - _SHOWN} more"] if len(proposals) > _SHOWN else []
