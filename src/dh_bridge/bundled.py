"""The files that travel with the package: ``mappings/``, ``avro_schemas/`` and the example events.

The only module that opens the first two. In a wheel they lie inside the package, in a checkout at the top of the repository. A wheel may
stay a zip, as Spark's workers import it (``--py-files``): then they are read from there.
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
from dh_bridge.msgspec_threads import prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_T = TypeVar("_T")


class Zipped(zipfile.Path):
    """A path in a zip, with what Python 3.10 lacks of :class:`pathlib.Path`."""

    @property
    def stem(self) -> str:
        """The name without its ending."""
        return PurePosixPath(self.name).stem

    @property
    def parents(self) -> tuple[Path, ...]:
        """No folder of the user's is above."""
        return ()

    def rglob(self, pattern: str) -> Iterator[Zipped]:
        """Yield the files below whose names match."""
        names = (name for name in self.root.namelist() if name.startswith(self.at))
        return (Zipped(self.root, name) for name in names if PurePosixPath(name).match(pattern))


def root(package: Path, loader: object) -> Path:
    """Return where the folders lie: in the package, in the zip that it is imported from, or at the top of the checkout."""
    if isinstance(loader, zipimporter):
        return cast("Path", Zipped(loader.archive, f"{package.name}/_bundled/"))
    wheel = package / "_bundled"
    return wheel if wheel.is_dir() else package.parent.parent


_ROOT = root(Path(__file__).parent, __spec__.loader)

MAPPINGS = _ROOT / "mappings"
AVRO_SCHEMAS = _ROOT / "avro_schemas"
EXAMPLES = _ROOT / "examples" / "events"
"""What ``dh-bridge demo`` translates: events that real producers sent."""

FOLDERS = ("naming", "producers", "tables")
"""The folders of mapping files, ours and a user's."""
_YAML = (".yaml", ".yml")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def text_of(path: Path) -> str:
    """Return the text of a mapping file; a MappingError says why a user's cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MappingError(f"cannot be read: {error}", where=str(path), now="write a file in UTF-8") from error


def load_yaml(text: str, place: str) -> Any:
    """Return the YAML document in ``text``; a MappingError names ``place`` when it does not parse."""
    try:
        return yaml.load(text, Loader=_LOADER)  # noqa: S506 - the loader is a safe one
    except yaml.YAMLError as error:
        raise MappingError(str(error).replace("\n", " "), where=place, now="mend the YAML") from error


def profile_names() -> list[str]:
    """Return the names of the folders of ``avro_schemas/`` that are version profiles."""
    return [path.name for path in AVRO_SCHEMAS.iterdir() if (path / "index.json").is_file()]


def schema_bytes(file: str) -> bytes:
    """Return a file of ``avro_schemas/``, for example ``0.15.0/Status.avsc``."""
    return (AVRO_SCHEMAS / file).read_bytes()


def mapping_files(folder: str, overlay: Path | None = None) -> Iterator[Path]:
    """Yield the YAML files of ``mappings/<folder>``, by stem; a file of the user's ``overlay`` shadows ours of that name.

    A SettingsError when ``overlay`` is no folder that can be read, a MappingError for what would be passed over in it; it need not
    have one of the name ``folder``.
    """
    files = _yaml_files(MAPPINGS / folder) | _own_files(folder, overlay)
    return iter(files[stem] for stem in sorted(files))


def _own_files(folder: str, overlay: Path | None) -> dict[str, Path]:
    """Return the files of the user's by stem; see :func:`mapping_files`."""
    if overlay is None:
        return {}
    now = "name the folder of your mapping files"
    try:
        if not overlay.is_dir():
            raise SettingsError(f"{overlay} is no folder", where="mappings", now=now)
        _look_at(overlay)
        return _yaml_files(overlay / folder)
    except OSError as error:
        raise SettingsError(f"{error.filename} cannot be read: {error.strerror}", where="mappings", now=now) from error


def _yaml_files(folder: Path) -> dict[str, Path]:
    found = (path for path in folder.iterdir() if path.name.endswith(".yaml")) if folder.is_dir() else ()
    return {path.stem: path for path in found}


def _look_at(overlay: Path) -> None:
    """Raise a MappingError for a file of the user's that stands where nobody looks, or under a name that nobody reads."""
    folders = [overlay / name for name in FOLDERS if (overlay / name).is_dir()]
    if not folders and any(path.suffix in _YAML for path in overlay.iterdir()):
        raise MappingError("has no folder of mapping files", where=str(overlay), now=f"one of {', '.join(FOLDERS)}")
    for folder in sorted(overlay.iterdir()):
        near = get_close_matches(folder.name.lower(), FOLDERS, 1, 0.7) if folder.name not in FOLDERS else []
        if near and folder.is_dir() and any(path.suffix in _YAML for path in folder.iterdir()):
            raise MappingError("is not read by this name", where=str(folder), now=f"rename it to {near[0]}")
    for path in (path for folder in folders for path in sorted(folder.iterdir()) if path.suffix in _YAML):
        if path.suffix != ".yaml":
            raise MappingError("is not read by this name", where=str(path), now=f"rename it to {path.stem}.yaml")
        if path.parent.name == "tables" and path.stem not in (tables := _yaml_files(MAPPINGS / "tables")):
            raise MappingError("is no table of ours", where=str(path), now=f"one of {', '.join(sorted(tables))}")


def own_tables(overlay: Path | None) -> dict[str, Path]:
    """Return the tables that the user's folder shadows, by name; errors as of :func:`mapping_files`."""
    return _own_files("tables", overlay)


def table(name: str, build: Callable[[Any, str], _T], overlay: Path | None = None) -> _T:
    """Return what ``build`` makes of the document and the path of ``mappings/tables/<name>.yaml``, or of the user's file of that name.

    Of ours it is made once.
    """
    mine = own_tables(overlay).get(name)
    return cast("_T", _ours(name, build)) if mine is None else _built(mine, build)


@cache
def _ours(name: str, build: Callable[[Any, str], Any]) -> Any:
    return _built(MAPPINGS / "tables" / f"{name}.yaml", build)


def _built(path: Path, build: Callable[[Any, str], _T]) -> _T:
    return build(load_yaml(text_of(path), str(path)), str(path))


def typed(document: Any, kind: type[_T], schema: str, where: str) -> _T:
    """Return a document of ``mappings/`` as ``kind``; a MappingError names ``where`` and the schema that tells what may stand there."""
    try:
        return msgspec.convert(document, prepared(kind))
    except msgspec.ValidationError as error:
        raise MappingError(str(error), where=where, now=f"see mappings/schema/{schema}.schema.json") from error
