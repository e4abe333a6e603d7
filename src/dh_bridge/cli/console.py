"""``dh-bridge console``."""

from __future__ import annotations

import signal
import sys
import webbrowser
from threading import Event
from typing import TYPE_CHECKING

import click

from dh_bridge.cli.examples import examples
from dh_bridge.cli.lookup import file_argument
from dh_bridge.cli.options import with_settings
from dh_bridge.cli.terminal import echo, say
from dh_bridge.console import ConsoleSource, run_console

if TYPE_CHECKING:
    from dh_bridge.settings import Settings


@click.command()
@file_argument
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=5080,
    show_default=True,
    help="The port on 127.0.0.1; 0 selects a free one.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address, and open no browser.")
@with_settings
@examples("dh-bridge console out/demo.db")
def console(*, settings: Settings, file: str, port: int, no_browser: bool) -> None:
    """Open a local page that shows a catalogue or ledger, and what events become.

    FILE is a catalogue or a ledger. The page has lineage, runs, checks and problems. It also shows what DataHub gets of an event
    that you paste, field by field. Only this machine can reach it, and only with the token in its address. The file is read;
    nothing is changed, except dead letters that you retry or drop on the page. Ctrl-C ends it.
    """
    stop = Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda *_: stop.set())
    with run_console(ConsoleSource(file, settings), port=port) as running_console:
        echo(running_console.url)
        if not no_browser and sys.stdout.isatty():
            webbrowser.open(running_console.url)
        say(f"The console of {file} runs until Ctrl-C.")
        stop.wait()
