"""Write the pages that are made of code and data; with --check, name those that have drifted.

Pages: docs/cli.md (every help text), docs/settings.md (every setting), docs/dh_bridge.schema.json (for editors),
docs/mapping.json (for OpenLineage's compatibility tests), docs/coverage.md (from docs/coverage/*.yaml), docs/systems.md,
docs/reasons.md, docs/facets.md.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson
from coverage_page import coverage_page
from mapping_json import mapping_page
from tables import facets_page, systems_page

from dh_bridge.cli import MENU, commands
from dh_bridge.report.reasons import REASONS
from dh_bridge.settings import Settings
from dh_bridge.settings.introspection import REQUIRED, SettingField, field_annotations, iter_setting_fields, model_of
from dh_bridge.settings.loading import json_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 100
NOTE = "<!-- written by tools/generate_docs.py from the code; do not edit -->"


def table(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a Markdown table."""
    head = list(columns)
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(_cell(cell) for cell in line) + " |\n" for line in lines)


def helps(group: click.Group, parent: click.Context) -> Iterator[tuple[str, str]]:
    """Yield the path and help text of every command below ``group``."""
    for name in group.list_commands(parent):
        command = group.get_command(parent, name)
        assert command is not None, name  # noqa: S101 - the menu names it
        context = click.Context(command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH)
        yield context.command_path, command.get_help(context)
        if isinstance(command, click.Group):
            yield from helps(command, context)


def cli_page() -> str:
    """Return docs/cli.md: a table of the commands, exit codes, and the text of each ``--help``."""
    sizes = {"terminal_width": WIDTH, "max_content_width": WIDTH}
    root = click.Context(commands, info_name="dh-bridge", **commands.context_settings | sizes)
    texts = [("dh-bridge", commands.get_help(root)), *helps(commands, root)]
    pages = [f"## {path}\n\n```text\n{text}\n```\n" for path, text in texts]
    return f"# The command line\n\n{NOTE}\n\n{commands_table()}\n{_CLI_HEAD}" + "\n".join(pages)


def settings_page() -> str:
    """Return docs/settings.md: one table per area."""
    parts = [f"# Settings\n\n{NOTE}\n\n{_SETTINGS_HEAD}"]
    for title, group in groupby(sorted(iter_setting_fields(Settings), key=_area), key=_area):
        model = model_of(field_annotations(Settings)[title]) if title else None
        parts.append(f"## {title or 'General'}\n\n" + (f"{_sentence(model)}\n\n" if model is not None else ""))
        rows = [(f"`{leaf.key}`", leaf.kind, _default(leaf.default), leaf.description) for leaf in group]
        parts.append(table(("setting", "value", "default", "what it does"), rows) + "\n")
    return "".join(parts).rstrip() + "\n"


