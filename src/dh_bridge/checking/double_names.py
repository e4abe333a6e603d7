"""One dataset under several names: a path that a catalogue names in some events only, a table whose folder has moved."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

from dh_bridge.checking.finding import Finding, one_line
from dh_bridge.checking.sample import Sample
from dh_bridge.identity.hints import decode_facet
from dh_bridge.naming import Naming
from dh_bridge.settings.naming import PATTERN_CHARS, NamingRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.naming import Name
    from dh_bridge.openlineage.events import Dataset
    from dh_bridge.options import Options

_MAX_NAMES = 8
"""Maximum number of datasets that are stored for one name; more add no evidence."""
_MAX_TRIED_RULES = 50
"""Rules that are tried; each compiles the naming systems again."""


class DoubleNameChecker:
    """Follows names that make several datasets, and tables that several datasets have as their symlink."""

    def __init__(self, options: Options, limit: int) -> None:
        self._settings = options.settings
        #: namespace and name as sent -> dataset -> a name of it
        self._by_sent_name: Sample[dict[str, Name]] = Sample(limit, dict)
        #: namespace and name of a TABLE symlink -> dataset -> a name of it
        self._by_table: Sample[dict[str, Name]] = Sample(limit, dict)

    def see(self, dataset: Dataset, name: Name) -> None:
        """Note the dataset that an event's entry makes, and the tables that it is a symlink of."""
        _note(self._by_sent_name, f"{dataset.namespace}\n{dataset.name}", name)
        if "symlinks" not in dataset.facets:
            return
        identifiers = decode_facet(dataset.facets, "symlinks").get("identifiers")
        for identifier in identifiers if isinstance(identifiers, list) else ():
            if isinstance(identifier, dict) and str(identifier.get("type") or "").upper() == "TABLE":
                _note(self._by_table, f"{identifier.get('namespace')}\n{identifier.get('name')}", name)

    def findings(self) -> Iterator[Finding]:
        """Yield a rule for each name that makes several datasets."""
        tried = 0
        for key, names in self._by_sent_name.items():
            if len(names) > 1:
                namespace, _, name = key.partition("\n")
                preferred = _preferred(names)
                tried += 1
                rule = self._rule(namespace, name, preferred) if tried <= _MAX_TRIED_RULES else None
                text = f"{one_line(name)} makes {len(names)} datasets, by the facets of its events: {_listed(names)}"
                yield _finding(text, len(names), rule, preferred)
        for key, names in self._by_table.items():
            if len(names) > 1:
                preferred = _preferred(names, key.partition("\n")[2])
                table = one_line(key.partition("\n")[2])
                for urn, double in sorted(names.items()):
                    if urn == preferred.endpoint:
                        continue
                    tried += 1
                    rule = self._rule(double.namespace, double.name, preferred) if tried <= _MAX_TRIED_RULES else None
                    yield _finding(
                        f"table {table} has {len(names)} datasets: {_listed(names)}", len(names), rule, preferred
                    )

    def _rule(self, namespace: str, name: str, preferred: Name) -> dict[str, str] | None:
        """Return the rule that makes ``preferred`` of a name; None when none was found to."""
        if PATTERN_CHARS & set(namespace + name):
            return None
        settings, rule = self._settings.naming, {"namespace": namespace, "name": name}
        for candidate in (
            {**rule, "rename": preferred.name},
            {**rule, "rename": preferred.dataset_name, "platform": preferred.platform},
        ):
            rules = (NamingRule.model_validate(candidate), *settings.rules)
            naming = Naming(settings.model_copy(update={"rules": rules}), self._settings.mappings)
            if naming(namespace, name).endpoint == preferred.endpoint:
                return candidate
        return None


def _note(sample: Sample[dict[str, Name]], key: str, name: Name) -> None:
    names = sample.note_of(key)
    if names is not None and name.endpoint is not None and (name.endpoint in names or len(names) < _MAX_NAMES):
        known_name = names.get(name.endpoint)
        if known_name is None or (name.namespace, name.name) < (known_name.namespace, known_name.name):
            names[name.endpoint] = name


def _preferred(names: dict[str, Name], table: str = "") -> Name:
    """Return the name that counts: a known platform before others, a catalogue before a path, then the path of the table.

    A path that ends with the name of the table is the likely one: ``/lake/poc/orders`` for the table ``poc.orders``. A table
    that was moved or copied has the other ones.
    """
    return min(
        names.values(),
        key=lambda name: (
            name.platform == "unknown",
            "/" in name.dataset_name,
            -_count_common_ends(name.dataset_name, table),
            str(name.endpoint),
        ),
    )


def _count_common_ends(path: str, table: str) -> int:
    """Return how many folders at the end of a path are levels of the table's name; Hive's folders end with ``.db``."""
    folders = [folder.removesuffix(".db").lower() for folder in reversed(path.split("/"))]
    levels = reversed(re.split(r"[./]", table.lower()))
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(folders, levels, strict=False)))


def _listed(names: dict[str, Name]) -> str:
    return ", ".join(sorted(one_line(f"{name.platform},{name.dataset_name}") for name in names.values()))


def _finding(text: str, count: int, rule: dict[str, str] | None, preferred: Name) -> Finding:
    if rule is None:
        return Finding("double-name", text, count, sure=False)
    promise = {f"{rule['namespace']}\n{rule['name']}": preferred.endpoint}
    return Finding(
        "double-name", text, count, ("naming", "rules"), rule, sure=False, has_evidence=True, promise=promise
    )
