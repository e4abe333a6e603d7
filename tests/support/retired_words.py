"""Words that names, messages, pages and docstrings no longer use; the glossary of ARCHITECTURE.md has the words that replace them."""

from __future__ import annotations

import re
from typing import NamedTuple


class RetiredWord(NamedTuple):
    """A word or phrase, what to write instead, and the kinds of text that do not contain it."""

    pattern: str
    instead: str
    scopes: str
    """``n``: names of the code; ``m``: messages; ``t``: texts, which are pages, help, settings, docstrings and comments."""


RETIRED = (
    # nouns of the old design
    RetiredWord("courier", "outbox relay", "nmt"),
    RetiredWord("doors?", "entry point", "nm"),  # a sensor of a real door may be in an event
    RetiredWord("floor", "layer", "nm"),  # also a function of SQL
    RetiredWord("heart|house", "core, package", "nm"),
    RetiredWord("heirs|heritage|kin", "ancestry, related runs", "nmt"),
    RetiredWord("ladder|rungs?", "precedence", "nmt"),
    RetiredWord("laws?", "merge function", "nmt"),
    RetiredWord("leaf", "field", "nmt"),
    RetiredWord("leaves", "fields", "nm"),  # also a verb
    RetiredWord("newcomers?", "new entity", "nmt"),
    RetiredWord("slots?", "kind of fact", "nm"),  # also of Python's classes
    RetiredWord("stubs?", "implied parent", "nmt"),
    RetiredWord("tally", "row estimate", "nmt"),
    RetiredWord("twins?", "flow job", "nmt"),
    RetiredWord("places?", "target; location; position", "t"),
    RetiredWord("(?:the|its|a|this|one|own|no|which|whose) places?", "target; location; position", "m"),
    RetiredWord("story|stories", "history of a run; scenario", "mt"),
    # data that speaks
    RetiredWord("tell|telling|told", "report, send, print, state, configure", "nmt"),
    RetiredWord("tells", "report, send, print, state, configure", "mt"),
    RetiredWord("said|unsaid", "state, report", "mt"),
    RetiredWord("says?", "state, report", "m"),
    RetiredWord("hear|hears|heard|heed|heeds|heeded", "read, receive; apply", "mt"),
    RetiredWord("(?:in )?(?:its|their)? ?own words", "with its error message", "mt"),
    RetiredWord("behind (?:its|his) back", "in the background", "t"),
    RetiredWord("wants?|wanted", "require", "m"),
    # verbs with another meaning
    RetiredWord("anew", "again", "mt"),
    RetiredWord("comes? to|came to|come of|came of|comes of", "become, result in", "mt"),
    RetiredWord("goes by|went by", "use, follow", "t"),
    RetiredWord("hand over|handed over|handover", "pass, send", "t"),
    RetiredWord("kept", "stored, retained; property (an outcome)", "mt"),
    RetiredWord("left alone|passed over", "skip", "m"),
    RetiredWord("let go|lets go", "evict, delete, release", "mt"),
    RetiredWord("mending", "fix, repair", "nmt"),
    RetiredWord("mend|mends|mended", "fix, repair", "mt"),
    RetiredWord("on purpose", "deliberately", "t"),
    RetiredWord("settled?|settling", "resolve, complete", "nmt"),
    RetiredWord("settles", "resolve, complete", "t"),
    RetiredWord("shall", "must, should", "t"),
    RetiredWord("spoilt", "damaged, corrupted", "m"),
    RetiredWord("stands?", "be, be listed, be written", "mt"),
    RetiredWord("stood", "be, be listed, be written", "t"),
    RetiredWord("withheld", "dropped, excluded", "mt"),
    RetiredWord("withhold|withholds", "drop, exclude", "t"),
    # negations and pronouns as nouns
    RetiredWord("has a home|no home", "is written", "t"),
    RetiredWord("illness|silence", "failure; without events, without a message", "t"),
    RetiredWord("(?<!there )(?:is|are) no(?:ne)?", "is not a", "m"),
    RetiredWord("knows? no(?:thing)?|names? no|takes? no", "does not know, name, accept", "m"),
    RetiredWord("nobody|such a thing", "no user, no program", "m"),
    RetiredWord("nowhere", "is not written", "mt"),
    RetiredWord("we|us|our|ours", "dh-bridge", "m"),
    RetiredWord("whoever|whosoever", "the program, the person", "t"),
    RetiredWord("who is who", "names, identity", "mt"),
)

_ALLOWED = re.compile(
    r"\bstands?(?=-in\b| for\b)|\bstand-ins?\b|\bstanding\b|\bin place\b|\btakes? place\b|\bplaceholder", re.IGNORECASE
)
_CODE = re.compile(r"``[^`\n]+``|`[^`\n]+`|https?://\S+|<!--.*?-->", re.DOTALL)


def _pattern(scope: str) -> re.Pattern[str]:
    patterns = "|".join(word.pattern for word in RETIRED if scope in word.scopes)
    return re.compile(rf"\b(?:{patterns})\b", re.IGNORECASE)


_NAMES, _MESSAGES, _TEXTS = _pattern("n"), _pattern("m"), _pattern("t")


def is_retired_name(word: str) -> bool:
    """Return whether no identifier may contain the word."""
    return _NAMES.fullmatch(word) is not None


def find_retired(message: str) -> list[str]:
    """Return the retired words and phrases of a message."""
    return _MESSAGES.findall(message)


def retired_words(text: str) -> list[str]:
    """Return the retired words of a text, without those in code spans, addresses and comments of Markdown."""
    return [match[0].lower() for match in _TEXTS.finditer(_ALLOWED.sub("", _CODE.sub("", text)))]
