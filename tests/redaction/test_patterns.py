"""No text makes a regular expression slow: each is linear in what it is given."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.secret_markers import event, facet

from dh_bridge import Bridge
from dh_bridge.redaction import redact, redact_sql
from dh_bridge.redaction.texts import MAX_TEXT_LENGTH

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "patterns.py"
SIZE = 200_000
#: No expression costs more than this many times the search for one character that a text consists of. Linear ones cost 2 at most on a
#: quiet machine, as benchmarks/patterns.py shows; others cost hundreds at this size.
MAX_RATIO = 10
PUMPS = [
    "jdbc:", "password=", "password='", 'password="', "token: ", "a=", "://a:", "://a:b@", "-----BEGIN PRIVATE KEY-----", "eyJ", "ghp_",
    "xoxb-", "%3A%2F%2F", "%3A%2F%2Fa%3Ab", "--password ", "Bearer ", "cookie: a=", "'", "$$", "$a$", "PASSWORD $a$ ", "aes_encrypt('a',",
    "/*", "--", "IDENTIFIED BY ", "\nset password=", "\\", "password=(", "oracle:thin:a/", "8Q~", ":AA", "sp_password '", "secret:  ",
    "cookie: ", "encrypt('a',", "curl ", "curl -u a ", "docker login ", "password ", "<password>", "name: password ", 'set("password","x")', "1//0",
    "insert into t (password) values ('a'),", "password varchar(20)", "api_key in ('a',", "hmac.new(b'x',", "a@tcp(", "PuTTY-User-Key-File-", "password=''a''",
]  # fmt: skip


@pytest.mark.slow
def test_every_pattern_is_linear():
    """The attacks are made of each pattern's own structure; benchmarks/patterns.py prints them."""
    command = [sys.executable, str(SCRIPT), "--size", str(SIZE), "--ratio", str(MAX_RATIO)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def cost(function, text):
    begun = time.process_time()
    function(text)
    return time.process_time() - begun


def least_cost(function, text):
    """Return the cost without what Python does meanwhile, such as garbage collection of all earlier tests."""
    return min(cost(function, text) for _ in range(3))


@pytest.mark.parametrize("function", [redact, redact_sql])
@pytest.mark.parametrize("pump", PUMPS)
def test_redaction_of_repeated_text_is_linear(pump, function):
    short, long = (pump * (size // len(pump)) for size in (25_000, 200_000))  # quadratic: 64 times the cost
    function(short)  # the first text in a process loads the rules, and the first with a prefix compiles an expression
    taken = cost(function, long)
    assert taken < 2
    assert taken < 0.1 or least_cost(function, long) / least_cost(function, short) < 24


def test_text_of_many_names_of_secrets_costs_little():
    assert cost(redact, "password=x1y2z3w4 " * 50_000) < 2


def test_event_with_a_long_name_is_translated_soon():
    stated = event(job_name="jdbc:" * 200_000, job={"documentation": facet(description="password='" * 100_000)})
    assert cost(Bridge().translate, stated) < 20


def test_longest_texts_are_cut_before_patterns_see_them():
    text = redact("a b " * MAX_TEXT_LENGTH)
    assert len(text) == MAX_TEXT_LENGTH
    assert redact(text) == text
    assert "characters left out" in text
    assert text.endswith("a b ")
