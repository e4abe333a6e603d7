"""Write ``src/dh_bridge/console/static/vendor/`` from packages of the npm registry.

    python tools/vendor_console.py [--check]

Each package is pinned by version and by the sha512 of its archive. Its licence is copied beside its files. To refresh a library,
change its version, run the tool with ``--integrity`` to see the new hash, and write the hash here. ``--check`` writes nothing and
fails when a file differs from that of the registry. Needs npm; users of dh_bridge need neither npm nor Node.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1] / "src" / "dh_bridge" / "console" / "static" / "vendor"


class Package(NamedTuple):
    """A package: its name and version, the hash of its archive, and file in it -> file in the folder."""

    name: str
    version: str
    integrity: str
    files: dict[str, str]


PACKAGES = (
    Package(
        "@dagrejs/dagre",
        "3.1.3",
        "sha512-X4aUTwOReZvthaZWOVHqlJ52/ZdhZFEM4+Lh/uR4XooUSLE6p71bcy7MPGzYnNUcNh+nj+i/qJQpCMIdQnSmrg==",
        {"package/dist/dagre.esm.js": "dagre.js", "package/LICENSE": "dagre.LICENSE.txt"},
    ),
    Package(
        "uplot",
        "1.6.32",
        "sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
        {
            "package/dist/uPlot.esm.js": "uplot.js",
            "package/dist/uPlot.min.css": "uplot.css",
            "package/LICENSE": "uplot.LICENSE.txt",
        },
    ),
)


def main() -> int:
    """Write or check the folder; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if a file differs")
    parser.add_argument("--integrity", action="store_true", help="print the hashes of the pinned versions")
    arguments = parser.parse_args()
    differing_files = []
    for package in PACKAGES:
        archive = download(package)
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if arguments.integrity:
            print(f"{package.name} {package.version} {integrity}")
            continue
        if integrity != package.integrity:
            sys.exit(f"{package.name} {package.version}: the archive has the hash {integrity}, pinned is another")
        for name, content in read_files(package, archive).items():
            path = FOLDER / name
            if arguments.check:
                differing_files += [name] if not path.is_file() or path.read_bytes() != content else []
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    if differing_files:
        print(f"differ from the registry: {', '.join(differing_files)} (run tools/vendor_console.py)")
    return bool(differing_files)


def download(package: Package) -> Path:
    """Download the archive of a package; return its path."""
    folder = Path(tempfile.mkdtemp(prefix="dh_bridge_vendor_"))
    subprocess.run(
        ["npm", "pack", "--silent", f"{package.name}@{package.version}", "--pack-destination", str(folder)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return next(folder.glob("*.tgz"))


def read_files(package: Package, archive: Path) -> dict[str, bytes]:
    """Return the files of a package by their names in the folder."""
    contents = {}
    with tarfile.open(archive) as tar:
        for member, name in package.files.items():
            file = tar.extractfile(member)
            if file is None:
                sys.exit(f"{package.name} has no file {member}")
            contents[name] = file.read()
    return contents


if __name__ == "__main__":
    sys.exit(main())
