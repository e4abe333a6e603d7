"""``dh-bridge replay``: processes the events of a ledger's log again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dh_bridge.cli.examples import examples
from dh_bridge.cli.move_plan import plan_rows, plan_summary, write_plan_files
from dh_bridge.cli.options import archive_option, catalog_path, datahub_version_option, json_option, with_settings
from dh_bridge.cli.queue import waiting_summary
from dh_bridge.cli.summary import CommandOutcome
from dh_bridge.cli.targets import say_connecting
from dh_bridge.cli.terminal import echo, json_line, note, say, write, write_table
from dh_bridge.cli.times import short_time, since_option
from dh_bridge.delivery import open_target, with_server_version
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.identity_diff import MovePlan
from dh_bridge.ledger import open_ledger, read_notes
from dh_bridge.ledger.factory import notes_of
from dh_bridge.ledger.rebuild import adopt_older_states
from dh_bridge.replay import apply_replay, compare_replay, log_items
from dh_bridge.settings.loading import load
from dh_bridge.sinks.base import address_of, target_kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.ledger import Ledger
    from dh_bridge.openlineage.events import DeadLetter, Event
    from dh_bridge.replay import ReplayResult
    from dh_bridge.settings import Settings


@click.command()
@click.argument("ledger", metavar="LEDGER", type=catalog_path)
@since_option
@click.option(
    "--settings",
    "new_settings",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Settings file of the replay. Default: the settings of -c and --set.",
)
@click.option("--dry-run", is_flag=True, help="Show the difference to what the ledger sent, and write nothing.")
@click.option(
    "--to", "target", metavar="TARGET", help="Deliver the difference: rest:URL, kafka:BROKERS, catalog:FILE, …"
)
@click.option(
    "--new-ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The ledger of another TARGET than that of LEDGER.",
)
@click.option(
    "--moves",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="With --dry-run: write the files for `datahub migrate` and `datahub delete`, as identity does.",
)
@archive_option("The folder of `log export`: the events that the log has deleted come first.")
@json_option
@datahub_version_option
@with_settings
@examples(
    "dh-bridge emit examples/events --to catalog:shop.db && dh-bridge replay shop.db --dry-run",
)
def replay(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    ledger: str,
    since: int | None,
    new_settings: str | None,
    dry_run: bool,
    target: str | None,
    new_ledger: Path | None,
    folder: str | None,
    archive: Path | None,
    as_json: bool,
) -> None:
    """Process the events in the log of LEDGER again, under other settings or for another server.

    --dry-run shows the difference to what LEDGER sent: entities that are new or no longer written, aspects that change, and with
    --settings the entities that get another URN.

    --to delivers. If TARGET is the target of LEDGER, the states of LEDGER are replaced, and only differences are sent. Stop the
    other processes that use LEDGER before, and start them with the new settings. For another TARGET, name a new ledger with
    --new-ledger; a catalogue needs none.
    """
    if dry_run == (target is not None):
        raise click.UsageError("pass --dry-run or --to TARGET")
    old_settings, path = settings, Path(ledger)
    settings = settings if new_settings is None else load(new_settings).settings
    if target is None:
        version = None if settings.datahub_version is not None else notes_of(path).version
        result = compare_replay(
            path, with_server_version(version, settings), since=since, archive=archive,
            old_settings=None if new_settings is None else old_settings,
        )  # fmt: skip
        _show(result, as_json=as_json)
        if folder is not None:
            write_plan_files(result.plan, Path(folder))
        return
    with CommandOutcome(fail_on="delivery") as outcome:
        try:
            _deliver(
                path, target, settings, new_ledger, since, archive, outcome,
                needs_older=new_settings is None and since is None and archive is None,
            )  # fmt: skip
        except SinkError as error:
            outcome.abort(error)
        for line in outcome.summary():
            note(line)
        outcome.exit_command()


def _show(result: ReplayResult, *, as_json: bool) -> None:
    """Write the differences: each one as JSON, or a table of their numbers with examples."""
    if as_json:
        write(json_line(difference._asdict()) for difference in result.differences)
        write(map(json_line, plan_rows(result.plan)))
    else:
        rows = [
            (f"{number:,}", kind, subject, result.example(kind, subject))
            for (kind, subject), number in result.counts().items()
        ]
        if rows:
            write_table(("number", "difference", "of", "example"), rows)
        if result.plan != MovePlan([], [], []):
            echo()
            write_table(("what", "entity", "from", "to"), [tuple(row.values()) for row in plan_rows(result.plan)])
    _say_start(result)
    if result.plan != MovePlan([], [], []):
        say(plan_summary(result.plan))
    say(f"{result.events:,} events replayed: {len(result.differences):,} differences")


def _say_start(result: ReplayResult) -> None:
    """Print with which states the replay began, unless it has all events."""
    if result.is_complete:
        return
    if result.start is None:
        start = "the present states of the ledger, and adds the events of the log to them"
    else:
        time, position = short_time(result.start.time), result.start.position
        start = f"the states of {time}, and adds the events after position {position:,} to them"
    say(f"The log does not have all events of the ledger (see --archive). The replay starts with {start}.")


def _deliver(  # noqa: PLR0913 - as the command
    path: Path,
    target: str,
    settings: Settings,
    new_ledger: Path | None,
    since: int | None,
    archive: Path | None,
    outcome: CommandOutcome,
    *,
    needs_older: bool,
) -> None:
    """Deliver to the target of the ledger, or to another one that has a ledger of its own.

    ``needs_older``: that one also gets what older events stated than those of the log.
    """
    has_own_ledger = target_kind(target).has_own_ledger
    is_same_file = has_own_ledger and Path(address_of(target)).resolve() == path.resolve()
    ledger_path = None if has_own_ledger else new_ledger or path
    target_notes = read_notes(ledger_path, target)
    say_connecting(target, settings)
    delivery_target = open_target(target, settings, target_notes=target_notes, ledger=True)
    with delivery_target.sink as sink:
        is_replaced = is_same_file or (not has_own_ledger and new_ledger is None)
        if is_replaced:
            if (warning := target_notes.target_warning(delivery_target.address)) is not None:
                raise SettingsError(warning, location="--to", remedy="name a new ledger with --new-ledger FILE")
            result = apply_replay(path, delivery_target.settings, since=since, archive=archive)
            outcome.counts.events += result.events
            _say_start(result)
            if result.differences:
                say(
                    f"no longer written: {len(result.differences):,} entities, such as {result.differences[0].urn}. They stay at"
                    " the target, and later replays do not list them."
                )
        elif needs_older:
            new_path = ledger_path or Path(address_of(target))
            if adopt_older_states(path, new_path, delivery_target.settings):
                say("The log does not have all events of the ledger. What older events stated is sent from its states.")
        with open_ledger(
            ledger_path, sink, delivery_target.settings, version=delivery_target.version,
            delivery_id=delivery_target.options.run_id, target=delivery_target.address,
        ) as active_ledger:  # fmt: skip
            assert active_ledger is not None  # noqa: S101 - a catalogue, or a file
            items = () if is_replaced else log_items(path, delivery_target.settings, since=since, archive=archive)
            _stream(active_ledger, items, outcome)


def _stream(ledger: Ledger, items: Iterable[Event | DeadLetter], outcome: CommandOutcome) -> None:
    try:
        for translation, delivery in ledger.stream(items):
            outcome.add(translation)
            outcome.add_delivery(delivery)
    finally:
        outcome.add_waiting(*waiting_summary(ledger.relay))
