"""Parts of job names that change with every run (``mappings/tables/varying_names.yaml``), and names without them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dh_bridge.bundled import convert_document, load_table
from dh_bridge.errors import MappingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_MAX_NAME_LENGTH = 1000
"""Characters of a name that is looked through; longer names are texts of queries."""
_HAS_DIGIT = re.compile(r"[0-9]").search
_WORDS = re.compile(r"[^\W\d_]+").findall
_SEPARATORS = "-_ :/|#@,;+~"
_BRACKETS = frozenset({"()", "[]", "{}", "<>"})
_KEPT_GROUP = "name"


class VaryingForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A form of varying parts, as it is written."""

    form: str
    pattern: str
    source: str
    examples: dict[str, str]
    id: bool = False
    shared: bool = False


class VaryingNamesDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``mappings/tables/varying_names.yaml`` as it is written."""

    forms: tuple[VaryingForm, ...]
    generic_words: frozenset[str]
    defined_names: frozenset[str]


class StableName(NamedTuple):
    """A job name without its varying parts.

    ``forms``: the forms that were removed, none if the name is unchanged. ``is_shared``: the rest is the name of a tool, not of a job.
    """

    name: str
    forms: tuple[str, ...] = ()
    is_shared: bool = False


class _Span(NamedTuple):
    """A varying part of a name: its position, the text that remains of it, and its form."""

    start: int
    end: int
    kept_text: str
    form: VaryingForm


class VaryingNames:
    """Cuts varying parts from job names. Pure: a name alone decides, so that all events of a run agree."""

    def __init__(self, document: VaryingNamesDocument, location: str) -> None:
        self._forms = [(_compile_form(form, location), form) for form in document.forms]
        # One expression shows that a name has no part of these forms, which takes a third of the time of one for each form.
        screened_forms = [form for pattern, form in self._forms if _is_screened(pattern)]
        self._screen = re.compile(_screen_expression(screened_forms), re.IGNORECASE | re.ASCII)
        self._unscreened_forms = [(pattern, form) for pattern, form in self._forms if not _is_screened(pattern)]
        self._generic_words = document.generic_words
        self._defined_names = document.defined_names

    def stable_name(self, platform: str, name: str) -> StableName:
        """Return the name without the parts that change with every run.

        If the name of a flow (the text before the first dot) consists only of such parts, it is not changed: otherwise all
        applications would have one name.
        """
        if platform in self._defined_names or len(name) > _MAX_NAME_LENGTH or not _HAS_DIGIT(name):
            return StableName(name)
        spans = self._find_spans(name)
        if not spans:
            return StableName(name)
        segments: list[str] = []
        cut_spans: list[_Span] = []
        for position, (start, end) in enumerate(_segments(name, spans)):
            segment_spans = [span for span in spans if start <= span.start < end]
            segment = name[start:end]
            if segment_spans:
                stable_segment = _cut(name, start, end, segment_spans)
                if self._is_name(stable_segment, segment_spans):
                    segment = stable_segment
                elif position:
                    cut_spans += segment_spans
                    continue
                else:
                    segment_spans = []
            cut_spans += segment_spans
            segments.append(segment)
        forms = tuple(dict.fromkeys(span.form.form for span in cut_spans))
        return StableName(".".join(segments), forms, any(span.form.shared for span in cut_spans))

    def _find_spans(self, name: str) -> list[_Span]:
        """Return the varying parts of a name, in their order; of parts that overlap, that of the first form."""
        spans: list[_Span] = []
        for pattern, form in self._forms if self._screen.search(name) else self._unscreened_forms:
            for match in pattern.finditer(name):
                start, end = match.span()
                if all(end <= span.start or span.end <= start for span in spans):
                    spans.append(_Span(start, end, match.groupdict().get(_KEPT_GROUP) or "", form))
        return sorted(spans)

    def _is_name(self, segment: str, spans: list[_Span]) -> bool:
        words = [word.lower() for word in _WORDS(segment)]
        is_generic = any(span.form.id for span in spans) and self._generic_words.issuperset(words)
        return bool(words) and not is_generic


def load_varying_names(overlay: Path | None = None) -> VaryingNames:
    """Return the forms of the package, or those of the user's table."""
    return load_table("varying_names", parse_varying_names, overlay)


def parse_varying_names(document: Any, location: str = "") -> VaryingNames:
    """Return the forms of a table."""
    return VaryingNames(convert_document(document, VaryingNamesDocument, "varying_names", location), location)


def _compile_form(form: VaryingForm, location: str) -> re.Pattern[str]:
    try:
        return re.compile(rf"(?<![^\W_])(?:{form.pattern})(?![^\W_])", re.IGNORECASE | re.ASCII)
    except re.error as error:
        raise MappingError(f"`{form.pattern}`: {error}", location=location, remedy="correct the expression") from error


def _is_screened(pattern: re.Pattern[str]) -> bool:
    """Return whether the expression of a form can be a part of a larger one: it does not refer to its groups."""
    has_references = "(?P=" in pattern.pattern or "(?(" in pattern.pattern
    return pattern.groups == (_KEPT_GROUP in pattern.groupindex) and not has_references


def _screen_expression(forms: Iterable[VaryingForm]) -> str:
    """Return the expression that finds a part of any of these forms."""
    patterns = [form.pattern.replace(f"(?P<{_KEPT_GROUP}>", "(?:") for form in forms]
    return rf"(?<![^\W_])(?:{'|'.join(patterns)})(?![^\W_])"


def _segments(name: str, spans: list[_Span]) -> Iterator[tuple[int, int]]:
    """Yield begin and end of the parts between the dots of a name; a dot in a varying part, as of a time, does not count."""
    start = 0
    for position, char in enumerate(name):
        if char == "." and not any(span.start <= position < span.end for span in spans):
            yield start, position
            start = position + 1
    yield start, len(name)


def _with_brackets(name: str, start: int, end: int, span: _Span) -> _Span:
    """Return a span with the brackets around it, which would be left empty: ``orders (2026-11-01)``."""
    while not span.kept_text and start < span.start and span.end < end:
        if name[span.start - 1] + name[span.end] not in _BRACKETS:
            break
        span = span._replace(start=span.start - 1, end=span.end + 1)
    return span


def _cut(name: str, start: int, end: int, spans: list[_Span]) -> str:
    """Return ``name[start:end]`` without ``spans``; one separator remains between two remaining parts."""
    text, position = "", start
    for part in spans:
        span = _with_brackets(name, start, end, part)
        text += name[position : span.start]
        if span.kept_text:
            text += span.kept_text
        else:
            rest = name[span.end : end].lstrip(_SEPARATORS)
            head = text.rstrip(_SEPARATORS)
            separator = text[len(head) : len(head) + 1] if head and rest else ""
            text = head + separator
            position = end - len(rest)
            continue
        position = span.end
    return text + name[position:end]
