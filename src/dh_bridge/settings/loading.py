"""Settings from their four places, the later ones first: flag, environment, file, default.

* file: ``-c FILE``, else ``DH_BRIDGE_CONFIG``, else ``dh_bridge.yml`` in the working folder when there is one
* environment: ``DH_BRIDGE_<AREA>__<FIELD>`` (``DH_BRIDGE_FILTERS__JOB_NAME__DENY='tmp_*,test_*'``); empty = not set
* flags: a few have names of their own (``--profile``), all can be given as ``--set area.field=value``

Lists are written with commas, or as YAML (``[a, b]``); everything deeper is YAML. The only module of the core's side that
reads the environment.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from pydantic import ValidationError

from dh_bridge.errors import SettingsError
from dh_bridge.settings import Settings
from dh_bridge.settings.document import Document, Steps, dotted
from dh_bridge.settings.fields import annotation_at, area, is_path, masked, takes_list, takes_text, values
from dh_bridge.settings.problems import Given, known_keys, problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

DEFAULT_FILE = Path("dh_bridge.yml")
PREFIX = "DH_BRIDGE_"
CONFIG_VARIABLE = "DH_BRIDGE_CONFIG"
DEFAULT = "default"


class Flag(NamedTuple):
    """A setting given on the command line: its key, its text, and the flag's own name."""

    key: str
    text: str
    name: str


class Loaded(NamedTuple):
    """The settings, the file they came from (if any), and the origin of each value that is no default."""

    settings: Settings
    file: Path | None
    origins: dict[Steps, str]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield ``{"key", "value", "origin"}`` of every setting, secrets masked."""
        for steps, value in values(self.settings):
            key = ".".join(steps)
            yield {"key": key, "value": masked(key, value), "origin": self.origins.get(steps, DEFAULT)}


def load(
    file: Path | str | None = None, *, flags: Sequence[Flag] = (), environ: Mapping[str, str] | None = None
) -> Loaded:
    """Return the settings of all four places; a SettingsError names the first value that cannot be used."""
    loaded, problems = examine(file, flags=flags, environ=environ)
    if loaded is None:
        first, more = problems[0], len(problems) - 1
        if more:
            first = SettingsError(
                first.what, where=first.where, now=f"{first.now}; {more} more: dh-bridge config check"
            )
        raise first
    return loaded


def examine(
    file: Path | str | None = None, *, flags: Sequence[Flag] = (), environ: Mapping[str, str] | None = None
) -> tuple[Loaded | None, list[SettingsError]]:
    """Return the settings, or None and everything that is wrong with them, one error each."""
    environ = os.environ if environ is None else environ
    try:
        path, document = _document(file, environ)
        given: dict[Steps, Given] = {}
        if document is not None:
            given |= _from_file(document, path)
        given |= _from_environment(environ)
        given |= _from_flags(flags)
        tree = _nested(given)
    except SettingsError as error:
        return None, [error]
    try:
        settings = Settings.model_validate(tree)
    except ValidationError as error:
        return None, [problem(dict(one), given) for one in error.errors(include_url=False)]
    folder = settings.mappings
    if folder is not None and not folder.is_dir():
        return None, [
            SettingsError(
                f"`mappings` {folder} is no folder",
                where=given[("mappings",)].origin,
                now="name the folder of your mapping files",
            )
        ]
    return Loaded(settings, path, {steps: one.origin for steps, one in given.items()}), []


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a settings file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "written by `dh-bridge config schema`; a value may also be a text with ${VAR} or ${VAR:-default}",
        **Settings.model_json_schema(by_alias=True),
    }


def _document(file: Path | str | None, environ: Mapping[str, str]) -> tuple[Path | None, Document | None]:
    named = file or environ.get(CONFIG_VARIABLE) or None
    if named is None and not DEFAULT_FILE.is_file():
        return None, None
    path = Path(named or DEFAULT_FILE)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        source = "" if file or named is None else f" (named by {CONFIG_VARIABLE})"
        raise SettingsError(
            f"the settings file cannot be read{source}: {error}", where=str(path), now="name another one with -c"
        ) from error
    return path, Document(text, str(path), environ)


def _from_file(document: Document, path: Path | None) -> dict[Steps, Given]:
    given = {}
    for steps, value in _spread((), document.data):
        line = document.lines.get(steps, 1)
        if is_path(annotation_at(Settings, steps)) and isinstance(value, str) and path is not None:
            value = str(path.parent / value)  # noqa: PLW2901 - a path in a file is relative to that file
        given[steps] = Given(value, f"{path}:{line}", document.lines)
    return given


def _from_environment(environ: Mapping[str, str]) -> dict[Steps, Given]:
    given: dict[Steps, Given] = {}
    for name in sorted(environ):
        if name.startswith(PREFIX) and name != CONFIG_VARIABLE and environ[name]:
            steps = tuple(name.removeprefix(PREFIX).lower().split("__"))
            given |= _parsed(steps, environ[name], f"env {name}")
    return given


def _from_flags(flags: Sequence[Flag]) -> dict[Steps, Given]:
    given: dict[Steps, Given] = {}
    for flag in flags:
        given |= _parsed(tuple(flag.key.split(".")), flag.text, f"flag {flag.name}")
    return given


def _parsed(steps: Steps, text: str, origin: str) -> dict[Steps, Given]:
    """Return the value of one text from the environment or the command line, read as its field wants it."""
    annotation = annotation_at(Settings, steps)
    value: Any = text
    if annotation is None or takes_text(annotation):
        pass
    elif takes_list(annotation) and not text.lstrip().startswith(("[", "-")):
        value = [member.strip() for member in text.split(",") if member.strip()]
    else:
        try:
            value = yaml.safe_load(text)
        except (yaml.YAMLError, RecursionError) as error:
            raise SettingsError(
                f"`{dotted(steps)}` is not YAML", where=origin, now="quote it, or use a file"
            ) from error
    return {path: Given(inner, origin) for path, inner in _spread(steps, value)}


def _spread(steps: Steps, value: Any) -> Iterator[tuple[Steps, Any]]:
    """Yield path and value of each single setting in ``value``; an area that is left empty says nothing."""
    model = Settings if not steps else area(annotation_at(Settings, steps))
    if model is None or not isinstance(value, dict | None):
        yield steps, value
        return
    for key, inner in (value or {}).items():
        yield from _spread((*steps, str(key)), inner)


def _nested(given: Mapping[Steps, Given]) -> dict[Any, Any]:
    tree: dict[Any, Any] = {}
    for steps, one in given.items():
        branch = tree
        for end, step in enumerate(steps[:-1], 1):
            if steps[:end] in given and not isinstance(branch.setdefault(step, {}), dict):
                raise SettingsError(
                    f"`{dotted(steps[:end])}` is an area",
                    where=given[steps[:end]].origin,
                    now=known_keys(area(annotation_at(Settings, steps[:end])), ""),
                )
            branch = branch.setdefault(step, {})
        branch[steps[-1]] = one.value
    return tree
