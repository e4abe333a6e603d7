"""The text of a settings file: YAML whose values stay text, with line numbers and ``${VAR}``.

Every plain scalar but null is text, and the models convert it to the types of their fields: ``datahub_version: 1.10`` is not
the number 1.1, and ``redaction: off`` is not false. ``${NAME}`` is replaced by a variable, ``${NAME:-default}`` by one that may
be missing or empty; ``$${`` is a literal ``${``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from dh_bridge.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

Steps = tuple[str | int, ...]

#: The text after ``${``; the text of a default ends before the next one.
_VARIABLE = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<or>:-(?P<default>[^}]*))?\}")
_NULLS = ("", "~", "null", "Null", "NULL")


class TextLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # the C one is missing on some hosts
    """A safe loader that recognises only null and text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own way to say so
        first: [rule for rule in rules if rule[0] == "tag:yaml.org,2002:null"]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class SettingsDocument:
    """A parsed settings file: ``data`` (dicts, lists, text, None) and ``lines``, the line of each path into it."""

    def __init__(self, text: str, location: str, environ: Mapping[str, str]) -> None:
        self.lines: dict[Steps, int] = {}
        self._location = location
        self._environ = environ
        self._open_nodes: set[int] = set()
        try:
            node = yaml.compose(text, Loader=TextLoader)
            self.data: Any = self._value(node, ()) if node is not None else None
        except RecursionError as error:
            raise SettingsError("nested too deeply", location=location, remedy="correct the file") from error
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise SettingsError(
                f"not YAML: {error.problem}", location=f"{location}:{line}", remedy="correct the file"
            ) from error
        except yaml.YAMLError as error:
            raise SettingsError(
                f"not YAML: {error}".replace("\n", " "), location=location, remedy="correct the file"
            ) from error
        self.data = {} if self.data is None else self.data
        if not isinstance(self.data, dict):
            raise SettingsError("holds no mapping of settings", location=location, remedy="write `key: value` lines")

    def _value(self, node: yaml.Node, path: Steps) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if not node.tag.startswith("tag:yaml.org,2002:"):  # `- !tmp_*`: an exclusion of `filters` without quotes
            raise SettingsError(
                f"`{format_path(path)}` has the YAML tag {node.tag}",
                location=self._location_of(path),
                remedy=f"put a text that begins with `!` in quotes: '{node.tag}'",
            )
        if isinstance(node, yaml.CollectionNode):
            return self._collection(node, path)
        if node.tag == "tag:yaml.org,2002:null":
            return None
        text = substitute_variables(node.value, self._environ, self._location_of(path))
        is_plain = isinstance(node, yaml.ScalarNode) and not node.style
        return None if is_plain and text != node.value and text in _NULLS else text

    def _collection(self, node: yaml.CollectionNode, path: Steps) -> Any:
        if id(node) in self._open_nodes:  # an alias, *name, inside of its own anchor
            raise SettingsError(
                f"`{format_path(path)}` contains itself",
                location=self._location_of(path),
                remedy="write it without an alias",
            )
        self._open_nodes.add(id(node))
        value: Any
        if isinstance(node, yaml.MappingNode):
            value = self._mapping(node, path)
        else:
            value = [self._value(member, (*path, position)) for position, member in enumerate(node.value)]
        self._open_nodes.remove(id(node))
        return value

    def _mapping(self, node: yaml.MappingNode, path: Steps) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            key_path = (*path, key)
            if key in values:
                line = key_node.start_mark.line + 1
                raise SettingsError(
                    f"`{format_path(key_path)}` is set twice",
                    location=f"{self._location}:{line}",
                    remedy="remove one",
                )
            self.lines[key_path] = key_node.start_mark.line + 1
            values[key] = self._value(value_node, key_path)
        return values

    def _location_of(self, path: Steps) -> str:
        return f"{self._location}:{self.lines[path]}"


def format_path(path: Steps) -> str:
    """Return the path as people write it: ``naming.rules[0].namespace``."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def escape_variables(text: str) -> str:
    """Return text as a settings file has to write it, lest a variable be filled in."""
    return text.replace("${", "$${")


def substitute_variables(text: str, environ: Mapping[str, str], location: str) -> str:
    """Return ``text`` with its ``${VAR}`` filled in; a SettingsError names a variable that is not set."""
    before, *pieces = text.split("${")
    parts = [before]
    for piece in pieces:
        if before.endswith("$"):  # $${ is the text ${
            parts[-1] = parts[-1][:-1]
            before = piece
            parts.append(f"${{{piece}")
            continue
        match = _VARIABLE.match(piece)
        if match is None:
            raise SettingsError(
                "the value contains a `${` without the name of a variable, or inside the default of another variable",
                location=location,
                remedy="write ${NAME}, ${NAME:-text}, or $${ for the text ${",
            )
        value = environ.get(match["name"], "")
        if match["or"] is not None:
            value = value or match["default"]
        elif match["name"] not in environ:
            raise SettingsError(
                f"the variable {match['name']} is not set",
                location=location,
                remedy=f"set it, or write ${{{match['name']}:-default}}",
            )
        before = piece[match.end() :]
        parts += value, before
    return "".join(parts)
