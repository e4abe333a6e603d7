# ruff: noqa: S608 - the statements are made of constants
"""Phrases of aspects: JSON texts that are very frequent are stored as one byte, so that a catalogue takes less space.

The bytes 1 to 31 stand for phrases; compact JSON contains none of them, as it escapes control characters. The view ``aspects`` puts the
phrases back by functions that each SQLite has, so that SQL on the file needs no extension. Aspects that other views read are
stored as they are.

The phrases are part of the format of the file: to change one, write a migration that writes all aspects again.
"""

from __future__ import annotations

import re

_DATASET = "urn:li:dataset:(urn:li:dataPlatform:"
_FIELD = f"urn:li:schemaField:({_DATASET}"
_EDGE = f'"destinationUrn":"{_DATASET}'
_UNKNOWN = '{"time":0,"actor":"urn:li:corpuser:unknown"}'
PHRASES = (
    _FIELD,
    _DATASET,
    "urn:li:dataFlow:(",
    ',"actor":"urn:li:corpuser:datahub"},"lastModified":{"time":',
    ',"actor":"urn:li:corpuser:datahub"}',
    ',"actor":"urn:li:corpuser:',
    ',PROD)","created":{"time":',
    ",PROD),",
    ",PROD)",
    f')"],"downstreamType":"FIELD","downstreams":["{_FIELD}',
    ')"],"transformOperation":"',
    f'","confidenceScore":1.0}},{{"upstreamType":"FIELD_SET","upstreams":["{_FIELD}',
    f'{{"inputDatasets":[],"outputDatasets":[],"inputDatasetEdges":[{{{_EDGE}',
    f'"outputDatasetEdges":[{{{_EDGE}',
    f"}},{{{_EDGE}",
    f')","{_FIELD}',
    '","nullable":true,"description":"',
    '","nullable":true,"type":{"type":{"com.linkedin.schema.',
    '","type":{"type":{"com.linkedin.schema.',
    'Type":{}}},"nativeDataType":"',
    '","recursive":false,"isPartOfKey":false},{"fieldPath":"',
    (
        f',"version":0,"created":{_UNKNOWN},"lastModified":{_UNKNOWN},"hash":"","platformSchema":'
        '{"com.linkedin.schema.OtherSchema":{"rawSchema":""}},"fields":[{"fieldPath":"'
    ),
    '{"customProperties":{',
    '"openlineage.',
    '","openlineage.',
    '"},"flowUrn":"urn:li:dataFlow:(',
    '","type":{"string":"',
    f'"fineGrainedLineages":[{{"upstreamType":"FIELD_SET","upstreams":["{_FIELD}',
    r"\":\"",
    r"\",\"",
    "urn:li:dataPlatform:",
)
"""The phrases; the first is the byte 1."""

_PHRASES_BY_ASPECT = {
    "schemaMetadata": (17, 18, 19, 20, 21, 22, 31),
    "dataJobInputOutput": (1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 24, 25, 28),
    "dataJobInfo": (23, 24, 25, 26, 27, 29, 30),
    "datasetProperties": (5, 23, 24, 25, 29, 30),
    "upstreamLineage": (2, 5, 8, 9, 10, 11, 12, 24, 28),
    "dataProcessInstanceInput": (2, 9),
    "dataProcessInstanceOutput": (2, 9),
}
"""Aspect -> the bytes of the phrases that it contains: only these are looked for."""

_REPLACEMENTS = {
    # long phrases first: some contain others
    aspect: sorted(((PHRASES[code - 1].encode(), bytes([code])) for code in codes), key=lambda pair: -len(pair[0]))
    for aspect, codes in _PHRASES_BY_ASPECT.items()
}
_PHRASES_BY_CODE = {bytes([code]): phrase.encode() for code, phrase in enumerate(PHRASES, 1)}
_PHRASES_PER_STEP = 8
"""SQLite's parser accepts about 20 functions within each other."""
_CODE = re.compile(rb"[\x01-\x1f]")


def shorten(aspect: str, value: bytes) -> bytes:
    r"""Return the JSON of an aspect as it is stored.

    >>> shorten("dataProcessInstanceInput", b'{"inputs":["urn:li:dataset:(urn:li:dataPlatform:s3,a,PROD)"]}')
    b'{"inputs":["\x02s3,a\t"]}'
    """
    for phrase, code in _REPLACEMENTS.get(aspect, ()):
        value = value.replace(phrase, code)
    return value


def expand(value: bytes) -> bytes:
    """Return the JSON of a stored aspect."""
    return _CODE.sub(lambda match: _PHRASES_BY_CODE[match[0]], value)


def expanding_select(columns: str, select: str) -> str:
    """Return an SQL query that has the columns of another one, with the phrases of its column ``value`` put back.

    Args:
        columns: The names of the other columns.
        select: The query.
    """
    steps = [f"step0 AS ({select})"]
    for first in range(0, len(PHRASES), _PHRASES_PER_STEP):
        expression = "value"
        for code, phrase in list(enumerate(PHRASES, 1))[first : first + _PHRASES_PER_STEP]:
            literal = phrase.replace("'", "''")
            expression = f"replace({expression}, char({code}), '{literal}')"
        steps.append(f"step{len(steps)} AS (SELECT {columns}, {expression} AS value FROM step{len(steps) - 1})")
    return f"WITH {', '.join(steps)} SELECT {columns}, value FROM step{len(steps) - 1}"
