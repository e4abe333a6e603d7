"""Fill in the outputs that pages show: ``<!-- output: COMMAND -->`` above a ``text`` block; with --check, name those that differ.

The commands of a page run in their order, between its ``console`` blocks that need no service, in an empty folder that contains
``examples``. No command runs below the first block that names a server.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_PART = re.compile(
    r"(?P<needs><!-- needs: [^\n]+ -->\n)?```console\n(?P<console>.+?)^```"
    r"|<!-- output: (?P<command>[^\n]+) -->\n```text\n(?P<output>.*?)^```",
    re.MULTILINE | re.DOTALL,
)

_EXIT_CODE = re.compile(r"#.*exit code (\d+)")
_SERVER = re.compile(r"^\$ .*(rest:|--connect|DATAHUB_GMS_URL)", re.MULTILINE)


def fill(text: str) -> str:
    """Return a page with the outputs of its commands."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "examples").symlink_to(ROOT / "examples")

        def run(command: str, code: int = 0) -> str:
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            environment = {"PATH": path, "HOME": folder, "LANG": "C.UTF-8", "COLUMNS": "120", "TZ": "UTC"}
            done = subprocess.run(
                ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode != code:
                message = f"{command}: exit code {done.returncode}\n{done.stderr}"
                raise SystemExit(message)
            return done.stdout

        def part(found: re.Match[str]) -> str:
            if found["command"]:
                lines = "".join(f"{line.rstrip()}\n" for line in run(found["command"]).splitlines())
                return f"<!-- output: {found['command']} -->\n```text\n{lines}```"
            if not found["needs"] and not _SERVER.search(text, 0, found.end()):
                for line in found["console"].splitlines():
                    code = _EXIT_CODE.search(line)
                    run(line.removeprefix("$ "), int(code[1]) if code else 0)
            return found[0]

        return _PART.sub(part, text)


def main() -> int:
    """Write the pages, or with --check name those that differ (exit code 1)."""
    check = "--check" in sys.argv[1:]
    differ = False
    for page in sorted(ROOT.glob("docs/*.md")):
        text = page.read_text(encoding="utf-8")
        if "<!-- output: " not in text or (filled := fill(text)) == text:
            continue
        differ = True
        print(f"{page.relative_to(ROOT)}: {'has drifted; run python tools/captures.py' if check else 'written'}")
        if not check:
            page.write_text(filled, encoding="utf-8")
    return 1 if check and differ else 0


if __name__ == "__main__":
    sys.exit(main())
