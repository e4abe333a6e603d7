"""Attack every regular expression of the package with texts made of its own structure, and print what a megabyte costs.

    python benchmarks/patterns.py [--size 1000000] [--limit 0.1] [--all]

A row for each pattern whose worst text takes longer than a tenth of the limit (``--all``: for each). tests/redaction/test_patterns.py uses the same
attacks on shorter texts. A pattern that is linear takes twice as long for twice the text.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import pkgutil
import random
import re
import signal
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    from re import _parser as sre  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_parse as sre

SOURCE = Path(__file__).resolve().parents[1] / "src"
LIMIT = 0.1
_DEEPEST = 4
_METHODS = ("search", "match", "fullmatch", "sub", "finditer", "findall", "split")
#: Characters of the longest text that a pattern sees, where the caller cuts it first.
BOUNDS = {
    "secret_name_pattern": 200,
    "harmless_name_pattern": 200,
    "secret_ending": 200,
    "harmless_words": 200,
    "_PART": 200,
    "_BETWEEN": 200,
    "_COUNT": 200,
    "root": 200,
    "_LAST_WORD": 21,
    "_NAME_PREFIX": 24,
    "_ELEMENT_PREFIX": 26,
    "_PRECEDING_NAME": 64,
    "_PRECEDING_TYPED_NAME": 64,
    "_PRECEDING_KEY": 64,
    "_HASH_COMPARISON": 64,
    "_COMPARISON": 64,
    "_PRAGMA": 64,
    "_CALL_PREFIX": 120,
    "_DIRECTIVE": 120,
    "_NETRC": 120,
    "_OTHER_NAME": 240,
    "_PRECEDING_VALUE": 300,
    "_CALL": 1000,
    "_CONSTANT": 10_000,
    "_SECRET_KEY": 200,
    "_ISO": 1000,
    "_screen": 1000,
    "_TOKENS": 2000,
    "_COMMENT": 4000,
    "_WHOLE_ROW_WRITE": 4000,
    "_DELIMITER": 65_536,
    "_find_delimiters": 1024,
}


class Expression(NamedTuple):
    """A pattern, the module that compiles it, and how it is used: anchored at the start of a text, or searched for in it."""

    module: str
    name: str
    line: int
    pattern: re.Pattern[Any]
    uses: tuple[str, ...]


def expressions() -> list[Expression]:
    """Return the patterns that the package compiles when it is imported, configured, and translates its examples."""
    found: dict[tuple[str, int, Any], re.Pattern[Any]] = {}
    compile_ = re.compile

    def recorded(pattern: Any, flags: Any = 0) -> re.Pattern[Any]:
        compiled = compile_(pattern, flags)
        frame = sys._getframe(1)  # noqa: SLF001 - who compiles it
        if frame.f_code.co_filename.startswith(str(SOURCE)):
            name = str(frame.f_globals.get("__name__"))
            found[name, frame.f_lineno, compiled.pattern] = compiled
        return compiled

    re.compile = recorded  # type: ignore[assignment]
    try:
        for module in pkgutil.walk_packages([str(SOURCE / "dh_bridge")], "dh_bridge."):
            if not module.name.endswith("__main__"):
                with suppress(ImportError):  # an extra that is not installed
                    importlib.import_module(module.name)
        _work()
    finally:
        re.compile = compile_
    trees = {module: _tree(module) for module, _, _ in found}
    attributes = _attributes()
    rows = []
    for (module, line, _), pattern in sorted(found.items(), key=lambda item: item[0][:2]):
        name, uses = _uses(trees[module], line, attributes)
        rows.append(Expression(module, name, line, pattern, uses or ("search",)))
    return rows


def _work() -> None:
    from dh_bridge import Bridge  # noqa: PLC0415 - after re.compile is replaced
    from dh_bridge.bundled import EXAMPLES  # noqa: PLC0415
    from dh_bridge.redaction.rules import rules  # noqa: PLC0415

    rules()
    Bridge({"naming": {"unknown": "drop"}}).translate(EXAMPLES, report=True)
    reverse = importlib.import_module("dh_bridge.naming.reverse")
    with suppress(Exception):
        reverse.Reverse()  # its patterns are made when they are asked for


def _tree(module: str) -> ast.Module:
    path = SOURCE / Path(*module.split("."))
    file = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
    return ast.parse(file.read_text(encoding="utf-8"))


def _attributes() -> dict[str, set[str]]:
    """Return the methods that any module calls of an attribute ``.name``."""
    found: dict[str, set[str]] = {}
    for file in (SOURCE / "dh_bridge").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in _METHODS and isinstance(node.value, ast.Attribute):
                found.setdefault(node.value.attr, set()).add(node.attr)
    return found


def _uses(tree: ast.Module, line: int, attributes: dict[str, set[str]]) -> tuple[str, tuple[str, ...]]:
    """Return the name that the pattern of a line is given, and the methods that are called of it."""
    bound = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in _METHODS
        and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "attr", "") == "compile"
        and node.value.lineno <= line <= (node.value.end_lineno or 0)
    }
    if bound:  # re.compile(…).fullmatch
        return _assigned_name(tree, line), tuple(sorted(bound))
    for node in ast.walk(tree):
        if (
            not isinstance(node, (ast.Assign, ast.AnnAssign))
            or node.value is None
            or not node.lineno <= line <= (node.end_lineno or 0)
        ):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        name = str(getattr(target, "id", getattr(target, "attr", "")))
        if isinstance(node.value, ast.Attribute) and node.value.attr in _METHODS:  # re.compile(…).fullmatch
            return name, (node.value.attr,)
        if isinstance(target, ast.Attribute):
            return name, tuple(sorted(attributes.get(name, ())))
        called = {
            one.attr
            for one in ast.walk(tree)
            if isinstance(one, ast.Attribute) and one.attr in _METHODS and getattr(one.value, "id", "") == name
        }
        if called or name in attributes:
            return name, tuple(sorted(called or attributes[name]))
        break
    # kept in a list or a table: what the module does with patterns at all
    return "", tuple(
        sorted(
            {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in _METHODS}
            - {"split"}
        )
    )


def _assigned_name(tree: ast.Module, line: int) -> str:
    """Return the name that the value of a line is given, "" if it has none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and node.lineno <= line <= (node.end_lineno or 0):
            return str(getattr(node.targets[0], "id", ""))
    return ""


