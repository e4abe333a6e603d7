"""Write ``avro_schemas/`` from the published acryl-datahub wheels.

    python tools/bundle_schemas.py [--wheels FOLDER] [--check]

Each profile is the last wheel of its minor line, pinned by version and sha256. Kept are the aspects that the
bridge writes, the keys of their entities (with ``entityAspects``) and the envelope (MetadataChangeProposal). Doc texts are
stripped, and all of the annotations about search but the type of a search field. ``<profile>/index.json`` names the file of each aspect: a schema that equals that of
the profile before stays in the folder where it first appeared. ``--wheels`` takes wheels that are already downloaded;
``--check`` writes nothing and fails when the folder differs from what would be written.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "avro_schemas"

PINNED = {
    "0.15.0": ("0.15.0", "c6df88b389e50e44d356230f133d4778ef41c46c73f76ab18c2c98aa76aac132"),
    "0.15.0.5": ("0.15.0.5", "cfafd6535f73ef6e2c6c3c79e076f52ae3fa108f52c4563f276d8a49b8f72fdd"),
    "1.0": ("1.0.0.3", "3c13dab0e2efa45ab049c05b1f9cbfa2117c42cc402aa1b3faa5ca18bd60238d"),
    "1.1": ("1.1.0.5", "97bbda072809365ab84b69602150af03cedb95d20e56b73381690648cc1c6fb5"),
    "1.2": ("1.2.0.10", "2bdb111a6ebd428452a33b2d19d879114ebe637b8d9f0e00ab44e0f80d293eb7"),
    "1.3": ("1.3.1.10", "af3037d4e493b461e02085f01b10cab554839b0b62b84298d38a7fd0474fb452"),
    "1.4": ("1.4.0.9", "864e08c268cdb8af0ebeab3c64d6f78585043a7c35f381fb1aa981b6442b4226"),
    "1.5": ("1.5.0.19", "6e0600e853ffbad344c0402a6ffa8fc73fe73a4726f7d1d8e9b0a1d208ade02c"),
    "1.6": ("1.6.0.17", "ce40e9ef523df9b2ef98605d2dbd1aab82957a67938da7b29f9a7c2e8f55bc96"),
    "1.7": ("1.7.0.17", "b59787604fd6a68493a7976d60f86247ae798f62da2987a4b40e82d70b56b797"),
}

ENTITIES = (
    "assertion",
    "container",
    "corpuser",
    "dataFlow",
    "dataJob",
    "dataPlatform",
    "dataPlatformInstance",
    "dataProcessInstance",
    "dataset",
    "query",
    "schemaField",
    "tag",
)

ASPECTS = (
    "assertionInfo",
    "assertionRunEvent",
    "browsePathsV2",
    "container",
    "containerProperties",
    "dataFlowInfo",
    "dataJobInfo",
    "dataJobInputOutput",
    "dataPlatformInfo",
    "dataPlatformInstance",
    "dataPlatformInstanceProperties",
    "dataProcessInstanceInput",
    "dataProcessInstanceOutput",
    "dataProcessInstanceProperties",
    "dataProcessInstanceRelationships",
    "dataProcessInstanceRunEvent",
    "dataTransformLogic",
    "datasetProfile",
    "datasetProperties",
    "domains",
    "editableSchemaMetadata",
    "globalTags",
    "glossaryTerms",
    "institutionalMemory",
    "operation",
    "ownership",
    "queryProperties",
    "querySubjects",
    "schemaMetadata",
    "siblings",
    "status",
    "structuredProperties",
    "subTypes",
    "tagProperties",
    "upstreamLineage",
    "versionInfo",
)

ENVELOPE = "MetadataChangeProposal.avsc"

KEPT = {
    "record": ("type", "Aspect", "name", "namespace", "fields"),
    "field": (
        "name",
        "type",
        "default",
        "Relationship",
        "Searchable",
        "Urn",
        "urn_is_array",
        "entityTypes",
        "UrnValidation",
    ),
    "enum": ("type", "name", "namespace", "symbols"),
    "fixed": ("type", "name", "namespace", "size"),
    "array": ("type", "items"),
    "map": ("type", "values"),
    "aspect": ("name", "type", "keyForEntity", "entityAspects"),
    "relationship": ("name", "entityTypes", "isLineage"),
    "searchable": ("fieldType",),
}

TEXT_TYPES = ("KEYWORD", "TEXT", "TEXT_PARTIAL", "WORD_GRAM")
"""Types of search fields that hold a whole text as one term."""

SOURCE = """\
# Where these schemas come from

Written by `tools/bundle_schemas.py`; do not edit. Each folder is one profile (a DataHub server line); `index.json` names the
file of each aspect, which lies in the folder of the first profile that had it in this form. Doc texts, all of the search
annotations except the type of a search field, and everything else that the validators do not read were removed; nothing was
added.

| profile | wheel on PyPI | sha256 |
|---|---|---|
{rows}

