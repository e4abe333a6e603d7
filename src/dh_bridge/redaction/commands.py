"""Secrets among the arguments of programs: ``curl -u ann:x``, ``mysql -px``, ``sqlplus scott/x@db``; of code as of a shell."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.redaction.mode import MASK
from dh_bridge.redaction.names import is_secret_name
from dh_bridge.redaction.rules import rules
from dh_bridge.redaction.values import SecretSpan, is_harmless, looks_secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.redaction.rules import ProgramCommand

_LOOKAHEAD = r"(?=[ \t]|[\"']\s?,)"
_NAME_CHAR = re.compile(r"[\w.\-]")
#: An argument of a shell; the line may go on behind a backslash.
_ARGUMENT = re.compile(
    r"(?:[ \t]|\\\r?\n){1,40}((?:[^\s'\"|;&<>`\\]|\\(?![nrt\"'\r\n])|'[^'\n]{0,400}'|\"[^\"\n]{0,400}\"){1,200})"
)
#: A member of a list of arguments in code.
_MEMBER = re.compile(r"[\"']?\s{0,8},\s{0,8}([\"'])([^\"'\n]{0,400})(?=\1)")
_LOGIN = re.compile(r"(?:userid=)?[\w$#.]{1,60}/(\"[^\"]{1,100}\"|[^@\s/\"',]{1,100})(@?)")
_LOGON = re.compile(r"(?:[\w.-]{1,60}/)?[\w$.-]{1,60},([^\s;,\"']{1,100})")
_ACCOUNT = re.compile(r"([^\s:%,\"'/@]{1,100}[:%,])(?!//)(.{1,400})\Z", re.DOTALL)
_MAX_ARGUMENTS = 1_000
"""Arguments of one command that are looked at. The rest of its line is hidden."""
_MAX_PROGRAMS = 20
_MAX_COMMANDS = 4_000
"""Commands of one text that are looked at. A text with more is hidden from there on."""
_TRUNCATION_TEXT = f"[REDACTED: the rest of this text, which has more than {_MAX_COMMANDS:,} commands]"
_LINE_ENDS = ("\\n", "\\r", "\\t")
_QUOTES = "\"'"
_COMMENT_CHARS = "-/*;:"


class Argument(NamedTuple):
    """An argument and its position, without quotes."""

    text: str
    begin: int


@lru_cache(maxsize=256)
def _programs_pattern(programs: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of the programs of a text, with a blank, or a quote and a comma, behind them."""
    return re.compile(f"({'|'.join(map(re.escape, programs))}){_LOOKAHEAD}")


def mask_program_arguments(text: str, classified: Iterable[str]) -> str:
    """Return ``text`` without the secrets that its command lines give to programs; ``classified`` are those of it that have a kind."""
    parts: list[str] = []
    cursor = 0
    rows_by_program = rules().commands
    programs = sorted(classified_word for classified_word in classified if _command_rows(classified_word) is not None)
    if len(programs) > _MAX_PROGRAMS:  # no text that people write
        programs = [*rows_by_program]
    command_count = 0
    for program in _programs_pattern(tuple(sorted(programs, key=len, reverse=True))).finditer(text):
        start = program.start()
        if start < cursor or (
            start and _NAME_CHAR.match(text, start - 1) and text[start - 2 : start] not in _LINE_ENDS
        ):
            continue
        rows = _command_rows(program[1])
        if rows is None:
            continue
        command_count += 1
        if command_count > _MAX_COMMANDS:
            return "".join([*parts, text[cursor:start], _TRUNCATION_TEXT])
        arguments = list(_arguments(text, program.end(), program[1]))
        spans = list(_find_secrets(rows, arguments))
        if len(arguments) == _MAX_ARGUMENTS:
            begin = arguments[-1].begin
            line_end = text.find("\n", begin)
            spans = [
                *(span for span in spans if span.begin < begin),
                SecretSpan(begin, line_end if line_end >= 0 else len(text)),
            ]
        for span in spans:
            if span.begin >= cursor:
                parts += text[cursor : span.begin], span.mask
                cursor = span.end
    return "".join([*parts, text[cursor:]]) if parts else text


def mask_commands(text: str) -> str:
    """Return ``text``, a comment of SQL, without the secrets of its command lines."""
    words = {word.strip(_COMMENT_CHARS) for word in text.split()}
    programs = [word for word in words if _command_rows(word) is not None]
    return mask_program_arguments(text, programs) if programs else text


def _command_rows(program: str) -> tuple[ProgramCommand, ...] | None:
    rows_by_program = rules().commands
    return rows_by_program.get(program) or rows_by_program.get(program.lower().removesuffix(".exe"))


def _arguments(text: str, position: int, program: str) -> Iterator[Argument]:
    """Yield the arguments of a command, up to its end or to the next program."""
    rows_by_program = rules().commands
    is_list = text[position] in _QUOTES
    for _ in range(_MAX_ARGUMENTS):
        match = _MEMBER.match(text, position) if is_list else _ARGUMENT.match(text, position)
        if match is None:
            return
        position = match.end()
        group = 2 if is_list else 1
        argument = match[group]
        if argument == program or (argument in rows_by_program and argument != "connect"):
            return
        yield Argument(argument, match.start(group))


