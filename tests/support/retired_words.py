"""Words and idioms that no text for users contains, each with a plainer one; ARCHITECTURE.md has the glossary."""

from __future__ import annotations

import re

RETIRED: dict[str, str] = {
    r"tell|tells|told|telling": "report, send, print, state, configure",
    r"said|unsaid": "state, report",
    r"heard|hears|heed|heeded|heeds": "read, receive; apply",
    r"kept": "stored, retained; property (an outcome)",
    r"withheld|withhold|withholds": "dropped",
    r"places?": "target; location; position",
    r"let go|lets go": "evict, delete, release",
    r"comes? to|came to|come of|came of|comes of": "become, result in",
    r"story|stories": "history of a run; scenario",
    r"who is who": "names, identity",
    r"behind its back|behind his back": "in the background",
    r"in its own words|in their own words": "with its error message",
    r"mend|mends|mended|mending": "fix, repair",
    r"settle|settles|settled|settling": "resolve, complete",
    r"stand|stands|stood": "be, be listed, be written",
    r"goes by|went by": "use, follow",
    r"has a home|no home|nowhere": "is written, is not written",
    r"illness|silence": "failure; without events, without a message",
    r"whoever|whosoever": "the program, the person",
    r"anew": "again",
    r"shall": "must, should",
    r"twins?|stubs?|heirs?|kin|newcomers?|leaf": "see the glossary",
    r"on purpose": "deliberately",
    r"hand over|handed over|handover": "pass, send",
}
"""Patterns of whole words, and what to write instead."""

_WORDS = re.compile("|".join(rf"\b(?:{pattern})\b" for pattern in RETIRED), re.IGNORECASE)
_ALLOWED = re.compile(
    r"\bstand(?:s)?(?=-in\b|s? for\b)|\bstand-ins?\b|\bstanding\b|\bin place\b|\btakes? place\b|\bplaceholder",
    re.IGNORECASE,
)
_CODE = re.compile(r"`[^`\n]+`|https?://\S+|<!--.*?-->", re.DOTALL)


def retired_words(text: str) -> list[str]:
    """Return the retired words of a text, without those in code spans, addresses and comments."""
    return [found[0].lower() for found in _WORDS.finditer(_ALLOWED.sub("", _CODE.sub("", text)))]
