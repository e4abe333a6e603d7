"""Names that differ only in parts that vary: dates, hashes, UUIDs, numbers.

A name is split into literal text and *marks*, the parts that look like a value of a run. Names with the same literal text and
the same forms of marks are candidates for one name. Marks that have one value in all candidates are literal text, but dates:
the names of tomorrow have another one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

UUID, DATE, HASH, NUMBER, WORD = "uuid", "date", "hash", "number", "word"
RANDOM_FORMS = frozenset((UUID, HASH))

_YEAR, _MONTH, _DAY = r"(?:19|20)\d{2}", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:[01]\d|2[0-3])(?:[-_:]?[0-5]\d){1,2}(?:[-_.:]?\d{1,6})?"
_CLOCK = r"(?:[01]\d|2[0-3])(?:[-_:][0-5]\d){2}(?:[-_.:]\d{1,6})?"
_START, _END = r"(?<![0-9A-Za-z])", r"(?![0-9A-Za-z])"
_MARK = re.compile(
    rf"{_START}(?P<uuid>[0-9a-f]{{8}}(?:[-_]?[0-9a-f]{{4}}){{3}}[-_]?[0-9a-f]{{12}}){_END}"
    rf"|{_START}(?P<date>{_YEAR}(?P<sep>[-_/]?){_MONTH}(?P=sep){_DAY}(?:[tT_-]?{_TIME}[zZ]?)?|{_YEAR}[-_/]{_MONTH}|1\d{{9}}(?:\d{{3}})?"
    rf"|{_CLOCK}){_END}"
    rf"|{_START}(?P<hash>(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{{6,128}}|[a-f]{{8,128}}){_END}"
    rf"|(?P<number>\d+)",
    re.IGNORECASE,
)
_SEPARATORS = "-_.:# /"
_WORD = re.compile(r"[^-_.:# /]+")


class MarkedName(NamedTuple):
    """A name as literal text (even positions) and marks (odd positions), and the forms of the marks."""

    pieces: tuple[str, ...]
    forms: tuple[str, ...]


class VaryingGroup(NamedTuple):
    """Names that differ only in their marks.

    Attributes:
        names: The names, sorted.
        literals: The literal text before, between and after the marks that vary.
        forms: The form of each mark that varies.
        values: The values of each mark that varies, in the order of the names.
    """

    names: tuple[str, ...]
    literals: tuple[str, ...]
    forms: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    @property
    def is_random(self) -> bool:
        """Whether a mark is a UUID or a hash."""
        return not RANDOM_FORMS.isdisjoint(self.forms)

    @property
    def stable_name(self) -> str:
        """The name without the marks, and without the separators that only the marks need."""
        return stable_text(self.literals)

    @property
    def display(self) -> str:
        """The name with the forms of its marks: ``orders-<uuid>-load``."""
        pieces = [self.literals[0]]
        for form, literal in zip(self.forms, self.literals[1:], strict=True):
            pieces += [f"<{form}>", literal]
        return "".join(pieces)


def mark_name(name: str) -> MarkedName:
    """Return a name as literal text and marks.

    >>> mark_name("orders-6cf96eb0-d436-58d8-a8d8-e9142c5d348f-load").forms
    ('uuid',)
    >>> mark_name("events_20261101_v2").pieces
    ('events_', '20261101', '_v', '2', '')
    """
    pieces, forms, position = [], [], 0
    for match in _MARK.finditer(name):
        pieces += [name[position : match.start()], match[0]]
        forms.append(next(form for form in (UUID, DATE, HASH, NUMBER) if match[form] is not None))
        position = match.end()
    return MarkedName((*pieces, name[position:]), tuple(forms))


def varying_groups(names: Iterable[str], *, min_names: int = 2) -> Iterator[VaryingGroup]:
    """Yield the groups of at least ``min_names`` names that differ only in their marks.

    Marks that are numbers do not vary alone between all names: ``shop1_20261101`` and ``shop2_20261101`` are two shops. Such
    names are split by their numbers if another mark varies, too.
    """
    candidates: dict[tuple[str, ...], dict[tuple[str, ...], dict[str, MarkedName]]] = defaultdict(dict)
    for name in names:
        marked = mark_name(name)
        if marked.forms:
            candidates[marked.pieces[::2]].setdefault(marked.forms, {})[name] = marked
    for groups in candidates.values():
        _absorb_digits(groups)
        for group in groups.values():
            for names_of_numbers in _split_by_numbers(group):
                if len(names_of_numbers) >= min_names:
                    varying = _varying_group(names_of_numbers)
                    if varying.forms:
                        yield varying


def _absorb_digits(groups: dict[tuple[str, ...], dict[str, MarkedName]]) -> None:
    """Move names with a hash that has only digits to the group of the other hashes of the same length."""
    for forms in sorted(forms for forms in groups if HASH in forms):
        positions = [position for position, form in enumerate(forms) if form == HASH]
        lengths = {len(marked.pieces[2 * position + 1]) for marked in groups[forms].values() for position in positions}
        for other_forms in sorted(groups):
            if len(other_forms) != len(forms) or other_forms == forms:
                continue
            if any(
                form != other_form and (form != HASH or other_form not in (NUMBER, DATE))
                for form, other_form in zip(forms, other_forms, strict=True)
            ):
                continue
            for name, marked in list(groups[other_forms].items()):
                if all(len(marked.pieces[2 * position + 1]) in lengths for position in positions):
                    groups[forms][name] = MarkedName(marked.pieces, forms)
                    del groups[other_forms][name]


def word_groups(names: Iterable[str], *, min_names: int) -> Iterator[VaryingGroup]:
    """Yield the groups of at least ``min_names`` names that differ in one word: ``load-x7k2p-pod``, ``load-9qm4t-pod``.

    A name belongs to the largest of its groups. The caller has evidence that the names are one flow.
    """
    candidates: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in names:
        for word in _WORD.finditer(name):
            candidates[name[: word.start()], name[word.end() :]].append(name)
    grouped: set[str] = set()
    for (prefix, suffix), members in sorted(candidates.items(), key=lambda item: (-len(item[1]), item[0])):
        free_names = sorted(set(members) - grouped)
        if len(free_names) >= min_names and prefix + suffix:
            grouped |= set(free_names)
            words = tuple(name[len(prefix) : len(name) - len(suffix)] for name in free_names)
            yield VaryingGroup(tuple(free_names), (prefix, suffix), (WORD,), (words,))


def _split_by_numbers(group: dict[str, MarkedName]) -> Iterator[dict[str, MarkedName]]:
    """Yield the names of a group with the same numbers, or the whole group if nothing but numbers varies."""
    parts: dict[tuple[str, ...], dict[str, MarkedName]] = defaultdict(dict)
    for name, marked in group.items():
        numbers = tuple(mark for mark, form in zip(marked.pieces[1::2], marked.forms, strict=True) if form == NUMBER)
        parts[numbers][name] = marked
    is_split = any(len(part) > 1 for part in parts.values())
    yield from parts.values() if is_split else [group]


def _varying_group(group: dict[str, MarkedName]) -> VaryingGroup:
    names = sorted(group)
    columns = list(zip(*(group[name].pieces for name in names), strict=True))
    literals, forms, values = [columns[0][0]], [], []
    varies = any(len(set(marks)) > 1 for marks in columns[1::2])
    for position, form in enumerate(group[names[0]].forms):
        marks, literal = columns[2 * position + 1], columns[2 * position + 2][0]
        if len(set(marks)) == 1 and (form != DATE or not varies):
            literals[-1] += marks[0] + literal
        else:
            literals.append(literal)
            forms.append(form)
            values.append(marks)
    return VaryingGroup(tuple(names), tuple(literals), tuple(forms), tuple(values))


def stable_text(literals: Iterable[str]) -> str:
    """Return literal text without the separators around the marks between them.

    >>> stable_text(("orders-", "-load"))
    'orders-load'
    >>> stable_text(("Databricks Shell-", ""))
    'Databricks Shell'
    >>> stable_text(("events/", "/", "/part-", ".parquet"))
    'events/part.parquet'
    """
    first, *others = literals
    text = first
    for literal in others:
        text = text.rstrip(_SEPARATORS) if literal[:1] in ("", *_SEPARATORS) else text
        text = text + literal if text else literal.lstrip(_SEPARATORS)
    return text


def mark_pattern(form: str, values: Iterable[str]) -> str:
    """Return a regular expression for the values of a mark, as narrow as their lengths allow."""
    lengths = {len(value) for value in values}
    if form == NUMBER:
        return r"\d+"
    if form == WORD:
        return _WORD.pattern
    shape = r"[0-9A-Fa-f]" if form == HASH else r"[0-9A-Fa-f_-]" if form == UUID else r"[0-9TtZz:./_-]"
    if form == DATE and len({re.sub(r"\d", "0", value) for value in values}) == 1:
        return _digits_pattern(next(iter(values)))
    low, high = min(lengths), max(lengths)
    return f"{shape}{{{low}}}" if low == high else f"{shape}{{{low},{high}}}"


def _digits_pattern(value: str) -> str:
    r"""Return a regular expression for values with digits at the same positions: ``2026-11-01`` -> ``\d{4}-\d{2}-\d{2}``."""
    return re.sub(
        r"\d+|\D+", lambda run: rf"\d{{{len(run[0])}}}" if run[0].isdigit() else run[0].replace(".", r"\."), value
    )


def mark_glob(values: Iterable[str]) -> str:
    """Return a glob for the values of a mark: a ``?`` for each letter and digit if all have one shape, else ``*``."""
    shapes = {re.sub(r"[0-9A-Za-z]", "?", value) for value in values}
    return next(iter(shapes)) if len(shapes) == 1 else "*"
