"""Words that the code and its messages no longer use; the glossary of ARCHITECTURE.md has the words that replace them."""

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
