"""``dh-bridge explain``."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from dh_bridge.bridge import Bridge
from dh_bridge.cli.examples import examples
from dh_bridge.cli.loss_report import LossReport, write_reasons
from dh_bridge.cli.options import (
    catalog_path,
    datahub_version_option,
    events_path,
    fail_on_option,
    json_option,
    utf_8,
    with_settings,
)
from dh_bridge.cli.run_history import show_run_history
from dh_bridge.cli.summary import CommandOutcome, read_items
from dh_bridge.cli.terminal import echo, escape_line, json_line, style_text, write
from dh_bridge.datahub.search_texts import MAX_TERM_BYTES
from dh_bridge.json_safe import to_utf8_text
from dh_bridge.naming.datasets import dataset_name, enumerate_datasets
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.report.written import CUT_REASON

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dh_bridge.openlineage.events import Dataset
    from dh_bridge.settings import Settings

_COLOURS = {"mapped": "green", "property": "cyan", "dropped": "yellow"}
_PART_PATH = re.compile(r"\$\.(?:run|job|dataset|(?:inputs|outputs)\[\d+\])(?=\.)")
_Titles = dict[str, str]
_PendingTitles = dict[str, list[_Titles]]
"""Location -> titles of its events whose run is open; several if a file is named twice."""


@click.command()
@click.argument("events", nargs=-1, metavar="EVENTS...", type=click.Path())
@click.option("--run", metavar="RUN_ID", type=utf_8, help="Show the history of this run from a catalogue or ledger.")
@json_option
@click.option(
    "--outcome", "outcome_filter", type=click.Choice(list(_COLOURS)), help="Show only the fields with this outcome."
)
@click.option("--loss", is_flag=True, help="Count the dropped fields by facet and reason.")
@click.option(
    "--all",
    "shows_all",
    is_flag=True,
    help="With --loss: also count empty values, duplicates and descriptions of facets.",
)
@click.option("--reasons", is_flag=True, help="List the reasons for which fields are dropped, with their meanings.")
@datahub_version_option
@fail_on_option
@with_settings
@examples(
    "dh-bridge explain examples/events --loss",
    "dh-bridge explain examples/events --json",
    "dh-bridge explain --reasons",
    "dh-bridge emit examples/events --to catalog:shop.db && dh-bridge explain shop.db"
    " --run 01a1fcf3-ae1a-7325-9ff6-fa80f2885a38",
)
def explain(  # noqa: PLR0913 - one argument for each option
    *,
    settings: Settings,
    events: tuple[str, ...],
    run: str | None,
    as_json: bool,
    outcome_filter: str | None,
    loss: bool,
    shows_all: bool,
    reasons: bool,
    fail_on: str,
) -> None:
    """Show what happened to each field of the events: mapped, stored as a custom property, or dropped (and why).

    Each field has one line: in a table for each entity of each event, or with --json as an object. `mapped`: a field of DataHub
    holds the value. `property`: a custom property holds it. `dropped`: it is not stored, for the reason shown. `mapped` with
    the reason `cut`: the text is too long for DataHub's search index, so only its beginning is written.

    With --loss, dropped fields are counted by facet and reason. Fields that only describe a facet, empty values and duplicates are
    left out, unless --all is passed. With --json, each field has a line.

    With --run, pass the file of a catalogue or ledger instead of EVENTS. The history of the run lists its events by time, the
    aspects that were sent after each, and the result. Aspects of a batch of events are listed after its last event.
    """
    if reasons:
        write_reasons(as_json=as_json)
        return
    if not events:
        raise click.UsageError("Missing argument 'EVENTS...'.")
    if run is not None:
        if loss or outcome_filter is not None:
            raise click.UsageError("The history of a run has no outcomes of fields. Leave out --outcome and --loss.")
        if len(events) != 1:
            raise click.UsageError("--run needs one FILE: a catalogue or a ledger.")
        show_run_history(_convert(catalog_path, events)[0], run, settings, as_json=as_json)
        return
    events = _convert(events_path, events)
    if loss and outcome_filter not in {None, "dropped"}:
        raise click.UsageError(f"--loss shows dropped fields, but --outcome is {outcome_filter}. Pass one of the two.")
    if shows_all and not loss:
        raise click.UsageError("--all goes with --loss.")
    bridge = Bridge(settings)
    with CommandOutcome(fail_on=fail_on) as outcome:
        if loss:
            _show_loss(bridge, events, outcome, LossReport(shows_all=shows_all), as_json=as_json)
        else:
            _show_fields(bridge, events, outcome, outcome_filter, as_json=as_json)
        outcome.exit_command()


def _convert(path_type: click.Path, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return checked arguments; their meaning depends on --run."""
    context = click.get_current_context()
    argument = next(parameter for parameter in context.command.params if parameter.name == "events")
    return tuple(str(path_type.convert(path, argument, context)) for path in paths)