The schemas are generated from the metadata models of DataHub (https://github.com/datahub-project/datahub).
The wheels carry this notice: "Copyright 2015 LinkedIn Corp. All rights reserved. Licensed under the Apache License, Version 2.0
(the "License"); you may not use this file except in compliance with the License. You may obtain a copy of the License at
http://www.apache.org/licenses/LICENSE-2.0. Unless required by applicable law or agreed to in writing, software distributed
under the License is distributed on an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and limitations under the License." The same license is the
file `LICENSE` of this repository. Changes made to the files: the removals named above.
"""


def wheel(version: str, sha256: str, folder: Path) -> Path:
    """Return the wheel of ``version`` in ``folder``, downloaded when it is not there; exits when its sha256 is another."""
    path = folder / f"acryl_datahub-{version}-py3-none-any.whl"
    if not path.exists():
        wanted = ["--no-deps", "--only-binary=:all:", "--dest", str(folder), f"acryl-datahub=={version}"]
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *wanted], check=True)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        sys.exit(f"{path.name}: sha256 is {found}, pinned is {sha256}")
    return path


def kept(node: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the properties of ``node`` that a validator reads."""
    return {name: node[name] for name in KEPT[kind] if name in node}


def relationship(annotation: dict[str, Any]) -> dict[str, Any]:
    """Return a ``@Relationship`` annotation with name, entity types and lineage only, direct or by path."""
    if "name" in annotation:
        return kept(annotation, "relationship")
    return {path: kept(annotation[path], "relationship") for path in sorted(annotation)}


def searchable(node: dict[str, Any]) -> dict[str, Any]:
    """Return the ``@Searchable`` annotation of a text, or of a list of texts, with the type of the search field only.

    Empty for URNs, maps and all else that is no text. DataHub takes TEXT where a string has no type.
    """
    kinds = [kind for kind in node["type"] if kind != "null"] if isinstance(node["type"], list) else [node["type"]]
    found = dict(node["Searchable"])
    if kinds == ["string"]:
        found = {"fieldType": found.get("fieldType", "TEXT")}
    elif isinstance(kinds[0], dict) and kinds[0].get("items") == "string":
        found = kept(found.get("/*", {}), "searchable")
    elif any(one.get("fieldType") in TEXT_TYPES for path, one in found.items() if path.count("/") > 1):
        sys.exit(f"{node['name']}: an annotation of a text by its path, which `search_texts.py` does not read: {found}")
    else:
        found = {}
    return found if found.get("fieldType") in TEXT_TYPES and "Urn" not in node else {}


def field(node: dict[str, Any]) -> dict[str, Any]:
    """Return a stripped record field."""
    slim = kept(node, "field") | {"type": stripped(node["type"])}
    if "Relationship" in slim:
        slim["Relationship"] = relationship(slim["Relationship"])
    if "Searchable" in slim:
        slim["Searchable"] = searchable(slim)
        if not slim["Searchable"]:
            del slim["Searchable"]
    if "UrnValidation" in slim:
        slim["UrnValidation"] = {"entityTypes": slim["UrnValidation"]["entityTypes"]}
    return slim


def stripped(node: Any) -> Any:
    """Return an Avro schema without doc texts and annotations that the validators do not read."""
    if isinstance(node, str):
        return node
    if isinstance(node, list):
        return [stripped(branch) for branch in node]
    kind = node["type"]
    if kind not in KEPT:
        return stripped(kind)
    slim = kept(node, kind)
    if kind == "record":
        slim["fields"] = [field(one) for one in node["fields"]]
        if "Aspect" in slim:
            slim["Aspect"] = kept(slim["Aspect"], "aspect")
    elif kind in ("array", "map"):
        inner = KEPT[kind][1]
        slim[inner] = stripped(node[inner])
    return slim


def schemas(path: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return aspect name -> (file name, stripped schema) of what is in scope of a wheel; the envelope has the name ``""``."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            folder, _, name = member.rpartition("/")
            if folder != "datahub/metadata/schemas" or not name.endswith(".avsc"):
                continue
            schema = json.loads(archive.read(member))
            aspect = schema.get("Aspect", {}) if isinstance(schema, dict) else {}
            if aspect.get("keyForEntity") in ENTITIES or aspect.get("name") in ASPECTS:
                found[aspect["name"]] = (name, stripped(schema))
            elif name == ENVELOPE:
                found[""] = (name, stripped(schema))
    return found


def rendered(value: Any) -> str:
    """Return the text of a file of ``avro_schemas/``."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def bundle(wheels: Path) -> dict[str, str]:
    """Return relative path -> text of every file of ``avro_schemas/``."""
    files: dict[str, str] = {}
    latest: dict[str, str] = {}
    for profile, (version, sha256) in PINNED.items():
        aspects = {}
        for aspect, (name, schema) in sorted(schemas(wheel(version, sha256, wheels)).items()):
            text = rendered(schema)
            if files.get(latest.get(aspect, "")) != text:
                latest[aspect] = f"{profile}/{name}"
                files[latest[aspect]] = text
            aspects[aspect] = latest[aspect]
        envelope = aspects.pop("")
        index = {"wheel": f"acryl-datahub {version}", "envelope": envelope, "aspects": aspects}
        files[f"{profile}/index.json"] = rendered(index)
    rows = "\n".join(f"| {name} | acryl-datahub {version} | `{sha}` |" for name, (version, sha) in PINNED.items())
    files["SOURCE.md"] = SOURCE.format(rows=rows)
    return files


def main() -> None:
    """Write or check the folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--wheels", type=Path, help="folder of downloaded wheels (default: download to a temporary one)"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the folder differs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        files = bundle(options.wheels or Path(temporary))
    present = {str(path.relative_to(FOLDER)): path for path in sorted(FOLDER.rglob("*")) if path.is_file()}
    stale = [name for name, text in files.items() if name not in present or present[name].read_text("utf-8") != text]
    extra = [name for name in present if name not in files]
    if options.check:
        sys.exit("\n".join(["avro_schemas/ differs from the wheels:", *stale, *extra]) if stale or extra else 0)
    for name in stale:
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[name], encoding="utf-8")
    for name in extra:
        present[name].unlink()
    size = sum(len(text.encode()) for text in files.values())
    print(f"{len(files)} files, {size / 1024:.0f} KiB; {len(stale)} written, {len(extra)} removed")


if __name__ == "__main__":
    main()
