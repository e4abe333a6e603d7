"""The rules of ``mappings/redaction/secrets.yaml``, compiled once into patterns."""

from __future__ import annotations

import re
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.bundled import MAPPINGS, convert_document, load_yaml, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ALPHABETS = {
    "hex": "0-9a-f",
    "hex_dashed": "0-9a-f-",
    "upper_dashed": "A-Z0-9-",
    "upper": "A-Z0-9",
    "base32": "A-Z2-7",
    "alnum": "A-Za-z0-9",
    "word": r"\w\-",
    "dotted": r"\w\-.",
    "dotted_tilde": r"\w\-.~",
    "path": r"\w\-./@",
    "base64": "A-Za-z0-9+/=",
    "base64_word": r"\w\-+/=.",
}
_CAPITAL = re.compile("[A-Z]")
_DIGIT = re.compile("[0-9]")
#: A prefix with such a character is no part of a word: ``hooks.slack.com/``.
_SEPARATOR_CHAR = re.compile(r"[^\w.\-]")
_SEPARATORS = re.compile("[^A-Za-z0-9]+")
#: A part of a name that people give: ``orders``, ``Customer360``, ``v2``, ``ACCOUNTS``, ``2024``.
_NAME_PART = re.compile("[A-Za-z]?[a-z]{0,20}[0-9]{0,8}|[A-Z]{1,20}[0-9]{0,8}")


class TokenRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of ``tokens``: how the tokens of an issuer look."""

    issuer: str
    prefixes: tuple[str, ...]
    alphabet: str
    least: int
    most: int | None = None
    before: int = 0
    mixed: bool = False


class SecretNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of ``names``."""

    words: tuple[str, ...]
    ends: tuple[str, ...]
    keys: tuple[str, ...]
    harmless_endings: tuple[str, ...]
    harmless_beginnings: tuple[str, ...]
    secret_endings: tuple[str, ...]
    whole: tuple[str, ...]
    harmless: tuple[str, ...]


class FunctionArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of ``sql_arguments``."""

    names: tuple[str, ...]
    positions: tuple[int, ...]


class KeyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of ``key_files``: the texts around a key."""

    begin: str
    end: str


class ProgramCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of ``commands``: which arguments of some programs are secrets."""

    programs: tuple[str, ...]
    after: str = msgspec.field(default="", name="with")
    flags: tuple[str, ...] = ()
    attached: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    logins: bool = False
    at: bool = False
    position: int = 0
    named: bool = False


class SecretsDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    tokens: tuple[TokenRow, ...]
    armour: tuple[str, ...]
    key_files: tuple[KeyFile, ...]
    names: SecretNames
    prose: tuple[str, ...]
    mechanisms: tuple[str, ...]
    types: tuple[str, ...]
    placeholders: tuple[str, ...]
    directories: tuple[str, ...]
    commands: tuple[ProgramCommand, ...]
    setters: tuple[str, ...]
    setter_names: tuple[str, ...]
    code_arguments: tuple[FunctionArguments, ...]
    columns: tuple[str, ...]
    sql_fields: tuple[str, ...]
    sql_starts: tuple[str, ...]
    sql_inside: tuple[str, ...]
    sql_arguments: tuple[FunctionArguments, ...]
    sql_procedures: tuple[str, ...]


class TokenPattern:
    """Finds the tokens that begin with one prefix."""

    def __init__(self, prefix: str, row: TokenRow) -> None:
        self._preceding_length = row.before
        self._prefix = prefix
        self._is_random = row.alphabet not in ("hex", "base32", "path")
        self._is_mixed = row.mixed
        max_length = "" if row.most is None else row.most
        end_pattern = "(?![A-Za-z0-9])" if row.most is not None else ""
        start_pattern = rf"(?<=[\w\-]{{{row.before}}})" if row.before else "(?<![A-Za-z0-9])"
        alphabet = _ALPHABETS[row.alphabet]
        self._expression = f"{start_pattern}{re.escape(prefix)}[{alphabet}]{{{row.least},{max_length}}}{end_pattern}"

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The expression of a whole token; compiled when a text has the prefix, which few have."""
        return re.compile(self._expression, re.ASCII)  # ASCII: the tokens of all issuers are

    def mask_tokens(self, text: str, mask: str) -> str:
        """Return ``text`` with ``mask`` in place of each token."""
        parts: list[str] = []
        cursor = 0
        for match in self.pattern.finditer(text):
            if self._is_mixed and not (_CAPITAL.search(match[0]) and _DIGIT.search(match[0])):
                continue
            if self._is_random and _is_name(match[0][len(self._prefix) :]):
                continue
            parts += text[cursor : max(cursor, match.start() - self._preceding_length)], mask
            cursor = match.end()
        return "".join([*parts, text[cursor:]]) if parts else text


def _is_name(text: str) -> bool:
    """Return whether the text after a prefix is a name that people give, such as ``customer_orders_2024``."""
    return all(_NAME_PART.fullmatch(part) for part in _SEPARATORS.split(text))


