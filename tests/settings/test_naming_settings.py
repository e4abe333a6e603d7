"""How datasets are named: what the settings take as users of DataHub's connectors write it."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from dh_bridge.settings import Settings


@pytest.mark.parametrize("env", ["DEV", "dev", "Dev"])
def test_environment_may_be_written_in_any_case_as_in_recipes(env):
    rule = {"namespace": "postgres://db", "env": env}
    settings = Settings(naming={"env": env, "rules": [rule]})
    assert (settings.naming.env, settings.naming.rules[0].env) == ("DEV",) * 2


@pytest.mark.parametrize("env", ["development", " dev", 1, None])
def test_environment_unknown_to_datahub_is_refused(env):
    with pytest.raises(ValidationError, match=r"naming\.env"):
        Settings(naming={"env": env})


@pytest.mark.parametrize(
    "value",
    [
        {"platform_instance": "{team}"},
        {"platform_instance": "{team"},
        {"default_database": "{database}"},
        {"default_schema": "x}"},
        {"parts": {"account": "{account}"}},
        {"database_map": {"Sales": "{team}"}},
    ],
)
def test_brace_outside_of_a_template_is_refused(value):
    rule = {"namespace": "postgres://{team}", **value}
    with pytest.raises(ValidationError, match="only `rename` is a template"):
        Settings(naming={"rules": [rule]})
