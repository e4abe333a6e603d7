"""The walk over the settings models: every setting is described, readable, and masked where it is secret."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from pydantic import SecretStr

from dh_bridge.settings import Settings
from dh_bridge.settings.introspection import (
    MASK,
    annotation_at,
    is_secret,
    is_simple,
    iter_setting_fields,
    mask_secrets,
    readable_type,
    takes_list,
    takes_text,
)


def test_every_setting_has_a_description_and_a_readable_type():
    for leaf in iter_setting_fields(Settings):
        assert leaf.description.strip(), leaf.key
        assert "typing" not in leaf.kind, leaf


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (str | None, "text"),
        (Literal["a", "b"], "`a` | `b`"),
        (tuple[str, ...], "list of text"),
        (dict[str, int], "mapping of text to whole number"),
        (Path, "path"),
        (SecretStr, "secret"),
        (list[Path] | None, "list of path"),
        (Settings, "Settings"),
    ],
)
def test_types_are_described_in_plain_text(annotation, text):
    assert readable_type(annotation) == text


def test_number_types_include_their_bounds():
    kinds = {leaf.key: leaf.kind for leaf in iter_setting_fields(Settings)}
    assert kinds["window"] == "whole number, at least 1"
    assert kinds["receiver.body_bytes"] == "whole number, at least 1,024"
    assert kinds["airflow.timeout"] == "number, above 0, below 10"


def test_text_list_and_area_types_are_distinguished():
    assert takes_text(str | None)
    assert not takes_text(tuple[str, ...])
    assert not takes_text(annotation_at(Settings, ("filters",)))
    assert takes_list(list[str] | None)
    assert not takes_list(list[dict[str, str]])
    assert annotation_at(Settings, ("filters", "nothing", "here")) is None
    assert takes_text(annotation_at(Settings, ("naming", "rules", 0, "case")))
    assert annotation_at(Settings, ("naming", "env", 0)) is None


def test_simple_settings_are_single_values():
    assert is_simple(annotation_at(Settings, ("window",)))
    assert is_simple(annotation_at(Settings, ("naming", "rules", 0, "case")))
    for path in (
        ("rest",),
        ("rest", "token"),
        ("rest", "headers"),
        ("rest", "headers", "X"),
        ("temporary", "datasets"),
    ):
        assert not is_simple(annotation_at(Settings, path))


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("sink.token", "abc", MASK),
        ("sink.token", "", ""),
        ("sink.headers", {"Authorization": "Bearer x", "X-Team": "a"}, {"Authorization": MASK, "X-Team": "a"}),
        (
            "sinks",
            [{"password": "x", "server": "https://me:pw@host/a"}],
            [{"password": MASK, "server": f"https://{MASK}@host/a"}],
        ),
        ("server", "http://h:1/a?token=abc&run=1", f"http://h:1/a?token={MASK}&run=1"),
        ("server", "http://h:1/a?sv=2024&sig=abc", f"http://h:1/a?sv=2024&sig={MASK}"),
        ("links", "http://h/?run={run}&job={job}", "http://h/?run={run}&job={job}"),
        ("window", 5, 5),
    ],
)
def test_secrets_are_shown_as_stars(key, value, shown):
    assert mask_secrets(key, value) == shown


def test_secret_type_is_a_secret_whatever_its_name():
    assert is_secret("plain", SecretStr("x"))
    assert not is_secret("plain", "x")
