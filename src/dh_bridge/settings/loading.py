"""Settings from four sources, in this order of precedence: flag, environment, file, default.

* file: ``-c FILE``, else ``DH_BRIDGE_CONFIG``, else ``dh_bridge.yml`` in the working folder, if it exists
* environment: ``DH_BRIDGE_<AREA>__<FIELD>`` (``DH_BRIDGE_FILTERS__JOBS='!tmp_*,!test_*'``); empty = not set
* flags: some have their own option (``--datahub-version``), all can be set with ``--set area.field=value``

Lists are written with commas, or as YAML (``[a, b]``); all deeper values are YAML. One area, or one setting, can be read alone
by the same rules, even if other settings are wrong. Of the lower layers, only this module reads the environment.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import yaml
from pydantic import ValidationError

from dh_bridge.errors import SettingsError
from dh_bridge.settings import Settings
from dh_bridge.settings.errors import SettingValue, known_keys_advice, to_settings_error
from dh_bridge.settings.introspection import (
    annotation_at,
    is_path,
    iter_setting_values,
    mask_secrets,
    model_of,
    takes_list,
    takes_text,
)
from dh_bridge.settings.yaml_source import SettingsDocument, Steps, TextLoader, format_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SettingsLike: TypeAlias = "Settings | Mapping[str, Any] | str | os.PathLike[str] | None"
"""The types that Python callers may pass as settings; see :func:`settings_of`."""
DEFAULT_FILE = Path("dh_bridge.yml")
_MISNAMED_FILES = ("dh_bridge.yaml", "dh-bridge.yml", "dh-bridge.yaml")
"""Names of files whose settings would be ignored without a message."""
PREFIX = "DH_BRIDGE_"
CONFIG_VARIABLE = "DH_BRIDGE_CONFIG"
DEFAULT = "default"


class Flag(NamedTuple):
    """A setting given on the command line: its key, its text, and the flag's own name."""

    key: str
    text: str
    name: str


