"""JSON that every encoder takes: the name of a file in an error may be no UTF-8, and numpy's floats are a type of their own."""

from __future__ import annotations

from typing import Any

import orjson


def make_encodable(value: Any) -> Any:
    """Return ``value`` with :func:`to_utf8_text` texts, and numbers of base types."""
    if isinstance(value, dict):
        return {make_encodable(key): make_encodable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [make_encodable(inner) for inner in value]
    if isinstance(value, str):
        return to_utf8_text(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return int(value) if isinstance(value, int) else float(value)


def to_utf8_text(text: str) -> str:
    """Return a text that is UTF-8: half a character, as a byte of a file's name may be, as people see it on stderr."""
    return text.encode("utf-8", "backslashreplace").decode()


def error_text(error: BaseException) -> str:
    """Return the text of an error, whatever its class makes of it; the words of one that fails are those of ``traceback``."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - it is an error's own
        return "<exception str() failed>"


def load_json(content: bytes | str) -> Any:
    """Return the value of JSON that a server sent.

    Raises:
        ValueError: The text is no JSON, or its values are nested deeper than orjson writes them (254 levels): walks over such
            a value end in a RecursionError.
    """
    value = orjson.loads(content)
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise ValueError("nested too deeply") from error
    return value
