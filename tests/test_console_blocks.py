"""The console blocks of all pages run as printed, in their order; the others say which service they need, and are counted."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from support.fork_server import command_folder
from support.gms import Gms
from support.pages import ROOT, SERVICES, Sandbox, console_blocks, pages

BLOCKS = {page: console_blocks(page) for page in pages()}
RUN = {page: [block for block in blocks if block.service is None] for page, blocks in BLOCKS.items()}
MARKED = {
    "DataHub": 4,  # datahub ingest, rollback (twice), migrate and delete
    "Kafka": 3,
    "Spark": 3,
    "a checkout": 4,  # make demo, make test and the like
    "package index": 2,
    "publication": 1,
}
"""Number of marked blocks by service. If it grows, make sure that no test can run the new block."""


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    """The folder of a `dh-bridge` that starts quickly."""
    with command_folder(tmp_path_factory.mktemp("commands")) as folder:
        yield folder


@pytest.mark.parametrize(
    "page", [page for page, blocks in RUN.items() if blocks], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_commands_of_a_page_run_as_printed(page, tmp_path, commands):
    folder = tmp_path / "here"
    folder.mkdir()
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms:
        sandbox = Sandbox(folder, gms.url, commands)
        sandbox.prepare(RUN[page])
        try:
            for block in RUN[page]:
                for command, code in block.commands:
                    done = sandbox.run(command)
                    where = f"{block.page}:{block.line}: {command}\n{done.stdout}{done.stderr}"
                    assert done.returncode == code, where
        finally:
            sandbox.close()


def test_every_block_is_a_console_block_that_was_found():
    """A block in a list, or a marker with a typing error, would slip by."""
    for page, blocks in BLOCKS.items():
        text = page.read_text(encoding="utf-8")
        assert text.count("```console") == len(blocks), page
        assert f"\n{text}".count("\n<!-- needs:") == sum(block.service is not None for block in blocks), page
        assert text.count("\n$ ") == sum(block.text.count("\n$ ") + block.text.startswith("$ ") for block in blocks), (
            page
        )


def test_marked_console_blocks_name_a_service_and_a_reason(record_property):
    marked = [block for blocks in BLOCKS.values() for block in blocks if block.service is not None]
    assert {block.service for block in marked} <= SERVICES
    assert all(len(block.reason) > 15 for block in marked)
    counts = Counter(block.service for block in marked)
    record_property("marked blocks", dict(counts))
    ran = sum(map(len, RUN.values()))
    print(f"{ran} console blocks run, {len(marked)} need a service: {dict(sorted(counts.items()))}")  # noqa: T201 - pytest -s
    assert counts == MARKED
    assert ran > 20


def test_block_states_exit_codes_in_comments():
    (block,) = [
        block
        for blocks in BLOCKS.values()
        for block in blocks
        if block.page == "docs/delivery.md" and "urns.txt" in block.text
    ]
    codes = {command.split(" --to ")[1]: code for command, code in block.commands if "urns.txt" in command}
    assert codes == {"urns.txt --fail-on 'new>0'": 1}


def test_outputs_that_pages_show_are_those_of_today():
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "captures.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
