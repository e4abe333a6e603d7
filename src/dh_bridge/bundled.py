"""The files of the package: ``mappings/``, ``avro_schemas/`` and the example events.

Only this module opens the first two. In a wheel they are inside the package, in a checkout at the top of the repository. If a
wheel is imported as a zip, as by Spark's workers (``--py-files``), the files are read from the zip.
"""

from __future__ import annotations

import zipfile
from difflib import get_close_matches
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar, cast
from zipimport import zipimporter

import msgspec
import yaml

from dh_bridge.errors import MappingError, SettingsError
from dh_bridge.msgspec_threads import prepare_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_T = TypeVar("_T")


class ZipPath(zipfile.Path):
    """A path in a zip, with what Python 3.10 lacks of :class:`pathlib.Path`."""

    @property
    def stem(self) -> str:
        """The name without its ending."""
        return PurePosixPath(self.name).stem

    @property
    def parents(self) -> tuple[Path, ...]:
        """No folder of the user's is above."""
        return ()

    def rglob(self, pattern: str) -> Iterator[ZipPath]:
        """Yield the files below whose names match."""
        names = (name for name in self.root.namelist() if name.startswith(self.at))
        return (ZipPath(self.root, name) for name in names if PurePosixPath(name).match(pattern))


def find_root(package: Path, loader: object) -> Path:
    """Return where the folders lie: in the package, in the zip that it is imported from, or at the top of the checkout."""
    if isinstance(loader, zipimporter):
        return cast("Path", ZipPath(loader.archive, f"{package.name}/_bundled/"))
    wheel = package / "_bundled"
    return wheel if wheel.is_dir() else package.parent.parent


_ROOT = find_root(Path(__file__).parent, __spec__.loader)

MAPPINGS = _ROOT / "mappings"
AVRO_SCHEMAS = _ROOT / "avro_schemas"
EXAMPLES = _ROOT / "examples" / "events"
"""What ``dh-bridge demo`` translates: events that real producers sent."""

FOLDERS = ("naming", "producers", "tables")
"""The folders of mapping files: the bundled one and the user's."""
_YAML_SUFFIXES = (".yaml", ".yml")
_YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_text(path: Path) -> str:
    """Return the text of a mapping file; raise a MappingError if a user's file cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MappingError(
            f"cannot read the file: {error}", location=str(path), remedy="check its permissions, and that it is UTF-8"
        ) from error


def load_yaml(text: str, location: str) -> Any:
    """Return the YAML document in ``text``; a MappingError names ``location`` when it does not parse."""
    try:
        return yaml.load(text, Loader=_YAML_LOADER)  # noqa: S506 - the loader is a safe one
    except yaml.YAMLError as error:
        raise MappingError(str(error).replace("\n", " "), location=location, remedy="fix the YAML") from error


def profile_names() -> list[str]:
    """Return the names of the folders of ``avro_schemas/`` that are version profiles."""
    return [path.name for path in AVRO_SCHEMAS.iterdir() if (path / "index.json").is_file()]


def schema_bytes(file: str) -> bytes:
    """Return a file of ``avro_schemas/``, for example ``0.15.0/Status.avsc``."""
    return (AVRO_SCHEMAS / file).read_bytes()


def mapping_files(folder: str, overlay: Path | None = None) -> Iterator[Path]:
    """Yield the YAML files of ``mappings/<folder>``, by stem; a file of the user's ``overlay`` replaces the bundled file of its name.

    Raise a SettingsError if ``overlay`` is not a readable folder, and a MappingError for files in it that would be ignored. The
    folder ``folder`` may be absent in it.
    """
    files = _yaml_files(MAPPINGS / folder) | _user_files(folder, overlay)
    return iter(files[stem] for stem in sorted(files))


def _user_files(folder: str, overlay: Path | None) -> dict[str, Path]:
    """Return the files of the user's by stem; see :func:`mapping_files`."""
    if overlay is None:
        return {}
    remedy = "set it to the folder of your mapping files"
    try:
        if not overlay.is_dir():
            raise SettingsError(f"{overlay} is not a folder", location="mappings", remedy=remedy)
        _check_overlay(overlay)
        return _yaml_files(overlay / folder)
    except OSError as error:
        raise SettingsError(
            f"cannot read {error.filename}: {error.strerror}", location="mappings", remedy=remedy
        ) from error