def _find_secrets(rows: Iterable[ProgramCommand], arguments: list[Argument]) -> list[SecretSpan]:
    spans: list[SecretSpan] = []
    for row in rows:
        remaining = arguments
        if row.after:
            positions = [number for number, argument in enumerate(arguments) if argument.text == row.after]
            if not positions:
                continue
            remaining = arguments[positions[0] + 1 :]
        spans += _find_row_secrets(row, remaining)
    return sorted(spans)


def _find_row_secrets(row: ProgramCommand, arguments: list[Argument]) -> Iterator[SecretSpan]:
    plain_count = 0
    follows_name = False
    for number, argument in enumerate(arguments):
        text = argument.text.strip(_QUOTES)
        following = arguments[number + 1] if number + 1 < len(arguments) else None
        if text.startswith("-") and not row.logins:
            yield from _find_flag_secrets(row, argument, following)
        elif row.logins:
            yield from _find_login_password(row, argument)
        else:
            plain_count += 1
            if row.position == plain_count or follows_name:
                yield from _find_value(argument, 0)
            follows_name = row.named and is_secret_name(text) and "=" not in text and looks_like_name(text, following)


def looks_like_name(text: str, following: Argument | None) -> bool:
    """Return whether the argument behind a name may be its value."""
    return (
        following is not None
        and not following.text.startswith("-")
        and ("_" in text or "-" in text or looks_secret(following.text.strip(_QUOTES)))
    )


def _find_flag_secrets(row: ProgramCommand, argument: Argument, following: Argument | None) -> Iterator[SecretSpan]:
    text = argument.text
    for flags, has_user, is_attached in (
        (row.flags, False, False),
        (row.users, True, False),
        (row.attached, False, True),
    ):
        for flag in flags:
            if text == flag and following is not None and not is_attached:
                yield from _find_user_password(following, 0) if has_user else _find_value(following, 0)
                return
            is_short = len(flag) == 2
            if text.startswith(f"{flag}="):
                yield from (
                    _find_user_password(argument, len(flag) + 1) if has_user else _find_value(argument, len(flag) + 1)
                )
                return
            if is_short and text.startswith(flag) and len(text) > 2:
                yield from _find_user_password(argument, 2) if has_user else _find_value(argument, 2)
                return
            is_cluster = (
                is_short and has_user and len(text) > 2 and text[0] == "-" and text[1] != "-" and text[1:].isalpha()
            )
            if is_cluster and text.endswith(flag[1]) and following is not None:  # -sSu ann:x
                yield from _find_user_password(following, 0)
                return


def _find_value(argument: Argument, offset: int) -> Iterator[SecretSpan]:
    """Yield the part of an argument behind ``offset``: a quoted text without its quotes, else up to the first quote."""
    value = argument.text[offset:]
    prefix = len("pass:") if value.startswith("pass:") else 0
    if prefix == 0 and value.startswith(("env:", "file:", "stdin", "fd:")):
        return
    value = value[prefix:]
    begin = argument.begin + offset + prefix
    if value[:1] in _QUOTES and value[:1]:
        close = value.find(value[0], 1)
        value, begin = value[1 : close if close > 0 else len(value)], begin + 1
    else:
        value = re.split("[\"']", value, maxsplit=1)[0].rstrip(",)]")
    if value and not value.startswith("-") and not is_harmless("password", value):
        yield SecretSpan(begin, begin + len(value))


def _find_user_password(argument: Argument, offset: int) -> Iterator[SecretSpan]:
    """Yield the password of ``user:password``."""
    value = argument.text[offset:]
    begin = argument.begin + offset
    if value[:1] in _QUOTES and value[:1]:
        close = value.find(value[0], 1)
        value, begin = value[1 : close if close > 0 else len(value)], begin + 1
    match = _ACCOUNT.match(value)
    if match is None:
        return
    quote = 1 if match[2][0] in _QUOTES else 0
    password = re.split("[\"']", match[2][quote:], maxsplit=1)[0]
    if password and not is_harmless("password", password):
        yield SecretSpan(begin + match.start(2) + quote, begin + match.start(2) + quote + len(password))


def _find_login_password(row: ProgramCommand, argument: Argument) -> Iterator[SecretSpan]:
    """Yield the password of ``user/password@db``, or of ``host/user,password``."""
    text = argument.text
    shift = 1 if text[:1] in _QUOTES else 0
    if row.programs == (".logon",):
        match = _LOGON.match(text, shift)
    else:
        match = _LOGIN.match(text, shift)
        if match is not None and ((row.at and not match[2]) or "//" in text[: match.end()]):
            return
    if match is not None and match[1] != MASK:
        yield SecretSpan(argument.begin + match.start(1), argument.begin + match.end(1))