def schema_page() -> str:
    """Return docs/dh_bridge.schema.json."""
    return orjson.dumps(json_schema(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def commands_table() -> str:
    """Return the table of commands, by the sections of the help."""
    root = click.Context(commands, info_name="dh-bridge")
    rows = []
    for section, names_of in MENU.items():
        for name in names_of:
            command = commands.get_command(root, name)
            assert command is not None, name  # noqa: S101 - the menu names it
            rows.append((section, f"`{name}`", command.get_short_help_str(limit=200)))
            section = ""  # noqa: PLW2901 - the section is named once
    return table(("", "command", "what it does"), rows)


def reasons_page() -> str:
    """Return docs/reasons.md: why fields of events are dropped."""
    parts = [f"# Why fields are dropped\n\n{NOTE}\n\n{_REASONS_HEAD}"]
    for title, is_loss in (("Losses", True), ("No losses", False)):
        rows = [(f"`{reason.name}`", reason.meaning) for reason in REASONS if reason.is_loss is is_loss]
        parts.append(f"## {title}\n\n" + table(("reason", "meaning"), rows))
    return "\n".join(parts)


PAGES: dict[Path, Callable[[], str]] = {
    ROOT / "docs" / "cli.md": cli_page,
    ROOT / "docs" / "settings.md": settings_page,
    ROOT / "docs" / "dh_bridge.schema.json": schema_page,
    ROOT / "docs" / "mapping.json": mapping_page,
    ROOT / "docs" / "coverage.md": lambda: coverage_page(table, NOTE),
    ROOT / "docs" / "systems.md": lambda: systems_page(table, NOTE),
    ROOT / "docs" / "reasons.md": reasons_page,
    ROOT / "docs" / "facets.md": lambda: facets_page(table, NOTE),
}

_REASONS_HEAD = """The report (`dh-bridge explain`, `emit --report FILE`) gives a reason for each field that is dropped.
`dh-bridge explain EVENTS --loss` counts the losses by facet and reason. `dh-bridge explain --reasons` shows this list.
A detail may follow a reason, after a colon.
"""

_CLI_HEAD = """Each command writes data to stdout, and messages and progress to stderr. Each help text has an example on the events
of `examples/events`.

| exit code | meaning |
| --- | --- |
| 0 | success |
| 1 | some events failed, or an entity was not found |
| 2 | wrong usage or settings |
| 3 | translated but not delivered; or a server, catalogue or ledger cannot be read |
| 130 | interrupted by Ctrl-C. The output so far stays; run the same command again to finish |
| 141 | the reader of stdout stopped early, as `head` does |

For `translate` and `emit`, `--fail-on never|events|delivery` selects which of the exit codes 1 and 3 they return.

Events are files (JSON, NDJSON, also packed with gzip or Zstandard), folders, or `-` for stdin. A folder is searched for files that
end in `.json`, `.ndjson`, `.jsonl`, `.log`, `.txt`, `.gz` or `.zst`. Dead letters and answers of Marquez' API are read, too:
`curl http://marquez:5000/api/v1/events/lineage | dh-bridge emit - --to …`.

"""
_SETTINGS_HEAD = """No setting is required. If a setting is given more than once, the first of these counts:

1. a flag: `--datahub-version`, or `--set AREA.FIELD=VALUE`
2. a variable: `DH_BRIDGE_AREA__FIELD`, for example `DH_BRIDGE_SCHEMA__WRITE=never`. An empty variable is ignored
3. the file: `-c FILE`, else `DH_BRIDGE_CONFIG`, else `dh_bridge.yml` in the working folder
4. the default

```yaml
# yaml-language-server: $schema=docs/dh_bridge.schema.json
datahub_version: ${DATAHUB_VERSION:-1.4}    # ${NAME} must be set, ${NAME:-default} need not, $${ is the text ${
filters:
  datasets: ["!tmp_*", "!*.staging.*"]
```

- An unknown key is an error, which names the most similar key. A file `dh_bridge.yaml` that nothing refers to is an error, too.
- `dh-bridge config check` lists the errors. `dh-bridge config show --origin` shows where each value comes from.
- Paths in a file are relative to this file. `~` is the home folder.

"""


def _area(leaf: SettingField) -> str:
    """Return the area of a setting; those of none come first."""
    return leaf.key.partition(".")[0] if "." in leaf.key else ""


def _sentence(model: Any) -> str:
    return " ".join((model.__doc__ or "").split())


def _default(value: Any) -> str:
    if value == REQUIRED:
        return REQUIRED
    if value is None or value in ((), {}, frozenset()):
        return "none"
    return _code(value if isinstance(value, str) else orjson.dumps(value, default=str).decode())


def _code(text: Any) -> str:
    return f"`{text}`" if text else ""


def _cell(cell: Any) -> str:
    return str(cell).replace("|", "\\|").replace("\n", " ")


def main() -> int:
    """Write the pages, or with --check name those that differ (exit code 1)."""
    check = "--check" in sys.argv[1:]
    drifted = []
    for path, page in PAGES.items():
        text = page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            drifted.append(path.relative_to(ROOT))
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for path in drifted:
        print(f"{path}: {'has drifted; run python tools/generate_docs.py' if check else 'written'}")
    return 1 if check and drifted else 0


if __name__ == "__main__":
    sys.exit(main())
