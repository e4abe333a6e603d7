"""The user's own rules about names: which one a namespace and name fall under, and several addresses of one location."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import MappingError, SettingsError
from dh_bridge.translation.naming.namespaces import canonical
from dh_bridge.translation.naming.patterns import Pattern, Template, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dh_bridge.settings.naming import Location, NamingRule

FIRST_TIER = ("database", "catalog", "project", "keyspace")
SECOND_TIER = ("schema", "dataset")


class Rule(NamedTuple):
    """A compiled rule. ``patterns`` are its namespace pattern as written and in canonical spelling."""

    said: NamingRule
    text: str
    literal: int
    patterns: tuple[Pattern, ...]
    name: Pattern | None
    rename: Template | None

    def namespace_parts(self, forms: Iterable[str]) -> dict[str, str] | None:
        """Return the parts of the first of ``forms`` (spellings of one namespace) that the rule is about, None for none."""
        for form in forms:
            for pattern in self.patterns:
                parts = pattern.match(form)
                if parts is not None:
                    return parts
        return None

    def name_parts(self, name: str) -> dict[str, str] | None:
        """Return the parts of ``name``, None when the rule is not about it."""
        return {} if self.name is None else self.name.match(name)


def _patterns(text: str, where: str) -> tuple[Pattern, ...]:
    """Return the patterns of ``text``; with a part only its scheme can be brought to the canonical spelling."""
    if "{" in text:
        head, colon, rest = text.partition(":")
        scheme = head if "{" in head else canonical(f"{head}:").scheme
        forms = [text, f"{scheme}{colon}{rest}"]
    else:
        forms = [text, canonical(text).text]
    return tuple(Pattern(form, where, namespace=True) for form in dict.fromkeys(forms))


def rules(said: Sequence[NamingRule]) -> tuple[Rule, ...]:
    """Return the compiled rules, the one with the most literal text first; a SettingsError names the key at fault."""
    made = []
    for index, rule in enumerate(said):
        where = f"naming.rules[{index}]"
        try:
            patterns = _patterns(rule.namespace, f"{where}.namespace")
            name = Pattern(rule.name, f"{where}.name") if rule.name is not None else None
            rename = _rename(rule.rename, f"{where}.rename", patterns[0], name) if rule.rename is not None else None
        except MappingError as error:
            raise SettingsError(error.what, where=error.where, now=error.now) from error
        literal = patterns[0].literal + (name.literal if name else 0)
        about = rule.namespace or repr("")
        text = f"naming.rules[{index}] {about}" + (f" + {rule.name}" if rule.name is not None else "")
        made.append(Rule(rule, text, literal, patterns, name, rename))
    return tuple(sorted(made, key=lambda rule: -rule.literal))


def _rename(text: str, where: str, namespace: Pattern, name: Pattern | None) -> Template:
    """Return the template of a new name; a MappingError when it asks for a part that the rule's patterns never give."""
    template = Template(text, where)
    known = namespace.names | (name.names if name is not None else frozenset())
    asked = template.needs | {part.name for part in parts_of(template.row) if part.value is None}
    if wrong := sorted(asked - known):
        now = f"the patterns of the rule give {', '.join(sorted(known)) or 'none'}; name it in them"
        raise MappingError(f"no such part: {', '.join(wrong)}", where=where, now=now)
    return template


class Locations:
    """Groups of addresses that are one location."""

    def __init__(self, said: Sequence[Location]) -> None:
        try:
            self._groups = [
                (
                    location.canonical,
                    [
                        pattern
                        for alias in location.aliases
                        for pattern in _patterns(alias, f"naming.locations[{index}]")
                    ],
                )
                for index, location in enumerate(said)
            ]
        except MappingError as error:
            raise SettingsError(error.what, where=error.where, now=error.now) from error

    def canonical(self, forms: Sequence[str]) -> str | None:
        """Return the canonical namespace of the location that one of ``forms`` is an alias of, None when there is none."""
        for namespace, patterns in self._groups:
            if any(pattern.match(form) is not None for form in forms for pattern in patterns):
                return namespace
        return None
