"""Secrets out of kept strings, before anything is capped."""

from __future__ import annotations

import re
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

REDACTED = "[REDACTED]"
DEFAULT, OFF, STRICT = "default", "off", "strict"
#: The mode of the call that is at work. Every facet keeps texts, so it is not handed through each of them; and it is
#: asked for only where there is something to hide, so that all other texts cost nothing.
_mode: ContextVar[str] = ContextVar("redaction", default=DEFAULT)

#: ``pass_value`` is what Airflow's SQLValueCheckOperator expects, ``passenger_count`` a column of every taxi's table.
_NAME = re.compile(
    r"pass(word|wd|phrase|(?!_value|enger))|pwd|secret|token|credential|api[-_.]?key|access[-_.]?key|private[-_.]?key"
    r"|auth(orization)?$|sas$|signature|connection[-_.]?string|jaas|keytab",
    re.IGNORECASE,
)
#: Hadoop's keys of Azure end with the host of the account that they open: ``fs.azure.account.key.shop.dfs.core.windows.net``.
_OF_ACCOUNT = re.compile(
    r"azure\.(?:account\.key|sas|account\.oauth2\.client\.secret)(?:\.[\w-]+){1,2}\.(?:blob|dfs)\.core\."
)
#: A text without any of these cannot hold a name that `_NAME` matches; looking for words is much faster than the pattern.
_TELLING = ("pass", "pwd", "secret", "token", "credential", "key", "auth", "sas", "signature", "connection", "jaas")
_USERINFO = re.compile(r"([\w+.-]://[^/\s:@]*):[^/\s]+@")
#: GitHub's and others' way to clone with a token: so long and with digits, no user is called.
_TOKEN_USER = re.compile(r"(https?://)(?=[^/\s:@\d]*\d)[^/\s:@]{20,}@")
_QUERY = re.compile(
    r"([?&;](?:[\w-]*(?:sig|signature|token|password|passwd|pwd|secret|credential|api[-_]?key|access[-_]?key|odbc_connect))=)[^&\s;\"']+",
    re.IGNORECASE,
)
#: What JDBC's drivers of Oracle, DB2 and Teradata take: ``thin:u/x@host``, ``/DB:password=x;``, ``/USER=u,PASSWORD=x``.
_JDBC = re.compile(
    r"""(jdbc:(?:oracle:\w{1,9}:[^\s/@:"']{1,200}/(?=[^\s@"']{1,200}@)|[^\s"']{0,500}?[,:/](?:password|passwd|pwd)=))[^\s@,;&"']+""",
    re.IGNORECASE,
)
#: How the names of secrets end, wherever they stand in a text, written with underscores.
_SECRETS = (
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "credentials"),
    *("accesskey", "apikey", "masterkey", "privatekey", "secretkey"),
    *("access_key", "api_key", "master_key", "private_key", "secret_key"),
)
_LONGEST = 16  # characters of such a name
#: How programs print what they were given: ``password=x``, ``"token": "x"``; prose as ``token: expected`` is none.
_SIGN = re.compile(r"""["']?=|["']\s?:\s?(?=["'])""")
_GIVEN = re.compile(r"""\"[^\"]*\"|'[^']*'|[^\s"'&;,)}\]]+""")
#: A flag begins a word, so that a line of dashes is looked at once; words of prose behind it are no value.
_FLAG = re.compile(
    r"((?<![\w-])--[\w-]*(?:password|passwd|passphrase|secret|token|credentials|key) )"
    r"(?!(?:and|argument|for|in|is|must|option|or|to|was)\b)[^\s-]\S*",
    re.IGNORECASE,
)
_HEADER = re.compile(r"""(authorization["']?\s?[:=]\s?["']?(?:basic|bearer|token) )[^\s"']+""", re.IGNORECASE)
#: Literals, quoted names and comments of SQL.
_QUOTED = re.compile(r"'[^']*(?:''[^']*)*'|\"[^\"]*\"|--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_BEFORE = 64  # characters before a literal that are looked at
#: A statement without any of these has no literal that is a secret by what stands before it.
_OF_SQL = ("pass", "pwd", "secret", "token", "credential", "access", "api", "master", "private", "identified")
_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_JWT_HEAD = re.compile(r"\beyJ[\w-]*")
_JWT_TAIL = re.compile(r"\.[\w-]{8,}\.[\w-]*")
_SHORTEST_HEAD = 11
#: What a secret value holds somewhere, and a sign of it to look for first: that is many times faster in a long text.
_SHAPES = (("?", "?"), ("&", "&"), (";", ";"), (":", "://"), ("J", "eyJ"), ("B", "-----BEGIN"), ("jdbc", "jdbc:"))


@contextmanager
def redaction(mode: str) -> Iterator[None]:
    """Let ``mode`` (the setting ``redaction``: off, default, strict) hold inside of the ``with`` statement."""
    token = _mode.set(mode)
    try:
        yield
    finally:
        _mode.reset(token)


def mode() -> str:
    """Return the mode that holds here."""
    return _mode.get()


def hides(key: str) -> bool:
    """Return whether a value under ``key`` is hidden, whatever it looks like."""
    return secret_name(key) and _mode.get() != OFF


def hides_value(pair: Mapping[str, Any]) -> bool:
    """Return whether the ``value`` in an object is hidden by its ``key`` or ``name``, as tags and parameters are listed."""
    return any([isinstance(name := pair.get(leaf), str) and hides(name) for leaf in ("key", "name")])  # noqa: C419 - faster


def names_only(values: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration as ``strict`` keeps it: its names, and nothing of what they are set to."""
    return {name: value if value in (None, "", [], {}) else REDACTED for name, value in values.items()}


@lru_cache(maxsize=8192)
def secret_name(key: str) -> bool:
    """Return whether the last two dotted segments of ``key`` name a secret, or those before the host of an account."""
    return _NAME.search(".".join(key.rsplit(".", 2)[-2:])) is not None or _OF_ACCOUNT.search(key) is not None


def suspect(text: str) -> bool:
    """Return whether ``text``, a JSON document, may hold a secret: in the shape of a value or under a telling name."""
    return shaped(text) or telling(text)


def shaped(text: str) -> bool:
    """Return whether ``text`` may hold a value that is a secret by its shape."""
    return any([sign in text and shape in text for sign, shape in _SHAPES])  # noqa: C419 - a list is faster


def telling(text: str) -> bool:
    """Return whether ``text`` holds a part of a name that tells of a secret."""
    lower = text.lower()
    return any(word in lower for word in _TELLING)


def redacted(text: str) -> str:
    """Return ``text`` without user info of URLs, secret query parameters, private keys and JSON web tokens."""
    found = text
    if "@" in text and "://" in text:
        found = _TOKEN_USER.sub(r"\1***@", _USERINFO.sub(r"\1:***@", found))
    if "=" in text:
        found = _QUERY.sub(r"\1***", found)
    if "jdbc:" in text:
        found = _JDBC.sub(r"\1***", found)
    if "-----BEGIN" in text:
        found = _KEY.sub(REDACTED, found)
    if "eyJ" in text:
        found = _without_tokens(found)
    return found if found is text or _mode.get() != OFF else text


def redacted_words(text: str) -> str:
    """Return what programs say and are told as :func:`redacted`, and without what stands behind a telling name."""
    found = redacted(text)
    signs = "=" in text or "--" in text or (":" in text and ('"' in text or "'" in text or "uthorization" in text))
    if not signs or not telling(text) or _mode.get() == OFF:
        return found
    found = _without_given(found)
    if "uthorization" in text:
        found = _HEADER.sub(r"\1***", found)
    return _FLAG.sub(r"\1***", found) if "--" in text else found


def redacted_sql(text: str) -> str:
    """Return a statement as :func:`redacted`, and without the literals that are secrets: ``WITH PASSWORD 'x'``."""
    found = redacted(text)
    lower = text.lower()
    if not any(word in lower for word in _OF_SQL) or _mode.get() == OFF:
        return found
    return _QUOTED.sub(_unless_secret, found)


def _unless_secret(quoted: re.Match[str]) -> str:
    said, (start, end) = quoted[0], quoted.span()
    if said[0] not in "'\"" or quoted.string[end : end + 1] == ".":
        return said
    if _is_secret(quoted.string[max(0, start - _BEFORE) : start]):
        return f"{said[0]}***{said[0]}"
    return _without_given(said) if "=" in said else said


def _is_secret(before: str) -> bool:
    """Whether a literal is a secret by what stands before it: ``PASSWORD = N``, ``IDENTIFIED BY ``, ``'token' ``."""
    before = before.rstrip("nNeEbBuU")
    words = before.rstrip(" \t\r\n=:>")
    if words == before:
        return False
    return _ends_with_secret(words.rstrip("\"'`")) or (words[-3:].lower() == " by" and "identified" in words.lower())


def _ends_with_secret(text: str) -> bool:
    return text[-_LONGEST:].lower().replace("-", "_").replace(".", "_").endswith(_SECRETS)


def _without_given(text: str) -> str:
    """Return ``text`` without the values of what is called as secrets are."""
    parts: list[str] = []
    done = 0
    for sign in _SIGN.finditer(text):
        start, end = sign.span()
        if start < done or not _ends_with_secret(text[max(0, start - _LONGEST) : start]):
            continue
        given = _GIVEN.match(text, end)
        if given is not None and not given[0].lstrip("\"'").startswith(REDACTED[:-1]):
            parts += text[done:end], "***"
            done = given.end()
    return "".join([*parts, text[done:]])


def _without_tokens(text: str) -> str:
    """Return ``text`` without JSON web tokens; a head is looked at once, however many begin inside of it."""
    parts: list[str] = []
    done = at = 0
    while (head := _JWT_HEAD.search(text, at)) is not None:
        at = head.end()
        tail = _JWT_TAIL.match(text, at) if at - head.start() >= _SHORTEST_HEAD else None
        if tail is not None:
            parts += text[done : head.start()], REDACTED
            done = at = tail.end()
    return "".join([*parts, text[done:]])


def replaced(value: Any, *keys: str, hidden: bool = False) -> bool:
    """Return whether nothing of ``value``, a leaf of JSON, is kept under any of the names ``keys``: it is secret."""
    if value is None or isinstance(value, (bool, dict, list)):
        return False
    if hidden or any(hides(key) for key in keys):
        return not isinstance(value, str) or bool(set(value) - {"*"})
    return isinstance(value, str) and value != REDACTED and redacted(value) == REDACTED


def redacted_json(value: Any, key: str = "", *, hidden: bool = False) -> Any:
    """Return JSON ``value`` with every string redacted, and whatever stands below a secret name, however deep, replaced."""
    hidden = hidden or (key != "" and hides(key))
    if isinstance(value, str):
        return REDACTED if hidden and value and set(value) != {"*"} else redacted_words(value)
    if isinstance(value, dict):
        return {
            name: redacted_json(
                member, _below(key, str(name)), hidden=hidden or (name == "value" and hides_value(value))
            )
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [redacted_json(member, key, hidden=hidden) for member in value]
    return REDACTED if hidden and value is not None and not isinstance(value, bool) else value


def shapes_redacted(value: Any) -> Any:
    """Return JSON with the secrets in its texts masked by their shape; the names are columns or people, which hide nothing."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {redacted(name): shapes_redacted(member) for name, member in value.items()}
    return [shapes_redacted(member) for member in value] if isinstance(value, list) else value


def names_of(steps: Iterable[str]) -> list[str]:
    """Return the names that may hide what is at the end of a path in JSON: each step with the one before it."""
    found: list[str] = []
    last = ""
    for step in steps:
        last = _below(last, step)
        found.append(last)
    return found


def _below(key: str, name: str) -> str:
    return f"{key.rpartition('.')[2]}.{name}" if key else name
