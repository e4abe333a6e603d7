"""Words that code, messages and texts for users no longer use; the glossary of ARCHITECTURE.md has the words that replace them."""

from __future__ import annotations

import re

RETIRED_WORDS = frozenset(
    [
        "courier",
        "door",
        "doors",
        "floor",
        "heart",
        "heirs",
        "heritage",
        "house",
        "kin",
        "ladder",
        "law",
        "laws",
        "leaf",
        "leaves",
        "mending",
        "newcomer",
        "newcomers",
        "rung",
        "rungs",
        "settle",
        "settled",
        "settling",
        "slot",
        "slots",
        "stub",
        "stubs",
        "tally",
        "tell",
        "telling",
        "told",
        "twin",
        "twins",
    ]
)
"""Words that neither an identifier nor a message contains."""

RETIRED_IDIOMS = (
    r"tells",
    r"kept",
    r"withheld",
    r"(?:the|its|a|this|one|own|no|which|whose) places?",
    r"let go",
    r"comes? to",
    r"story",
    r"hear[ds]?",
    r"who is who",
    r"anew",
    r"heed(?:s|ed)?",
    r"mend(?:s|ed)?",
    r"own words",
    r"said",
    r"spoilt",
    r"nobody",
    r"nowhere",
    r"stands?",
    r"(?<!there )(?:is|are) no(?:ne)?",
    r"knows? no(?:thing)?",
    r"names? no",
    r"says?",
    r"wants?|wanted",
    r"takes? no",
    r"left alone",
    r"passed over",
    r"such a thing",
    r"we|us|our|ours",
)
"""Regular expressions of phrases that a message does not contain."""

find_retired = re.compile(rf"\b(?:{'|'.join([*sorted(RETIRED_WORDS), *RETIRED_IDIOMS])})\b", re.IGNORECASE).findall
"""Return the retired words and phrases of a text."""

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
