"""The files that travel with the package: ``mappings/`` and ``avro_schemas/``.

The only module that opens them. In a wheel they lie inside the package, in a checkout at the top of the repository.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from dh_bridge.errors import MappingError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGE = Path(__file__).parent
_WHEEL = _PACKAGE / "_bundled"
_ROOT = _WHEEL if _WHEEL.is_dir() else _PACKAGE.parent.parent

MAPPINGS = _ROOT / "mappings"
AVRO_SCHEMAS = _ROOT / "avro_schemas"

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str, place: str) -> Any:
    """Return the YAML document in ``text``; a MappingError names ``place`` when it does not parse."""
    try:
        return yaml.load(text, Loader=_LOADER)  # noqa: S506 - the loader is a safe one
    except yaml.YAMLError as error:
        raise MappingError(str(error).replace("\n", " "), where=place, now="mend the YAML") from error


def profile_names() -> list[str]:
    """Return the names of the folders of ``avro_schemas/`` that are version profiles."""
    return [path.parent.name for path in AVRO_SCHEMAS.glob("*/index.json")]


def schema_bytes(file: str) -> bytes:
    """Return a file of ``avro_schemas/``, for example ``0.15.0/Status.avsc``."""
    return (AVRO_SCHEMAS / file).read_bytes()


def mapping_files(folder: str, overlay: Path | None = None) -> Iterator[Path]:
    """Yield the YAML files of ``mappings/<folder>``, by stem; a file of the user's ``overlay`` shadows ours of that name."""
    files = {path.stem: path for path in (MAPPINGS / folder).glob("*.yaml")}
    if overlay is not None:
        files |= {path.stem: path for path in (overlay / folder).glob("*.yaml")}
    return iter(files[stem] for stem in sorted(files))


def table(name: str, overlay: Path | None = None) -> Any:
    """Return ``mappings/tables/<name>.yaml``, or the user's file of that name."""
    path = MAPPINGS / "tables" / f"{name}.yaml"
    if overlay is not None and (mine := overlay / "tables" / f"{name}.yaml").exists():
        path = mine
    return load_yaml(path.read_text(encoding="utf-8"), str(path))
