"""``dh-bridge check``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dh_bridge.bridge import Bridge
from dh_bridge.checking import EventChecker
from dh_bridge.checking.finding import count_text
from dh_bridge.checking.kinds import KINDS
from dh_bridge.checking.text_output import format_report
from dh_bridge.checking.validity import ValidityChecker, is_proposal
from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import datahub_version_option, events_argument, json_option, with_settings
from dh_bridge.cli.summary import is_nothing_read, open_output, read_items
from dh_bridge.cli.terminal import echo, json_line, say, write
from dh_bridge.openlineage.events import DeadLetter

if TYPE_CHECKING:
    from dh_bridge.settings import Settings


@click.command()
@events_argument
@click.option(
    "--rules",
    "rules_file",
    metavar="FILE",
    help="Write the proposed settings to FILE as YAML (- for stdout, without the report).",
)
@click.option(
    "--ignore",
    "ignored_kinds",
    multiple=True,
    metavar="KIND",
    type=click.Choice(list(KINDS)),
    help="Leave out findings of this kind, such as run-without-end.",
)
@datahub_version_option
@json_option
@with_settings
@examples(
    "dh-bridge check examples/events/spark.ndjson",
    "dh-bridge translate examples/events | dh-bridge check -",
)
def check(
    *,
    settings: Settings,
    events: tuple[str, ...],
    rules_file: str | None,
    ignored_kinds: tuple[str, ...],
    as_json: bool,
) -> None:
    """Find what would make a messy catalogue, before EVENTS are written.

    Pass the events of a day. Each kind of finding has a block with count, examples and, if a setting solves it, a rule as
    YAML. The most harmful kind comes first: invalid events, job names that change with every run, staging folders, temporary
    tables, part files, dates and queries in names, names that lack a level, one table under several names, unknown
    platforms, runs without an end. A rule is shown only if a test on all names of EVENTS gives the intended names and
    changes no others. Copy rules into dh_bridge.yml, and check again. `identity --compare` shows whose URNs they change.

    EVENTS may also be proposals, such as the output of `translate`: these are checked against DataHub's schemas.

    The exit code is 0 without findings, 1 with findings, 2 for wrong usage.
    """
    bridge = Bridge(settings)
    checker, validity = EventChecker(settings), ValidityChecker(bridge)
    problem_count = event_count = proposal_count = 0
    for item in read_items(events, bridge):
        is_event = not is_proposal(item)
        event_count += is_event
        proposal_count += not is_event
        problems = [problem for problem in validity.check(item) if problem.kind not in ignored_kinds]
        problem_count += len(problems)
        if as_json and rules_file != "-":
            write(json_line(problem.row()) for problem in problems)
        if not isinstance(item, DeadLetter):
            checker.see(item)
    name_findings = [finding for finding in checker.findings() if finding.kind not in ignored_kinds]
    findings = [*(finding for finding in validity.findings() if finding.kind not in ignored_kinds), *name_findings]
    if rules_file == "-":
        write([checker.to_yaml(ignored_kinds).encode()])  # as settings are read, whatever the terminal's code page
    elif as_json:
        write(json_line(finding.row()) for finding in name_findings)
    else:
        for line in format_report(findings):
            echo(line)
    if rules_file not in (None, "-"):
        with open_output("--rules", rules_file, "wb") as file:
            file.write(checker.to_yaml(ignored_kinds).encode())
    subjects = [count_text(event_count, "event")] if event_count or not proposal_count else []
    subjects += [count_text(proposal_count, "proposal")] if proposal_count else []
    say(f"{' and '.join(subjects)} checked: {count_text(problem_count + len(name_findings), 'finding')}")
    if checker.sampled_fraction < 1:
        say(f"Too many names to remember all: the counts are of about 1 in {round(1 / checker.sampled_fraction):,}.")
    if findings or is_nothing_read():
        raise click.exceptions.Exit(EXIT_EVENTS)
