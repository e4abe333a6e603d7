"""The fields of the settings models: names, types, defaults, descriptions, secrets."""

from __future__ import annotations

import re
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SECRET_KEY = re.compile(
    r"pass(word|wd|phrase)?$|pwd|secret|token|credential|(api|access|private)[-_.]?key|authorization|keytab|signature|^sig$"
    r"|^pem$|^config$",  # ssl.key.pem and sasl.oauthbearer.config of librdkafka
    re.IGNORECASE,
)
_MAX_KEY_LENGTH = 200
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")
_QUERY = re.compile(r"(?P<sign>[?&])(?P<name>[^=&#\s]+)=(?P<value>[^&#\s]+)")
MASK = "********"
REQUIRED = "required"
_LISTS = (list, tuple, set, frozenset)


class SettingField(NamedTuple):
    """One setting: its dotted key, its type and bounds as people read them, its default and its description."""

    key: str
    kind: str
    default: Any
    description: str


def field_annotations(model: type[BaseModel]) -> dict[str, Any]:
    """Return the annotation of each field of ``model`` by its name in files (its alias, if it has one)."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def model_of(annotation: Any) -> type[BaseModel] | None:
    """Return the model when the annotation is one, or an optional one; else None."""
    choices = [choice for choice in _choices(annotation) if choice is not type(None)]
    model = choices[0] if len(choices) == 1 else None
    return model if isinstance(model, type) and issubclass(model, BaseModel) else None


def annotation_at(root: type[BaseModel], path: tuple[str | int, ...]) -> Any:
    """Return the annotation of the field at ``path``, None if there is no such field; a number is a position in a list."""
    model: type[BaseModel] | None = root
    annotation: Any = root
    for step in path:
        field_types = field_annotations(model) if model is not None else {}
        annotation = _item_annotation(annotation) if isinstance(step, int) else field_types.get(step)
        model = model_of(annotation) if annotation is not None else None
    return annotation


def takes_text(annotation: Any) -> bool:
    """Return whether a plain text is a value for the field (text, numbers, choices, paths; not lists and areas)."""
    return all(
        get_origin(choice) not in (list, tuple, dict, set, frozenset) for choice in _choices(annotation)
    ) and not model_of(annotation)


def is_simple(annotation: Any) -> bool:
    """Return whether a value of the field is one text, number or choice, and no secret; False if the field does not exist."""
    return annotation is not None and takes_text(annotation) and SecretStr not in _choices(annotation)


def takes_list(annotation: Any) -> bool:
    """Whether the field takes a list of texts."""
    return any(
        get_origin(choice) in _LISTS and takes_text((get_args(choice) or (str,))[0]) for choice in _choices(annotation)
    )


def is_path(annotation: Any) -> bool:
    """Whether the field holds a path of the file system, or a list of them."""
    return any(Path in (choice, *get_args(choice)) for choice in _choices(annotation))


def is_secret(key: str, value: Any = None) -> bool:
    """Whether a value may not be shown, by its type or by its key's name."""
    return isinstance(value, SecretStr) or bool(_SECRET_KEY.search(key.rsplit(".", 1)[-1][-_MAX_KEY_LENGTH:]))


def mask_secrets(key: str, value: Any) -> Any:
    """Return ``value`` (JSON) fit to be shown: secrets as stars, also inside lists, mappings and URLs."""
    if isinstance(value, dict):
        return {name: mask_secrets(str(name), inner) for name, inner in value.items()}
    if is_secret(key, value) and value not in (None, "", [], ()):
        return MASK
    if isinstance(value, list | tuple):
        return [mask_secrets(key, inner) for inner in value]
    return _QUERY.sub(_mask_parameter, _USERINFO.sub(f"{MASK}@", value)) if isinstance(value, str) else value


def _mask_parameter(match: re.Match[str]) -> str:
    """Return a parameter of a URL's query, with stars when its name is that of a secret."""
    return f"{match['sign']}{match['name']}={MASK}" if is_secret(match["name"]) else match[0]


def iter_setting_fields(model: type[BaseModel], prefix: str = "") -> Iterator[SettingField]:
    """Yield every setting below ``model`` in the order of the models, members of lists as ``rules[].name``."""
    for name, field in model.model_fields.items():
        key = f"{prefix}{field.alias or name}"
        inner = model_of(field.annotation)
        if inner is not None:
            description_prefix = f"{field.description} " if prefix else ""
            for setting in iter_setting_fields(inner, f"{key}."):
                yield setting._replace(description=description_prefix + setting.description)
            continue
        default = REQUIRED if field.is_required() else field.get_default(call_default_factory=True)
        kind = ", ".join([readable_type(field.annotation), *_bound_texts(field.metadata)])
        yield SettingField(key, kind, default, field.description or "")
        member = _item_model(field.annotation)
        if member is not None:
            yield from iter_setting_fields(member, f"{key}[].")


def iter_setting_values(settings: BaseModel, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the path and the value (as JSON) of every setting in ``settings``."""
    dumped = settings.model_dump(mode="json", by_alias=True)
    for name, field in type(settings).model_fields.items():
        key = field.alias or name
        value = getattr(settings, name)
        if isinstance(value, BaseModel) and model_of(field.annotation):
            yield from iter_setting_values(value, (*prefix, key))
        else:
            yield (*prefix, key), dumped[key]


def readable_type(annotation: Any) -> str:
    """Return a type as people read it: ``all | outputs | never``, ``list of text``, ``whole number``."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(f"`{choice}`" for choice in inner)
    if origin in (Union, types.UnionType):
        return " or ".join(readable_type(choice) for choice in inner if choice is not type(None))
    if origin in _LISTS:
        return f"list of {readable_type(inner[0])}"
    if origin is dict:
        return f"mapping of {readable_type(inner[0])} to {readable_type(inner[1])}"
    if hasattr(annotation, "__metadata__"):
        return readable_type(inner[0])
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


def _bound_texts(constraints: Iterable[Any]) -> Iterator[str]:
    """Yield the limits of a number in plain words: ``at least 1,024``, ``below 10``."""
    for constraint in constraints:
        for name, phrase in _BOUNDS.items():
            bound = getattr(constraint, name, None)
            if bound is not None:
                yield f"{phrase} {bound:,}"


def _item_model(annotation: Any) -> type[BaseModel] | None:
    """Return the model that a list is made of, or a mapping's values; None for other lists and for no list."""
    for choice in _choices(annotation):
        inner = [argument for argument in get_args(choice) if argument is not Ellipsis]
        if get_origin(choice) in (*_LISTS, dict) and inner:
            return model_of(inner[-1])
    return None


def _item_annotation(annotation: Any) -> Any:
    """Return the type of the members of a list; None for other types."""
    return next(
        (get_args(choice)[0] for choice in _choices(annotation) if get_origin(choice) in _LISTS and get_args(choice)),
        None,
    )


def _choices(annotation: Any) -> tuple[Any, ...]:
    if hasattr(annotation, "__metadata__"):
        return _choices(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(inner for choice in get_args(annotation) for inner in _choices(choice))
    return (annotation,)