class LoadedSettings(NamedTuple):
    """The settings, the file they came from (if any), and the origin of each value that is no default."""

    settings: Settings
    file: Path | None
    origins: dict[Steps, str]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield ``{"key", "value", "origin"}`` of every setting, secrets masked."""
        for steps, value in iter_setting_values(self.settings):
            key = ".".join(steps)
            yield {"key": key, "value": mask_secrets(key, value), "origin": self.origins.get(steps, DEFAULT)}


class _PartialDocument(SettingsDocument):
    """The part of a settings file for ``only``, an area or a setting, or all of it; the rest only has to be valid YAML."""

    def __init__(self, text: str, location: str, environ: Mapping[str, str], only: Steps) -> None:
        self._only = only
        super().__init__(text, location, environ)

    def _mapping(self, node: yaml.MappingNode, path: Steps) -> dict[str, Any]:
        relevant_items = [
            (key, value) for key, value in node.value if self._is_relevant((*path, str(key.value)), value)
        ]
        return super()._mapping(yaml.MappingNode(node.tag, relevant_items, node.start_mark, node.end_mark), path)

    def _is_relevant(self, path: Steps, value: yaml.Node) -> bool:
        is_ancestor = len(path) < len(self._only)
        return _overlaps(path, self._only) and (isinstance(value, yaml.MappingNode) or not is_ancestor)


def load(
    file: Path | str | None = None,
    *,
    flags: Sequence[Flag] = (),
    environ: Mapping[str, str] | None = None,
    only: str = "",
) -> LoadedSettings:
    """Return the settings of all four sources; a SettingsError names the first value that cannot be used.

    ``only``: the key of an area (``airflow``) or of a setting (``airflow.namespace``) that is read alone. The others have
    their defaults, even if they are set. If the area of the setting is a text instead of a map, the setting is not set.
    """
    loaded, problems = examine(file, flags=flags, environ=environ, only=only)
    if loaded is None:
        error, remaining = problems[0], len(problems) - 1
        if remaining:
            error = SettingsError(
                error.problem,
                location=error.location,
                remedy=f"{error.remedy}; {remaining} more: dh-bridge config check",
            )
        raise error
    return loaded


def settings_of(source: SettingsLike) -> Settings:
    """Return the settings that a Python caller means; a SettingsError names the first value that cannot be used.

    A mapping holds settings by their keys (``{"datahub_version": "1.4", "runs": {"abort": "failure"}}``, also ``"runs.abort"``); a text
    or path is a settings file, read with the environment as the commands read theirs. None: the defaults alone.
    """
    if source is None or isinstance(source, Settings):
        return source or Settings()
    if isinstance(source, (str, os.PathLike)):
        return load(Path(source)).settings
    if not isinstance(source, Mapping):
        raise SettingsError(
            f"{type(source).__name__} holds no settings", location="settings", remedy="give a mapping, or a file"
        )
    setting_values: dict[Steps, SettingValue] = {}
    for key, value in source.items():
        setting_values |= {
            steps: SettingValue(inner, "settings") for steps, inner in _iter_settings(tuple(str(key).split(".")), value)
        }
    settings, problems = _validate(setting_values)
    if settings is None:
        raise problems[0]
    return settings


def examine(
    file: Path | str | None = None,
    *,
    flags: Sequence[Flag] = (),
    environ: Mapping[str, str] | None = None,
    only: str = "",
) -> tuple[LoadedSettings | None, list[SettingsError]]:
    """Return the settings, or None and everything that is wrong with them, one error each; ``only`` as of :func:`load`."""
    environ = os.environ if environ is None else environ
    only_steps: Steps = tuple(only.split(".")) if only else ()
    try:
        overrides = _from_environment(environ, only_steps) | _from_flags(flags, only_steps)
        # If the requested setting has a value of higher precedence, errors of the file do not matter.
        path, document = (None, None) if only_steps in overrides else _read_document(file, environ, only_steps)
        setting_values: dict[Steps, SettingValue] = {}
        if document is not None:
            setting_values |= _from_file(document, path)
        setting_values |= overrides
        setting_values = {
            steps: setting_value
            for steps, setting_value in setting_values.items()
            if steps[: len(only_steps)] == only_steps
        }
    except SettingsError as error:
        return None, [error]
    settings, problems = _validate(setting_values)
    origins = {steps: setting_value.origin for steps, setting_value in setting_values.items()}
    return (LoadedSettings(settings, path, origins) if settings is not None else None), problems


def _validate(setting_values: Mapping[Steps, SettingValue]) -> tuple[Settings | None, list[SettingsError]]:
    try:
        settings = Settings.model_validate(_build_tree(setting_values))
    except SettingsError as error:
        return None, [error]
    except ValidationError as error:
        return None, [to_settings_error(dict(details), setting_values) for details in error.errors(include_url=False)]
    folder = settings.mappings
    if folder is not None and not folder.is_dir():
        location, remedy = setting_values[("mappings",)].origin, "name the folder of your mapping files"
        return None, [SettingsError(f"`mappings` {folder} is not a folder", location=location, remedy=remedy)]
    return settings, []


def flags_of(settings: Any, location: str, *, ledger: Any = None) -> Iterator[Flag]:
    """Yield settings by their keys from the configuration of another program; ``location`` is their location in it.

    ``ledger`` is a separate value for ``ledger.file``. A null sets nothing. Raise a SettingsError if they are not a mapping.
    """
    if not isinstance(settings, dict | None):
        raise SettingsError(
            "`settings` holds no settings", location=location, remedy="e.g. settings: {datahub_version: '1.4'}"
        )
    for key, value in (settings or {}).items():
        if value is not None:
            text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
            yield Flag(str(key), text, f"{location}.settings.{key}")
    if ledger:
        yield Flag("ledger.file", str(ledger), f"{location}.ledger")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a settings file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "written by `dh-bridge config schema`; a value may also be a text with ${VAR} or ${VAR:-default}",
        **Settings.model_json_schema(by_alias=True),
    }


def _overlaps(path: Steps, only_steps: Steps) -> bool:
    """Whether one lies inside of the other."""
    return all(step == only_step for step, only_step in zip(path, only_steps, strict=False))


def _read_document(
    file: Path | str | None, environ: Mapping[str, str], only_steps: Steps
) -> tuple[Path | None, SettingsDocument | None]:
    config_file = file or environ.get(CONFIG_VARIABLE) or None
    if config_file is None and not DEFAULT_FILE.is_file():
        for misnamed_file in filter(os.path.isfile, _MISNAMED_FILES):
            raise SettingsError(
                "is not read by this name",
                location=misnamed_file,
                remedy=f"rename it to {DEFAULT_FILE}, or name it with -c",
            )
        return None, None
    path = Path(config_file or DEFAULT_FILE)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        source = "" if file or config_file is None else f" (named by {CONFIG_VARIABLE})"
        raise SettingsError(
            f"the settings file cannot be read{source}: {error}", location=str(path), remedy="name another one with -c"
        ) from error
    return path, _PartialDocument(text, str(path), environ, only_steps)


def _from_file(document: SettingsDocument, path: Path | None) -> dict[Steps, SettingValue]:
    setting_values = {}
    for steps, value in _iter_settings((), document.data):
        line = document.lines.get(steps, 1)
        if path is not None and is_path(annotation_at(Settings, steps)):
            value = _map_paths(value, lambda text: str(path.parent / text))  # noqa: PLW2901 - relative to the file
        setting_values[steps] = SettingValue(value, f"{path}:{line}", document.lines)
    return setting_values


def _from_environment(environ: Mapping[str, str], only_steps: Steps) -> dict[Steps, SettingValue]:
    setting_values: dict[Steps, SettingValue] = {}
    for name in sorted(environ):
        if name.startswith(PREFIX) and name != CONFIG_VARIABLE and environ[name]:
            steps = tuple(name.removeprefix(PREFIX).lower().split("__"))
            if _overlaps(steps, only_steps):
                setting_values |= _parse_text(steps, environ[name], f"env {name}")
    return setting_values


def _from_flags(flags: Sequence[Flag], only_steps: Steps) -> dict[Steps, SettingValue]:
    setting_values: dict[Steps, SettingValue] = {}
    for flag in flags:
        steps = tuple(flag.key.split("."))
        if _overlaps(steps, only_steps):
            setting_values |= _parse_text(steps, flag.text, f"flag {flag.name}")
    return setting_values


def _parse_text(steps: Steps, text: str, origin: str) -> dict[Steps, SettingValue]:
    """Return the value of one text from the environment or the command line, read as its field wants it."""
    annotation = annotation_at(Settings, steps)
    value: Any = text
    if annotation is None or takes_text(annotation):
        pass
    elif takes_list(annotation) and not text.lstrip().startswith(("[", "-")):
        value = [member.strip() for member in text.split(",") if member.strip()]
    else:
        try:
            value = yaml.load(text, Loader=TextLoader)  # noqa: S506 - a safe loader: text and null
        except (yaml.YAMLError, RecursionError) as error:
            raise SettingsError(
                f"`{format_path(steps)}` is not YAML", location=origin, remedy="quote it, or use a file"
            ) from error
    return {path: SettingValue(inner, origin) for path, inner in _iter_settings(steps, value)}


def _iter_settings(steps: Steps, value: Any) -> Iterator[tuple[Steps, Any]]:
    """Yield path and value of each single setting in ``value``; an empty area has no settings."""
    annotation = annotation_at(Settings, steps)
    if model_of(annotation) is None or not isinstance(value, dict | None):
        yield steps, _map_paths(value, _expand_home) if is_path(annotation) else value
        return
    for key, inner in (value or {}).items():
        yield from _iter_settings((*steps, str(key)), inner)


def _map_paths(value: Any, convert: Callable[[str], str]) -> Any:
    """Return the value of a setting that is a path, or a list of paths, with each path converted."""
    if isinstance(value, list):
        return [_map_paths(member, convert) for member in value]
    return convert(value) if isinstance(value, str) else value


def _expand_home(path: str) -> str:
    """Return a path with ``~`` expanded, as a shell does."""
    return os.path.expanduser(path)  # noqa: PTH111 - Path's method raises an error for an unknown user


def _build_tree(setting_values: Mapping[Steps, SettingValue]) -> dict[Any, Any]:
    tree: dict[Any, Any] = {}
    for steps, setting_value in setting_values.items():
        branch = tree
        for length, step in enumerate(steps[:-1], 1):
            if steps[:length] in setting_values and not isinstance(branch.setdefault(step, {}), dict):
                raise SettingsError(
                    f"`{format_path(steps[:length])}` is an area",
                    location=setting_values[steps[:length]].origin,
                    remedy=known_keys_advice(model_of(annotation_at(Settings, steps[:length])), ""),
                )
            branch = branch.setdefault(step, {})
        branch[steps[-1]] = setting_value.value
    return tree
