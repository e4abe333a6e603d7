"""Settings from their four places, the later ones first: flag, environment, file, default.

* file: ``-c FILE``, else ``DH_BRIDGE_CONFIG``, else ``dh_bridge.yml`` in the working folder when there is one
* environment: ``DH_BRIDGE_<AREA>__<FIELD>`` (``DH_BRIDGE_FILTERS__JOB_NAME__DENY='tmp_*,test_*'``); empty = not set
* flags: a few have names of their own (``--profile``), all can be given as ``--set area.field=value``

Lists are written with commas, or as YAML (``[a, b]``); everything deeper is YAML. One area, or one setting, can be read alone,
by the same rules, whatever is wrong with the others. The only module of the core's side that reads the environment.
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
from dh_bridge.settings.errors import Given, known_keys, problem
from dh_bridge.settings.introspection import annotation_at, area, is_path, masked, takes_list, takes_text, values
from dh_bridge.settings.yaml_source import Document, Steps, TextLoader, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SettingsLike: TypeAlias = "Settings | Mapping[str, Any] | str | os.PathLike[str] | None"
"""What a Python caller may mean by settings; see :func:`settings_of`."""
DEFAULT_FILE = Path("dh_bridge.yml")
_NEARLY = ("dh_bridge.yaml", "dh-bridge.yml", "dh-bridge.yaml")
"""Names of files whose settings would be passed over in silence."""
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


class _Part(Document):
    """What a settings file says of ``only``, an area or a setting, or of all: the rest of it has to be YAML, no more."""

    def __init__(self, text: str, place: str, environ: Mapping[str, str], only: Steps) -> None:
        self._only = only
        super().__init__(text, place, environ)

    def _mapping(self, node: yaml.MappingNode, path: Steps) -> dict[str, Any]:
        kept = [(key, value) for key, value in node.value if self._leads((*path, str(key.value)), value)]
        return super()._mapping(yaml.MappingNode(node.tag, kept, node.start_mark, node.end_mark), path)

    def _leads(self, path: Steps, value: yaml.Node) -> bool:
        on_the_way = len(path) < len(self._only)
        return _concerns(path, self._only) and (isinstance(value, yaml.MappingNode) or not on_the_way)


def load(
    file: Path | str | None = None,
    *,
    flags: Sequence[Flag] = (),
    environ: Mapping[str, str] | None = None,
    only: str = "",
) -> Loaded:
    """Return the settings of all four places; a SettingsError names the first value that cannot be used.

    ``only``: the key of an area (``airflow``) or of a setting (``airflow.namespace``) that is wanted alone. The others then have
    their defaults, whatever is said of them; a text where the area of the setting should be says nothing of the setting.
    """
    loaded, problems = examine(file, flags=flags, environ=environ, only=only)
    if loaded is None:
        first, more = problems[0], len(problems) - 1
        if more:
            first = SettingsError(
                first.what, where=first.where, now=f"{first.now}; {more} more: dh-bridge config check"
            )
        raise first
    return loaded


def settings_of(said: SettingsLike) -> Settings:
    """Return the settings that a Python caller means; a SettingsError names the first value that cannot be used.

    A mapping holds settings by their keys (``{"profile": "1.4", "runs": {"abort": "failure"}}``, also ``"runs.abort"``); a text
    or path is a settings file, read with the environment as the commands read theirs. None: the defaults alone.
    """
    if said is None or isinstance(said, Settings):
        return said or Settings()
    if isinstance(said, (str, os.PathLike)):
        return load(Path(said)).settings
    if not isinstance(said, Mapping):
        raise SettingsError(
            f"{type(said).__name__} holds no settings", where="settings", now="give a mapping, or a file"
        )
    given: dict[Steps, Given] = {}
    for key, value in said.items():
        given |= {steps: Given(inner, "settings") for steps, inner in _spread(tuple(str(key).split(".")), value)}
    settings, problems = _checked(given)
    if settings is None:
        raise problems[0]
    return settings


def examine(
    file: Path | str | None = None,
    *,
    flags: Sequence[Flag] = (),
    environ: Mapping[str, str] | None = None,
    only: str = "",
) -> tuple[Loaded | None, list[SettingsError]]:
    """Return the settings, or None and everything that is wrong with them, one error each; ``only`` as of :func:`load`."""
    environ = os.environ if environ is None else environ
    wanted: Steps = tuple(only.split(".")) if only else ()
    try:
        above = _from_environment(environ, wanted) | _from_flags(flags, wanted)
        # What is wanted alone and given above the file is known, whatever the file is like.
        path, document = (None, None) if wanted in above else _document(file, environ, wanted)
        given: dict[Steps, Given] = {}
        if document is not None:
            given |= _from_file(document, path)
        given |= above
        given = {steps: one for steps, one in given.items() if steps[: len(wanted)] == wanted}
    except SettingsError as error:
        return None, [error]
    settings, problems = _checked(given)
    origins = {steps: one.origin for steps, one in given.items()}
    return (Loaded(settings, path, origins) if settings is not None else None), problems


def _checked(given: Mapping[Steps, Given]) -> tuple[Settings | None, list[SettingsError]]:
    try:
        settings = Settings.model_validate(_nested(given))
    except SettingsError as error:
        return None, [error]
    except ValidationError as error:
        return None, [problem(dict(one), given) for one in error.errors(include_url=False)]
    folder = settings.mappings
    if folder is not None and not folder.is_dir():
        where, now = given[("mappings",)].origin, "name the folder of your mapping files"
        return None, [SettingsError(f"`mappings` {folder} is no folder", where=where, now=now)]
    return settings, []


def flags_of(settings: Any, where: str, *, ledger: Any = None) -> Iterator[Flag]:
    """Yield settings by their keys, as the configuration of another program holds them; ``where`` they stand in it.

    ``ledger`` is what it names beside them, ``ledger.file``. A null sets nothing. A SettingsError when they are no mapping.
    """
    if not isinstance(settings, dict | None):
        raise SettingsError("`settings` holds no settings", where=where, now="e.g. settings: {profile: '1.4'}")
    for key, value in (settings or {}).items():
        if value is not None:
            text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
            yield Flag(str(key), text, f"{where}.settings.{key}")
    if ledger:
        yield Flag("ledger.file", str(ledger), f"{where}.ledger")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a settings file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "written by `dh-bridge config schema`; a value may also be a text with ${VAR} or ${VAR:-default}",
        **Settings.model_json_schema(by_alias=True),
    }


def _concerns(path: Steps, wanted: Steps) -> bool:
    """Whether one lies inside of the other."""
    return all(one == other for one, other in zip(path, wanted, strict=False))


def _document(
    file: Path | str | None, environ: Mapping[str, str], wanted: Steps
) -> tuple[Path | None, Document | None]:
    named = file or environ.get(CONFIG_VARIABLE) or None
    if named is None and not DEFAULT_FILE.is_file():
        for near in filter(os.path.isfile, _NEARLY):
            raise SettingsError(
                "is not read by this name", where=near, now=f"rename it to {DEFAULT_FILE}, or name it with -c"
            )
        return None, None
    path = Path(named or DEFAULT_FILE)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        source = "" if file or named is None else f" (named by {CONFIG_VARIABLE})"
        raise SettingsError(
            f"the settings file cannot be read{source}: {error}", where=str(path), now="name another one with -c"
        ) from error
    return path, _Part(text, str(path), environ, wanted)


def _from_file(document: Document, path: Path | None) -> dict[Steps, Given]:
    given = {}
    for steps, value in _spread((), document.data):
        line = document.lines.get(steps, 1)
        if is_path(annotation_at(Settings, steps)) and isinstance(value, str) and path is not None:
            value = str(path.parent / value)  # noqa: PLW2901 - a path in a file is relative to that file
        given[steps] = Given(value, f"{path}:{line}", document.lines)
    return given


def _from_environment(environ: Mapping[str, str], wanted: Steps) -> dict[Steps, Given]:
    given: dict[Steps, Given] = {}
    for name in sorted(environ):
        if name.startswith(PREFIX) and name != CONFIG_VARIABLE and environ[name]:
            steps = tuple(name.removeprefix(PREFIX).lower().split("__"))
            if _concerns(steps, wanted):
                given |= _parsed(steps, environ[name], f"env {name}")
    return given


def _from_flags(flags: Sequence[Flag], wanted: Steps) -> dict[Steps, Given]:
    given: dict[Steps, Given] = {}
    for flag in flags:
        steps = tuple(flag.key.split("."))
        if _concerns(steps, wanted):
            given |= _parsed(steps, flag.text, f"flag {flag.name}")
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
            value = yaml.load(text, Loader=TextLoader)  # noqa: S506 - a safe loader: text and null
        except (yaml.YAMLError, RecursionError) as error:
            raise SettingsError(
                f"`{dotted(steps)}` is not YAML", where=origin, now="quote it, or use a file"
            ) from error
    return {path: Given(inner, origin) for path, inner in _spread(steps, value)}


def _spread(steps: Steps, value: Any) -> Iterator[tuple[Steps, Any]]:
    """Yield path and value of each single setting in ``value``; an area that is left empty says nothing."""
    said = annotation_at(Settings, steps)
    if area(said) is None or not isinstance(value, dict | None):
        yield steps, _at_home(value) if is_path(said) and isinstance(value, str) else value
        return
    for key, inner in (value or {}).items():
        yield from _spread((*steps, str(key)), inner)


def _at_home(path: str) -> str:
    """Return a path whose ``~`` is written out, as a shell does where it sees one."""
    return os.path.expanduser(path)  # noqa: PTH111 - Path's raises where there is no such user


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
