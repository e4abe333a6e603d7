"""The rules of ``mappings/redaction/secrets.yaml``, compiled once into patterns."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from dh_bridge.bundled import MAPPINGS, load_yaml, text_of, typed

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
#: A prefix with such a sign is no part of a word: ``hooks.slack.com/``.
_SEPARATED = re.compile(r"[^\w.\-]")
_SEPARATORS = re.compile("[^A-Za-z0-9]+")
#: A part of a name that people give: ``orders``, ``Customer360``, ``v2``, ``ACCOUNTS``, ``2024``.
_WORD = re.compile("[A-Za-z]?[a-z]{0,20}[0-9]{0,8}|[A-Z]{1,20}[0-9]{0,8}")


class TokenRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of ``tokens``: how the tokens of an issuer look."""

    issuer: str
    prefixes: tuple[str, ...]
    alphabet: str
    least: int
    most: int | None = None
    before: int = 0
    mixed: bool = False


class Names(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of ``names``."""

    words: tuple[str, ...]
    ends: tuple[str, ...]
    keys: tuple[str, ...]
    harmless_endings: tuple[str, ...]
    harmless_beginnings: tuple[str, ...]
    secret_endings: tuple[str, ...]
    whole: tuple[str, ...]
    harmless: tuple[str, ...]


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of ``sql_arguments``."""

    names: tuple[str, ...]
    positions: tuple[int, ...]


class KeyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of ``key_files``: the texts around a key."""

    begin: str
    end: str


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    tokens: tuple[TokenRow, ...]
    armour: tuple[str, ...]
    key_files: tuple[KeyFile, ...]
    names: Names
    prose: tuple[str, ...]
    mechanisms: tuple[str, ...]
    types: tuple[str, ...]
    placeholders: tuple[str, ...]
    directories: tuple[str, ...]
    commands: tuple[Command, ...]
    setters: tuple[str, ...]
    setter_names: tuple[str, ...]
    code_arguments: tuple[Arguments, ...]
    columns: tuple[str, ...]
    sql_leaves: tuple[str, ...]
    sql_starts: tuple[str, ...]
    sql_inside: tuple[str, ...]
    sql_arguments: tuple[Arguments, ...]
    sql_procedures: tuple[str, ...]


class Token:
    """Finds the tokens that begin with one prefix."""

    def __init__(self, prefix: str, row: TokenRow) -> None:
        self._before = row.before
        self._prefix = prefix
        self._random = row.alphabet not in ("hex", "base32")
        self._mixed = row.mixed
        most = "" if row.most is None else row.most
        end = "(?![A-Za-z0-9])" if row.most is not None else ""
        # ASCII: the tokens of all issuers are
        start = rf"(?<=[\w\-]{{{row.before}}})" if row.before else "(?<![A-Za-z0-9])"
        letters = _ALPHABETS[row.alphabet]
        self.expression = re.compile(f"{start}{re.escape(prefix)}[{letters}]{{{row.least},{most}}}{end}", re.ASCII)

    def masked(self, text: str, mask: str) -> str:
        """Return ``text`` with ``mask`` in place of each token."""
        parts: list[str] = []
        done = 0
        for match in self.expression.finditer(text):
            if self._mixed and not (_CAPITAL.search(match[0]) and _DIGIT.search(match[0])):
                continue
            if self._random and _is_name(match[0][len(self._prefix) :]):
                continue
            parts += text[done : max(done, match.start() - self._before)], mask
            done = match.end()
        return "".join([*parts, text[done:]]) if parts else text


def _is_name(text: str) -> bool:
    """Return whether what stands behind a prefix is a name that people give, such as ``customer_orders_2024``."""
    return all(_WORD.fullmatch(part) for part in _SEPARATORS.split(text))


class Rules:
    """What the modules of this package ask for."""

    def __init__(self, document: Document) -> None:
        names = document.names
        #: by their prefixes
        self.tokens = {prefix: Token(prefix, row) for row in document.tokens for prefix in row.prefixes}
        inner = {prefix for row in document.tokens if row.before for prefix in row.prefixes}
        #: prefixes that do not begin a word, or go beyond it; the others are found among the words of a text
        self.inner_prefixes = tuple(
            {*inner, *(prefix for prefix in self.tokens if _SEPARATED.search(prefix) is not None)}
        )
        alphabets = {
            prefix: row.alphabet
            for row in document.tokens
            for prefix in row.prefixes
            if prefix not in self.inner_prefixes
        }
        self.shortest_token = min(row.least for row in document.tokens)
        beginnings = [
            rf"{re.escape(prefix)}(?=[{_ALPHABETS[alphabets[prefix]]}]{{8}})"
            for prefix in sorted(alphabets, key=len, reverse=True)
        ]
        self.token_start = re.compile(f"(?<![A-Za-z0-9])({'|'.join(beginnings)})", re.ASCII)
        armour = "|".join(map(re.escape, sorted(document.armour, key=len, reverse=True)))
        self.armour = re.compile(rf"-----BEGIN (?:[A-Z0-9]{{1,12}} ){{0,3}}(?:{armour})-----")
        words = _alternatives(names.words)
        keys = f"(?:^|[._-]){_alternatives(names.keys)}[._ -]?keys?"
        long_keys = f"{_alternatives(tuple(key for key in names.keys if len(key) > 5))}[._-]?keys?"
        ends = _alternatives(names.ends)
        #: what each name of a secret has in it
        self.root = re.compile(
            f"{words}|{ends}|key|{_alternatives(tuple(name.partition('.')[0] for name in names.whole))}"
        )
        self.secret_name = re.compile(
            f"{words}|(?:^|[._-]){ends}[0-9]{{0,2}}$|(?:{keys}|{long_keys}|apikey)(?:[0-9]{{0,2}}$|[._-])"
        )
        endings = f"(?:[._-]?{_alternatives(names.harmless_endings)}){{1,3}}$"
        questions = f"(?:^|[._]){_alternatives(names.harmless_beginnings)}[._-]{words}s?(?:[._-]set)?$"
        self.harmless_name = re.compile(f"(?:{words}|{keys}|{long_keys}|(?:^|[._-]){ends})s?{endings}|{questions}")
        self.whole_names = names.whole
        self.secret_ending = re.compile(f"{_alternatives(names.secret_endings)}$")
        self.harmless_words = re.compile(f"(?:^|(?<=[._-])){_alternatives(names.harmless)}(?=$|[._-])")
        self.prose = frozenset(document.prose)
        self.key_files = document.key_files
        self.mechanisms = frozenset(document.mechanisms)
        self.types = frozenset(document.types)
        self.placeholders = frozenset(document.placeholders)
        self.directories = frozenset(document.directories)
        self.setters = frozenset(document.setters)
        self.setter_names = frozenset(document.setter_names)
        self.commands = _commands(document.commands)
        self.columns = frozenset(document.columns)
        self.sql_leaves = frozenset(document.sql_leaves)
        starts = _alternatives(document.sql_starts)
        self.sql_start = re.compile(rf"\s{{0,40}}(?:(?:--[^\n]{{0,400}}\n|/\*)|\(?{starts}\b\s)", re.IGNORECASE)
        self.sql_inside = _phrases(document.sql_inside)
        self.procedures = re.compile(rf"\b{_alternatives(document.sql_procedures)}\b[^;\n]{{0,1000}}", re.IGNORECASE)
        self.procedures_names = frozenset(document.sql_procedures)
        self.arguments = _positions(document.sql_arguments)
        self.code_arguments = _positions(document.code_arguments)
        self.sql_parts = _parts(self.arguments)
        self.code_parts = _parts(self.code_arguments)


def _commands(rows: tuple[Command, ...]) -> dict[str, tuple[Command, ...]]:
    """Return what programs do with their arguments, by their names."""
    commands: dict[str, tuple[Command, ...]] = {}
    for row in rows:
        for program in row.programs:
            commands[program] = (*commands.get(program, ()), row)
    return commands


def _phrases(phrases: tuple[str, ...]) -> re.Pattern[str]:
    inside = "|".join(re.escape(phrase).replace(r"\ ", r"\s{1,8}") for phrase in phrases)
    return re.compile(rf"\b(?:{inside})\b")


def _positions(rows: tuple[Arguments, ...]) -> dict[str, tuple[int, ...]]:
    """Return the positions of secrets by the names of functions."""
    positions: dict[str, tuple[int, ...]] = {}
    for row in rows:
        for name in row.names:
            positions[name] = (*positions.get(name, ()), *row.positions)
    return positions


def _parts(functions: dict[str, tuple[int, ...]]) -> re.Pattern[str]:
    """Return the pattern that finds literals, brackets, commas and the calls of functions (group 1) in a text in lower case."""
    names = _alternatives(tuple(functions)).replace("(?:", "(", 1)
    return re.compile(rf"'[^']*(?:''[^']*)*'|\"[^\"]*\"|(?<!\w){names}\s{{0,4}}\(|[(),\[\]]")


def _alternatives(words: tuple[str, ...]) -> str:
    return f"(?:{'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})"


@cache
def rules() -> Rules:
    """Return the rules that travel with the package."""
    path = MAPPINGS / "redaction" / "secrets.yaml"
    return Rules(typed(load_yaml(text_of(path), str(path)), Document, "redaction", str(path)))
