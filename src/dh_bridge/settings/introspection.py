"""The fields of the settings models, walked: names, types, defaults, descriptions, secrets."""

from __future__ import annotations

import re
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SECRET = re.compile(
    r"pass(word|wd|phrase)?$|pwd|secret|token|credential|(api|access|private)[-_.]?key|authorization|keytab|signature|^sig$"
    r"|^pem$|^config$",  # ssl.key.pem and sasl.oauthbearer.config of librdkafka
    re.IGNORECASE,
)
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")
_QUERY = re.compile(r"(?P<sign>[?&])(?P<name>[^=&#\s]+)=(?P<value>[^&#\s]+)")
MASK = "********"
REQUIRED = "required"
_LISTS = (list, tuple, set, frozenset)


class Leaf(NamedTuple):
    """One setting: its dotted key, its type and bounds as people read them, its default and its description."""

    key: str
    kind: str
    default: Any
    description: str


def names(model: type[BaseModel]) -> dict[str, Any]:
    """Return the annotation of each field of ``model`` by the name that files use (its alias, where it has one)."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def area(annotation: Any) -> type[BaseModel] | None:
    """Return the model when the annotation is one, or an optional one; else None."""
    choices = [choice for choice in _choices(annotation) if choice is not type(None)]
    one = choices[0] if len(choices) == 1 else None
    return one if isinstance(one, type) and issubclass(one, BaseModel) else None


def annotation_at(root: type[BaseModel], path: tuple[str | int, ...]) -> Any:
    """Return the annotation of the field at ``path``, None where there is no such field; a number is a place in a list."""
    model: type[BaseModel] | None = root
    found: Any = root
    for step in path:
        inside = names(model) if model is not None else {}
        found = _listed(found) if isinstance(step, int) else inside.get(step)
        model = area(found) if found is not None else None
    return found


def takes_text(annotation: Any) -> bool:
    """Whether a bare text is a value for the field as it stands (text, numbers, choices, paths: no lists, no areas)."""
    return all(
        get_origin(choice) not in (list, tuple, dict, set, frozenset) for choice in _choices(annotation)
    ) and not area(annotation)


def is_simple(annotation: Any) -> bool:
    """Whether a value of the field is one text, number or choice that is no secret; not so where there is no field."""
    return annotation is not None and takes_text(annotation) and SecretStr not in _choices(annotation)


def takes_list(annotation: Any) -> bool:
    """Whether the field takes a list of texts."""
    return any(
        get_origin(choice) in _LISTS and takes_text((get_args(choice) or (str,))[0]) for choice in _choices(annotation)
    )


def is_path(annotation: Any) -> bool:
    """Whether the field holds a path of the file system."""
    return Path in _choices(annotation)


def is_secret(key: str, value: Any = None) -> bool:
    """Whether a value may not be shown, by its type or by its key's name."""
    return isinstance(value, SecretStr) or bool(_SECRET.search(key.rsplit(".", 1)[-1]))


def masked(key: str, value: Any) -> Any:
    """Return ``value`` (JSON) fit to be shown: secrets as stars, also inside lists, mappings and URLs."""
    if isinstance(value, dict):
        return {name: masked(str(name), inner) for name, inner in value.items()}
    if is_secret(key, value) and value not in (None, "", [], ()):
        return MASK
    if isinstance(value, list | tuple):
        return [masked(key, inner) for inner in value]
    return _QUERY.sub(_parameter, _USERINFO.sub(f"{MASK}@", value)) if isinstance(value, str) else value


def _parameter(found: re.Match[str]) -> str:
    """Return a parameter of a URL's query, with stars when its name is that of a secret."""
    return f"{found['sign']}{found['name']}={MASK}" if is_secret(found["name"]) else found[0]


def leaves(model: type[BaseModel], prefix: str = "") -> Iterator[Leaf]:
    """Yield every setting below ``model`` in the order of the models, members of lists as ``rules[].name``."""
    for name, field in model.model_fields.items():
        key = f"{prefix}{field.alias or name}"
        inner = area(field.annotation)
        if inner is not None:
            about = f"{field.description} " if prefix else ""
            for leaf in leaves(inner, f"{key}."):
                yield leaf._replace(description=about + leaf.description)
            continue
        default = REQUIRED if field.is_required() else field.get_default(call_default_factory=True)
        kind = ", ".join([readable(field.annotation), *_bounds(field.metadata)])
        yield Leaf(key, kind, default, field.description or "")
        member = _member(field.annotation)
        if member is not None:
            yield from leaves(member, f"{key}[].")


def values(settings: BaseModel, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the path and the value (as JSON) of every setting in ``settings``."""
    dumped = settings.model_dump(mode="json", by_alias=True)
    for name, field in type(settings).model_fields.items():
        key = field.alias or name
        value = getattr(settings, name)
        if isinstance(value, BaseModel) and area(field.annotation):
            yield from values(value, (*prefix, key))
        else:
            yield (*prefix, key), dumped[key]


def readable(annotation: Any) -> str:
    """Return a type as people read it: ``all | outputs | never``, ``list of text``, ``whole number``."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(f"`{choice}`" for choice in inner)
    if origin in (Union, types.UnionType):
        return " or ".join(readable(choice) for choice in inner if choice is not type(None))
    if origin in _LISTS:
        return f"list of {readable(inner[0])}"
    if origin is dict:
        return f"mapping of {readable(inner[0])} to {readable(inner[1])}"
    if hasattr(annotation, "__metadata__"):
        return readable(inner[0])
    simple = {
        str: "text",
        int: "whole number",
        float: "number",
        bool: "`true` | `false`",
        Path: "path",
        SecretStr: "secret",
    }
    return simple.get(annotation) or str(getattr(annotation, "__name__", annotation))


_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


def _bounds(constraints: Iterable[Any]) -> Iterator[str]:
    """Yield what a number must keep to, as people read it: ``at least 1,024``, ``below 10``."""
    for constraint in constraints:
        for name, words in _BOUNDS.items():
            bound = getattr(constraint, name, None)
            if bound is not None:
                yield f"{words} {bound:,}"


def _member(annotation: Any) -> type[BaseModel] | None:
    """Return the model that a list is made of, or a mapping's values; None for other lists and for no list."""
    for choice in _choices(annotation):
        inner = [one for one in get_args(choice) if one is not Ellipsis]
        if get_origin(choice) in (*_LISTS, dict) and inner:
            return area(inner[-1])
    return None


def _listed(annotation: Any) -> Any:
    """Return what the members of a list are; None for what is no list."""
    return next((get_args(one)[0] for one in _choices(annotation) if get_origin(one) in _LISTS and get_args(one)), None)


def _choices(annotation: Any) -> tuple[Any, ...]:
    if hasattr(annotation, "__metadata__"):
        return _choices(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(inner for choice in get_args(annotation) for inner in _choices(choice))
    return (annotation,)