class RedactionRules:
    """The compiled rules for the modules of this package."""

    def __init__(self, document: SecretsDocument) -> None:
        names = document.names
        #: by their prefixes
        self.tokens = {prefix: TokenPattern(prefix, row) for row in document.tokens for prefix in row.prefixes}
        affixes = {prefix for row in document.tokens if row.before for prefix in row.prefixes}
        #: prefixes that do not begin a word, or go beyond it; the others are found among the words of a text
        self.inner_prefixes = tuple(
            {*affixes, *(prefix for prefix in self.tokens if _SEPARATOR_CHAR.search(prefix) is not None)}
        )
        self.shortest_token = min(row.least for row in document.tokens)
        self.token_start = _token_start_pattern(document.tokens, self.inner_prefixes)
        armour = "|".join(map(re.escape, sorted(document.armour, key=len, reverse=True)))
        self.armour = re.compile(rf"-----BEGIN (?:[A-Z0-9]{{1,12}} ){{0,3}}(?:{armour})-----")
        word_pattern = _alternation(names.words)
        key_pattern = f"(?:^|[._-]){_alternation(names.keys)}[._ -]?keys?"
        long_key_pattern = f"{_alternation(tuple(key for key in names.keys if len(key) > 5))}[._-]?keys?"
        end_pattern = _alternation(names.ends)
        #: the parts of each name of a secret
        self.root = re.compile(
            _grouped({*names.words, *names.ends, "key", *(name.partition(".")[0] for name in names.whole)})
        )
        self.secret_name_pattern = re.compile(
            f"{word_pattern}|(?:^|[._-]){end_pattern}[0-9]{{0,2}}$|(?:{key_pattern}|{long_key_pattern}|apikey)(?:[0-9]{{0,2}}$|[._-])"
        )
        endings = f"(?:[._-]?{_alternation(names.harmless_endings)}){{1,3}}$"
        questions = f"(?:^|[._]){_alternation(names.harmless_beginnings)}[._-]{word_pattern}s?(?:[._-]set)?$"
        self.harmless_name_pattern = re.compile(
            f"(?:{word_pattern}|{key_pattern}|{long_key_pattern}|(?:^|[._-]){end_pattern})s?{endings}|{questions}"
        )
        self.whole_names = names.whole
        self.secret_ending = re.compile(f"{_alternation(names.secret_endings)}$")
        self.harmless_words = re.compile(f"(?:^|(?<=[._-])){_alternation(names.harmless)}(?=$|[._-])")
        self.prose = frozenset(document.prose)
        self.key_files = document.key_files
        self.mechanisms = frozenset(document.mechanisms)
        self.types = frozenset(document.types)
        self.placeholders = frozenset(document.placeholders)
        self.directories = frozenset(document.directories)
        self.setters = frozenset(document.setters)
        self.setter_names = frozenset(document.setter_names)
        self.commands = _commands_by_program(document.commands)
        self.columns = frozenset(document.columns)
        self.sql_fields = frozenset(document.sql_fields)
        starts = _alternation(document.sql_starts)
        self.sql_start = re.compile(rf"\s{{0,40}}(?:(?:--[^\n]{{0,400}}\n|/\*)|\(?{starts}\b\s)", re.IGNORECASE)
        self.sql_phrases = _phrase_pattern(document.sql_inside)
        self.procedures = re.compile(rf"\b{_alternation(document.sql_procedures)}\b[^;\n]{{0,1000}}", re.IGNORECASE)
        self.procedure_names = frozenset(document.sql_procedures)
        self.sql_arguments = _positions_by_function(document.sql_arguments)
        self.code_arguments = _positions_by_function(document.code_arguments)
        self.sql_calls = _call_pattern(self.sql_arguments)
        self.code_calls = _call_pattern(self.code_arguments)


def _token_start_pattern(rows: tuple[TokenRow, ...], inner_prefixes: tuple[str, ...]) -> re.Pattern[str]:
    """Return the expression for tokens at the beginning of a word, longer prefixes first."""
    endings = {
        prefix: f"(?=[{_ALPHABETS[row.alphabet]}]{{8}})"
        for row in rows
        for prefix in row.prefixes
        if prefix not in inner_prefixes
    }
    return re.compile(f"{_first_chars(endings)}(?<![A-Za-z0-9])({_grouped(endings, endings)})", re.ASCII)


def _commands_by_program(rows: tuple[ProgramCommand, ...]) -> dict[str, tuple[ProgramCommand, ...]]:
    """Return what programs do with their arguments, by their names."""
    commands: dict[str, tuple[ProgramCommand, ...]] = {}
    for row in rows:
        for program in row.programs:
            commands[program] = (*commands.get(program, ()), row)
    return commands


def _phrase_pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = _grouped(phrases).replace(r"\ ", r"\s{1,8}")
    return re.compile(rf"{_first_chars(phrases)}\b(?:{alternatives})\b")


def _positions_by_function(rows: tuple[FunctionArguments, ...]) -> dict[str, tuple[int, ...]]:
    """Return the positions of secrets by the names of functions."""
    positions: dict[str, tuple[int, ...]] = {}
    for row in rows:
        for name in row.names:
            positions[name] = (*positions.get(name, ()), *row.positions)
    return positions


def _call_pattern(functions: dict[str, tuple[int, ...]]) -> re.Pattern[str]:
    """Return the pattern that finds the calls of functions (group 1) in a text in lower case."""
    return re.compile(rf"{_first_chars(functions)}(?<!\w)({_grouped(functions)})\s{{0,4}}\(")


def _first_chars(words: Iterable[str]) -> str:
    """Return a look-ahead for the first characters of the words; it avoids most attempts of the long alternation."""
    return f"(?=[{re.escape(''.join(sorted({word[0] for word in words})))}])"


def _grouped(words: Iterable[str], endings: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return an alternation by the first character, longer words first, so that a position is compared with few words.

    ``endings``: the expression after a word, by the word.
    """
    groups: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        groups.setdefault(word[0], []).append(re.escape(word[1:]) + endings.get(word, ""))
    return "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in groups.items())


def _alternation(alternatives: tuple[str, ...]) -> str:
    return f"(?:{'|'.join(map(re.escape, sorted(alternatives, key=len, reverse=True)))})"


@cache
def rules() -> RedactionRules:
    """Return the rules that travel with the package."""
    path = MAPPINGS / "redaction" / "secrets.yaml"
    return RedactionRules(
        convert_document(load_yaml(read_text(path), str(path)), SecretsDocument, "redaction", str(path))
    )