def _show_loss(
    bridge: Bridge, events: tuple[str, ...], outcome: CommandOutcome, report: LossReport, *, as_json: bool
) -> None:
    """Write the dropped fields, counted, or one by one as JSON."""
    for translation in bridge.stream(read_items(events, bridge), report=True):
        outcome.add(translation)
        if translation.report is None:
            continue
        if as_json:
            write(map(json_line, report.select(translation.report.lines())))
        else:
            report.add(translation.report.lines())
    if not as_json:
        report.write()


def _show_fields(
    bridge: Bridge, events: tuple[str, ...], outcome: CommandOutcome, outcome_filter: str | None, *, as_json: bool
) -> None:
    """Write the outcome of each field, in tables or as JSON."""
    titles: _PendingTitles = {}
    items: Iterable[Event | DeadLetter] = read_items(events, bridge)
    for translation in bridge.stream(items if as_json else _collect_titles(items, bridge, titles), report=True):
        outcome.add(translation)
        if translation.report is None:
            continue
        if as_json:
            write(json_line(line) for line in translation.report.lines() if outcome_filter in {None, line["outcome"]})
            continue
        for letter in translation.dead:
            if letter.location in titles:
                _pop_titles(letter.location, titles)
        for location, lines in groupby(translation.report.lines(), key=lambda line: str(line["event"])):
            event_titles = _pop_titles(location, titles)
            if shown_lines := [line for line in lines if outcome_filter in {None, line["outcome"]}]:
                _write_tables(location, shown_lines, event_titles)


def _collect_titles(
    items: Iterable[Event | DeadLetter], bridge: Bridge, titles: _PendingTitles
) -> Iterator[Event | DeadLetter]:
    """Yield the items; store in ``titles`` the titles of the tables of each event."""
    for item in items:
        if isinstance(item, Event):
            titles.setdefault(item.location, []).append(_part_titles(item, bridge))
        yield item


def _pop_titles(location: str, titles: _PendingTitles) -> _Titles:
    """Return the titles of the next event at a location, and remove them: an event is reported once, when its run closes."""
    queue = titles[location]
    return queue.pop(0) if len(queue) > 1 else titles.pop(location)[0]


def _part_titles(event: Event, bridge: Bridge) -> _Titles:
    """Return the title of each part of an event (``$.run``, ``$.inputs[0]``): its name in DataHub, or in OpenLineage.

    The fields of the envelope itself belong to the run, else to the job, else to the dataset.
    """

    def dataset(role: str, entry: Dataset) -> str:
        names = [(part, dataset_name(part, naming).endpoint) for _, part in enumerate_datasets([entry], naming)]
        return f"{role}  {', '.join(urn or f'{part.namespace} {part.name}' for part, urn in names)}"

    titles, naming = {}, bridge.options.naming
    if event.kind != "dataset":
        identity = bridge.identity(event)
        titles["$.job"] = f"job  {identity['dataJob'] or identity['dataFlow']}"
        if event.kind == "run":
            titles["$.run"] = f"run  {identity['dpi']}"
    if event.dataset is not None:
        titles["$.dataset"] = dataset("dataset", event.dataset)
    for direction, role in (("inputs", "input"), ("outputs", "output")):
        for position, entry in enumerate(getattr(event, direction)):
            titles[f"$.{direction}[{position}]"] = dataset(role, entry)
    return {"": next(titles[f"$.{part}"] for part in ("run", "job", "dataset") if f"$.{part}" in titles), **titles}


def _write_tables(location: str, lines: list[dict[str, Any]], titles: _Titles) -> None:
    """Write the tables of an event; colours are written to terminals only."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        part = _PART_PATH.match(line["path"])
        title = titles.get(part[0], titles[""]) if part else titles[""]
        tables.setdefault(title, []).append(line)
    echo(style_text(location, bold=True, underline=True))
    for title, rows in tables.items():
        counts = Counter(row["outcome"] for row in rows)
        counts_text = ", ".join(f"{counts[outcome]} {outcome}" for outcome in _COLOURS if counts[outcome])
        echo("\n  ", style_text(title, bold=True), f"  ({counts_text})")
        width = max(len(row["path"]) for row in rows)
        for row in rows:
            _write_line(row, width)
    echo()


def _write_line(row: Mapping[str, Any], width: int) -> None:
    suffix = row["target"] or row["reason"] or ""
    if row["target"] and row["reason"] == CUT_REASON:
        suffix += f"  (cut: the search index takes {MAX_TERM_BYTES:,} bytes)"
    text = to_utf8_text(f"  {escape_line(row['path']):<{width}}  {escape_line(suffix)}".rstrip())
    echo("    ", style_text(f"{row['outcome']:<8}", fg=_COLOURS[row["outcome"]]), text)