def _yaml_files(folder: Path) -> dict[str, Path]:
    paths = (path for path in folder.iterdir() if path.name.endswith(".yaml")) if folder.is_dir() else ()
    return {path.stem: path for path in paths}


def _check_overlay(overlay: Path) -> None:
    """Raise a MappingError for a user's file in a folder, or with a name, that is never read."""
    folders = [overlay / name for name in FOLDERS if (overlay / name).is_dir()]
    if not folders and any(path.suffix in _YAML_SUFFIXES for path in overlay.iterdir()):
        raise MappingError(
            "contains no folder of mapping files",
            location=str(overlay),
            remedy=f"move the files into one of {', '.join(FOLDERS)}",
        )
    for folder in sorted(overlay.iterdir()):
        suggestions = get_close_matches(folder.name.lower(), FOLDERS, 1, 0.7) if folder.name not in FOLDERS else []
        if suggestions and folder.is_dir() and any(path.suffix in _YAML_SUFFIXES for path in folder.iterdir()):
            raise MappingError(
                "unknown folder of mapping files", location=str(folder), remedy=f"rename it to {suggestions[0]}"
            )
    for path in (path for folder in folders for path in sorted(folder.iterdir()) if path.suffix in _YAML_SUFFIXES):
        if path.suffix != ".yaml":
            raise MappingError(
                "mapping files end in .yaml", location=str(path), remedy=f"rename it to {path.stem}.yaml"
            )
        if path.parent.name == "tables" and path.stem not in (tables := _yaml_files(MAPPINGS / "tables")):
            raise MappingError("unknown table", location=str(path), remedy=f"use one of {', '.join(sorted(tables))}")


def user_tables(overlay: Path | None) -> dict[str, Path]:
    """Return the tables that the user's folder shadows, by name; errors as of :func:`mapping_files`."""
    return _user_files("tables", overlay)


def load_table(name: str, build: Callable[[Any, str], _T], overlay: Path | None = None) -> _T:
    """Build a table from ``mappings/tables/<name>.yaml``, or from the user's file with that name.

    ``build`` gets the document and its path. The result for a bundled file is cached.
    """
    user_file = user_tables(overlay).get(name)
    return cast("_T", _load_bundled_table(name, build)) if user_file is None else _build_table(user_file, build)


@cache
def _load_bundled_table(name: str, build: Callable[[Any, str], Any]) -> Any:
    return _build_table(MAPPINGS / "tables" / f"{name}.yaml", build)


def _build_table(path: Path, build: Callable[[Any, str], _T]) -> _T:
    return build(load_yaml(read_text(path), str(path)), str(path))


def load_mapping(path: Path, build: Callable[[str, Path], _T]) -> _T:
    """Build a mapping from the text of a file of :func:`mapping_files`; ``build`` also gets its path.

    The result for a bundled file is cached.
    """
    return cast("_T", _load_bundled(path, build)) if MAPPINGS in path.parents else build(read_text(path), path)


@cache
def _load_bundled(path: Path, build: Callable[[str, Path], Any]) -> Any:
    return build(read_text(path), path)


def convert_document(document: Any, kind: type[_T], schema: str, location: str) -> _T:
    """Return a document of ``mappings/`` as ``kind``; a MappingError names ``location`` and the schema."""
    try:
        return msgspec.convert(document, prepare_type(kind))
    except msgspec.ValidationError as error:
        raise MappingError(str(error), location=location, remedy=f"see mappings/schema/{schema}.schema.json") from error
