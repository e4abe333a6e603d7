"""Events that are spoilt by chance: values replaced, wrapped, doubled, renamed or left out, bytes overwritten, lines cut off."""

from __future__ import annotations

import json
import pickle
import random
import re
from functools import cache
from typing import NamedTuple

from support.sample_events import corpus, examples

LONG, DEEP = "x" * 5000, "[" * 40 + "]" * 40
ODD = [
    None, True, False, 0, -1, 1, 2**31, int("9" * 400), 2**63, 2**64, -(2**63) - 1, 10**30, 1.5, -0.0, 1e308, "", " ", LONG, "\x00", "é😀", "a/b~c,(d)",
    "urn:li:dataset:(a", "[]", "{}", "['a'", "2020-01-01T00:00:00", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "NaN", "http://",
    "http://[", "postgres://u:p@h:99999/db", "jdbc:", "s3://", "<<non-serializable: x>>", [], {}, [None], [[]], {"a": {}}, {"": 1},
    [1, "a", {}], "unknown", "\ud800", "%s%d{}", "0" * 400, "1e400", -1e308, "a\nb\tc", "..", ".a.", json.loads(DEEP), {"_deleted": True},
    {"_deleted": "yes"}, ["a", "a"], "urn:li:corpuser:", "team:", "STREAMING", "COMPLETE_SNAPSHOT", "DROP",
]  # fmt: skip


def places(value, path=()):
    """Yield the path of every value inside a document."""
    if path:
        yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


def copied(value):
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own; a copy of a document in a tenth of the time of deepcopy


def spoilt(document, chance, known=None):
    """Return a copy of a document in which up to eight values were replaced, wrapped, doubled, renamed or left out.

    ``known``: its places, by whoever has them.
    """
    found = copied(document)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        *way, last = chance.choice(known or list(places(found)) or [("a",)])
        known = None
        inner = found
        for step in way:
            inner = inner[step]
        roll = chance.random()
        if last not in inner and isinstance(inner, dict):
            continue
        if roll < 0.7:
            inner[last] = copied(chance.choice(ODD))
        elif roll < 0.8 and isinstance(inner, dict):
            inner[f"{last}x"] = inner.pop(last)
        elif roll < 0.9:
            inner[last] = [inner[last], inner[last]] if roll < 0.85 else {"a": inner[last]}
        else:
            del inner[last]
    return found


def scribbled(raw, chance):
    """Return the bytes of an event with a few of them overwritten or cut out."""
    found = bytearray(raw)
    for _ in range(chance.choice((1, 2, 9))):
        at = chance.randrange(len(found))
        found[at : at + chance.choice((0, 1, 1, 40))] = bytes([chance.randrange(256)])
    return bytes(found)


@cache
def documents():
    return [json.loads(one.raw) for one in (*examples(), *corpus())]


@cache
def known_places():
    return [list(places(document)) for document in documents()]


class Line(NamedTuple):
    """A line of a stream of events, and what is certain of it: ``whole`` as it was sent, ``broken`` no JSON at all."""

    raw: bytes
    whole: bool = False
    broken: bool = False


DAY = 2_000
"""Lines after which the same jobs have other runs: a run that went on for ever would grow with each new name that it gets."""


def lines(count, seed):
    """Yield the lines of a stream: four fifths spoilt, the rest scribbled over, cut off, or left as it was."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    originals = [one.raw for one in examples()]
    yield Line(originals[0], whole=True)
    for number in range(1, count):
        line = _line(chance, originals)
        yield line._replace(raw=_runs.sub(rb"\g<1>%08x" % (number // DAY), line.raw))


_runs = re.compile(rb'("runId": ?")[0-9a-f]{8}(?=-)')


def _line(chance, originals):
    roll = chance.random()
    if roll < 0.8:
        number = chance.randrange(len(documents()))
        return Line(json.dumps(spoilt(documents()[number], chance, known_places()[number])).encode())
    raw = chance.choice(originals)
    if roll < 0.9:
        return Line(scribbled(raw, chance).translate(None, b"\r\n"))
    if roll < 0.95:
        return Line(raw[: chance.randrange(1, len(raw))], broken=True)
    return Line(raw, whole=True)
