"""The user's own rules about names: which one a namespace and name fall under, and several addresses of one location."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import MappingError, SettingsError
from dh_bridge.naming.namespaces import canonical_namespace
from dh_bridge.naming.patterns import NameTemplate, NamingPattern, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dh_bridge.naming.schemes import SchemeTable
    from dh_bridge.settings.naming import NamingRule


class CompiledNamingRule(NamedTuple):
    """A compiled rule. ``patterns`` are its namespace pattern as written and in canonical spelling."""

    settings: NamingRule
    text: str
    literal: int
    patterns: tuple[NamingPattern, ...]
    name: NamingPattern | None
    rename: NameTemplate | None

    def namespace_parts(self, forms: Iterable[str]) -> dict[str, str] | None:
        """Return the parts of the first of ``forms`` (spellings of one namespace) that the rule is about, None for none."""
        for form in forms:
            for pattern in self.patterns:
                parts = pattern.match(form)
                if parts is not None:
                    return parts
        return None

    def cut_part(self, parts: Mapping[str, str]) -> str:
        """Return the ``parts`` of the name that the new name does not have: `day=2026/11/01`."""
        if self.name is None or self.rename is None:
            return ""
        used_names = {part.name for part in parts_of(self.rename.row)}
        return "/".join(f"{name}={parts[name]}" for name in sorted(self.name.names - used_names) if parts.get(name))

    def name_parts(self, name: str) -> dict[str, str] | None:
        """Return the parts of ``name``, None when the rule is not about it."""
        return {} if self.name is None else self.name.match(name)


def _namespace_patterns(text: str, location: str, schemes: SchemeTable | None = None) -> tuple[NamingPattern, ...]:
    """Return the patterns of ``text``; with a part only its scheme can be brought to the canonical spelling."""
    if "{" in text:
        head, colon, remainder = text.partition(":")
        scheme = head if "{" in head else canonical_namespace(f"{head}:", schemes).scheme
        forms = [text, f"{scheme}{colon}{remainder}"]
    else:
        forms = [text, canonical_namespace(text, schemes).text]
    return tuple(NamingPattern(form, location, namespace=True) for form in dict.fromkeys(forms))


def compile_naming_rules(
    rule_settings: Sequence[NamingRule], schemes: SchemeTable | None = None
) -> tuple[CompiledNamingRule, ...]:
    """Return the compiled rules, the one with the most literal text first; a SettingsError names the key at fault."""
    compiled_rules = []
    for index, rule in enumerate(rule_settings):
        location = f"naming.rules[{index}]"
        try:
            patterns = _namespace_patterns(rule.namespace, f"{location}.namespace", schemes)
            name = NamingPattern(rule.name, f"{location}.name") if rule.name is not None else None
            rename = (
                _rename_template(rule.rename, f"{location}.rename", patterns[0], name)
                if rule.rename is not None
                else None
            )
        except MappingError as error:
            raise SettingsError(error.problem, location=error.location, remedy=error.remedy) from error
        literal = patterns[0].literal_length + (name.literal_length if name else 0)
        namespace_text = rule.namespace or repr("")
        text = f"naming.rules[{index}] {namespace_text}" + (f" + {rule.name}" if rule.name is not None else "")
        compiled_rules.append(CompiledNamingRule(rule, text, literal, patterns, name, rename))
    return tuple(sorted(compiled_rules, key=lambda rule: -rule.literal))


def _rename_template(text: str, location: str, namespace: NamingPattern, name: NamingPattern | None) -> NameTemplate:
    """Return the template of a new name; raise a MappingError if it uses a part that the rule's patterns do not have."""
    template = NameTemplate(text, location)
    available_parts = namespace.names | (name.names if name is not None else frozenset())
    required_parts = template.needs | {part.name for part in parts_of(template.row) if part.value is None}
    if unknown_parts := sorted(required_parts - available_parts):
        remedy = (
            f"the patterns of the rule define {', '.join(sorted(available_parts)) or 'none'}; add the part to a pattern"
        )
        raise MappingError(f"unknown part: {', '.join(unknown_parts)}", location=location, remedy=remedy)
    return template


class Locations:
    """Groups of addresses that are one location."""

    def __init__(self, locations: Mapping[str, Sequence[str]], schemes: SchemeTable | None = None) -> None:
        try:
            self._groups = [
                (
                    canonical,
                    [
                        pattern
                        for alias in aliases
                        for pattern in _namespace_patterns(alias, f"naming.locations.{canonical}", schemes)
                    ],
                )
                for canonical, aliases in locations.items()
            ]
        except MappingError as error:
            raise SettingsError(error.problem, location=error.location, remedy=error.remedy) from error

    def canonical(self, forms: Sequence[str]) -> str | None:
        """Return the canonical namespace of the location that has one of ``forms`` as an alias, None if there is none."""
        for namespace, patterns in self._groups:
            if any(pattern.match(form) is not None for form in forms for pattern in patterns):
                return namespace
        return None