# -- attacks ---------------------------------------------------------------------------------------------------------


def attacks(pattern: re.Pattern[Any], size: int) -> Iterator[Any]:
    """Yield texts of about ``size`` characters: each repeated part pumped, the beginning again and again, and both broken off."""
    source = pattern.pattern
    tree = (
        sre.parse(source, pattern.flags & ~re.DEBUG) if isinstance(source, str) else sre.parse(source.decode("latin-1"))
    )
    chance = random.Random(len(source))  # noqa: S311 - a text to measure with
    pumps: list[tuple[str, str]] = []
    _pumps(tree, "", chance, pumps, 0)
    whole = _sample(tree, chance, 0)
    pumps += [("", whole[:cut]) for cut in {len(whole), len(whole) - 1, len(whole) // 2, 1} if cut > 0]
    signs = [
        ("", sign)
        for sign in (
            " ",
            "a",
            "'",
            '"',
            "\\",
            "=",
            "a=",
            "-",
            "(",
            ".",
            "0",
            "/*",
            "'a",
            "a.",
            "@",
            "://",
            "a:",
            "\n",
            "--",
        )
    ]
    ended = [(start, part, end) for start, part in dict.fromkeys(pumps) if part for end in ("", "\x00!", whole[-1:])]
    for start, part, end in [*dict.fromkeys(ended), *((start, part, "\x00!") for start, part in signs)]:
        text = start + part * max(1, size // len(part)) + end
        yield text if isinstance(source, str) else text.encode("latin-1", "replace")


def _pumps(tree: Any, before: str, chance: random.Random, found: list[tuple[str, str]], depth: int) -> None:
    if depth > _DEEPEST:
        return
    for name, argument in tree:
        word = str(name)
        if word in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            _, most, inner = argument
            if most > 1:
                found += [(before, _sample(inner, chance, 0)), (before, _sample(inner, chance, 0))]
            _pumps(inner, before, chance, found, depth + 1)
        elif word == "SUBPATTERN":
            _pumps(argument[-1], before, chance, found, depth + 1)
        elif word == "BRANCH":
            for branch in argument[1][:12]:
                _pumps(branch, before, chance, found, depth + 1)
        elif word in ("ASSERT", "ASSERT_NOT", "ATOMIC_GROUP"):
            _pumps(argument[1] if word != "ATOMIC_GROUP" else argument, before, chance, found, depth + 1)
        before += _sample([(name, argument)], chance, 0)


def _sample(tree: Any, chance: random.Random, depth: int) -> str:
    """Return a text that the parts match, as far as that can be told part by part."""
    return "".join(_part(str(name), argument, chance, depth) for name, argument in tree)


def _part(word: str, argument: Any, chance: random.Random, depth: int) -> str:  # noqa: PLR0911 - a line for each kind of part
    if word == "LITERAL":
        return chr(argument)
    if word in ("NOT_LITERAL", "ANY"):
        return "a" if argument != ord("a") else "b"
    if word == "IN":
        return _member(argument, chance)
    if word in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, inner = argument
        return "".join(_sample(inner, chance, depth + 1) for _ in range(min(int(most), max(int(least), 1), 40)))
    if word == "SUBPATTERN":
        return _sample(argument[-1], chance, depth + 1)
    if word == "BRANCH":
        return _sample(chance.choice(argument[1]), chance, depth + 1)
    return _sample(argument, chance, depth + 1) if word == "ATOMIC_GROUP" else ""


_CATEGORIES = {"DIGIT": "0", "SPACE": " ", "WORD": "a", "NOT_DIGIT": "a", "NOT_SPACE": "a", "NOT_WORD": "-"}


def _member(items: Any, chance: random.Random) -> str:
    negated = any(str(name) == "NEGATE" for name, _ in items)
    choices: list[str] = []
    for name, argument in items:
        word = str(name)
        if word == "LITERAL":
            choices.append(chr(argument))
        elif word == "RANGE":
            choices += [chr(argument[0]), chr(argument[1])]
        elif word == "CATEGORY":
            choices.append(_CATEGORIES.get(str(argument).removeprefix("CATEGORY_"), "a"))
    if negated:
        return next((sign for sign in "a0 -_.x" if sign not in choices), "a")
    return chance.choice(choices) if choices else "a"


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def seconds(expression: Expression, text: Any) -> float:
    """Return what the pattern takes for ``text``, as the package uses it."""
    pattern, most = expression.pattern, 0.0
    empty = text[:0]
    for use in expression.uses:
        begun = time.process_time()
        if use == "sub":
            pattern.sub(empty, text)
        elif use == "finditer":
            for _ in pattern.finditer(text):
                pass
        else:
            getattr(pattern, use)(text)
        most = max(most, time.process_time() - begun)
    return most


def worst(expression: Expression, size: int, *, most: int = 6, patience: float = 5.0) -> tuple[float, Any]:
    """Return the seconds of the worst attack of ``size`` characters, and the first of them; infinite beyond ``patience``.

    All attacks are tried on a fiftieth of the size, and the ``most`` expensive of them on all of it.
    """
    size = min(size, BOUNDS.get(expression.name, size))
    small = attacks(expression.pattern, max(20, size // 50))
    try:
        with _deadline(patience):
            costs = sorted(((seconds(expression, text), number) for number, text in enumerate(small)), reverse=True)[
                :most
            ]
    except TimeoutError:
        return float("inf"), ""
    found: tuple[float, Any] = (0.0, "")
    chosen = {number for _, number in costs}
    for number, text in enumerate(attacks(expression.pattern, size)):
        if number not in chosen:
            continue
        try:
            with _deadline(patience):
                took = seconds(expression, text)
        except TimeoutError:
            return float("inf"), text[:80]
        if took > found[0]:
            found = (took, text[:80])
    return found


def reference_seconds(size: int) -> float:
    """Return what the search for a character takes in a text of nothing else: a measure of the machine."""
    text, pattern = "(" * size, re.compile(r"[(]")
    times = []
    for _ in range(5):
        begun = time.process_time()
        for _ in pattern.finditer(text):
            pass
        times.append(time.process_time() - begun)
    return sorted(times)[2]


def main() -> int:
    """Print the table; return 1 if a pattern is over the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for a million characters")
    parser.add_argument(
        "--ratio", type=float, help="the limit as a multiple of the search for a single character, instead of seconds"
    )
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    rows = expressions()
    limit = options.limit * options.size / 1_000_000
    if options.ratio is not None:
        limit = options.ratio * reference_seconds(options.size)
    over = 0
    for row in rows:
        took, text = worst(row, options.size)
        if options.ratio is not None and took > limit:  # again, on a busy machine
            limit = max(limit, options.ratio * reference_seconds(options.size))
            took = min(took, worst(row, options.size)[0])
        over += took > limit
        if options.all or took > limit / 10:
            print(
                f"{took:8.3f} s  {row.module}:{row.line}  {','.join(row.uses)}  {row.pattern.pattern[:60]!r}  {text[:40]!r}",
                flush=True,
            )
    print(f"{len(rows)} patterns, {over} over {limit:.2f} s for {options.size:,} characters")
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
