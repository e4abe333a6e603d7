"""``dh-bridge urn``."""

from __future__ import annotations

import codecs
import shlex
from typing import TYPE_CHECKING, Any

import click
import msgspec
from pydantic import ValidationError

from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.examples import examples
from dh_bridge.cli.lookup import open_contents
from dh_bridge.cli.options import catalog_path, json_option, utf_8, with_settings
from dh_bridge.cli.terminal import echo, json_line, say, write, write_pairs
from dh_bridge.datahub.urns import parse_urn, type_if_urn
from dh_bridge.errors import EventError
from dh_bridge.naming import Naming
from dh_bridge.naming.vocabulary import opt_in_names
from dh_bridge.openlineage.read import standard_input
from dh_bridge.settings.naming import NamingRule

if TYPE_CHECKING:
    from dh_bridge.settings import Settings

_ANY_NAMESPACE = "{*namespace}"
"""The namespace pattern with the least literal text, so every rule of the settings has priority over it."""

_UNKNOWN_SYSTEM = "unknown system; use one of "


class UrnQuery(msgspec.Struct):
    """A line of ``dh-bridge urn -``."""

    namespace: str
    name: str
    select: str | None = None


@click.command()
@click.argument("namespace", type=utf_8)
@click.argument("name", required=False, type=utf_8)
@click.option("--reverse", is_flag=True, help="Show the names of a URN or FQN. The arguments are [FILE] URN.")
@click.option("--select", metavar="SYSTEM", help="Use a system that applies only on request, such as delta.")
@click.option("--env", metavar="ENV", help="Environment, if no rule of the settings sets another (PROD).")
@click.option("--platform-instance", "instance", metavar="NAME", help="Platform instance, where no rule matches.")
@json_option
@with_settings
@examples(
    "dh-bridge urn postgres://db.example.com:5432 shop.public.orders",
    "dh-bridge urn s3://lake raw/orders --env DEV --json",
    "dh-bridge urn --reverse 'urn:li:dataset:(urn:li:dataPlatform:s3,lake/raw/orders,PROD)'",
    "dh-bridge urn --reverse out/demo.db 'urn:li:dataset:(urn:li:dataPlatform:postgres,shop.mart.daily_revenue,PROD)'",
    'echo \'{"namespace": "s3://lake", "name": "raw/orders"}\' | dh-bridge urn -',
)
def urn(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    namespace: str,
    name: str | None,
    reverse: bool,
    select: str | None,
    instance: str | None,
    as_json: bool,
) -> None:
    """Show the URN of the dataset NAMESPACE NAME, and the rule that it follows from.

    The output also has the level, the dataset URN that `emit` writes for inputs and outputs (endpoint), the Dataplex FQN, and a
    finding if the name lacks a level. If NAMESPACE is -, lines of {"namespace": …, "name": …} (and "select") are read from stdin,
    and each is answered with a line.

    With --reverse, the output has the namespace and name of a URN or FQN. Many URNs do not contain the server of the namespace. If
    FILE, a catalogue or ledger, is passed before the URN, the names are read from its datasets.
    """
    _check_usage(namespace, name, reverse=reverse, select=select)
    rules = settings.naming.rules
    if instance is not None:
        rules = (*rules, _instance_rule(instance))
    naming = Naming(
        settings.naming.model_copy(update={"rules": rules}),
        settings.mappings,
        keep_in_memory=settings.temporary.in_memory == "keep",
    )
    selectable = opt_in_names(naming.systems())
    if reverse:
        file, text = (None, namespace) if name is None else (namespace, name)
        pairs = _pairs(naming, text, file, settings)
        _show_pairs(pairs, as_json=as_json)
        if len(pairs) != 1:
            say(f"{len(pairs)} candidates" if pairs else _no_candidate_text(naming, text, file, settings.naming.env))
            raise click.exceptions.Exit(EXIT_EVENTS)
    elif namespace == "-":
        _answer_all(naming, selectable)
    elif select is not None and select not in selectable:
        raise click.UsageError(f"--select {select}: {_UNKNOWN_SYSTEM}{', '.join(sorted(selectable))}")
    else:
        row = _row(naming, UrnQuery(namespace, name or "", select))
        write([json_line(row)]) if as_json else write_pairs(row)
        if row["system"] is None and "://" not in namespace and "://" in (name or ""):
            say(
                f"no system has such names. The namespace is the first argument: {shlex.join(['dh-bridge', 'urn', name or '', namespace])}"
            )


def _check_usage(namespace: str, name: str | None, *, reverse: bool, select: str | None) -> None:
    """Raise a UsageError for arguments and options that exclude each other."""
    if reverse:
        if select is not None:
            raise click.UsageError("--reverse and --select exclude each other")
        if name is not None and type_if_urn(namespace):
            raise click.UsageError("FILE comes before the URN: dh-bridge urn --reverse [FILE] URN")
    elif namespace == "-":
        if name is not None or select is not None:
            raise click.UsageError("names and opt-in systems come from stdin: leave out NAME and --select")
    elif name is None:
        usage = "--reverse [FILE] URN" if type_if_urn(namespace) else "NAMESPACE NAME"
        raise click.UsageError(f"NAME is missing: dh-bridge urn {usage}")


def _instance_rule(instance: str) -> NamingRule:
    """Return the rule that gives ``instance`` to every namespace; a UsageError if the name is invalid."""
    try:
        return NamingRule(namespace=_ANY_NAMESPACE, platform_instance=instance)
    except ValidationError as error:
        raise click.UsageError(
            f"--platform-instance {instance!r}: write 1 to 100 characters, without spaces around them"
        ) from error


def _row(naming: Naming, query: UrnQuery) -> dict[str, Any]:
    name = naming(query.namespace, query.name, select=query.select)
    if name.refusal is not None:
        raise name.refusal
    row = {key: getattr(name, key) for key in ("urn", "level", "endpoint", "fqn", "system", "rule")}
    return row | ({"skip": name.skip} if name.skip else {}) | ({"finding": name.gap} if name.gap else {})


def _answer_all(naming: Naming, selectable: set[str]) -> None:
    failed = 0
    for number, raw in enumerate(standard_input(), 1):
        line = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
        if not line.strip():
            continue
        try:
            row = _row(naming, _parse_query(line, selectable))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, EventError) as error:
            failed += 1
            row = {"urn": None, "error": f"line {number}: {error}"}
        write([json_line(row)])
    if failed:
        say(f"{failed:,} lines could not be answered")
        raise click.exceptions.Exit(EXIT_EVENTS)


def _parse_query(line: bytes, selectable: set[str]) -> UrnQuery:
    """Parse a line of stdin; an EventError if it selects an unknown system."""
    query = msgspec.json.decode(line, type=UrnQuery)
    if query.select is not None and query.select not in selectable:
        raise EventError(f"{_UNKNOWN_SYSTEM}{', '.join(sorted(selectable))}", location=f"select {query.select}")
    return query


def _pairs(naming: Naming, text: str, file: str | None, settings: Settings) -> list[tuple[str, str]]:
    """Return the namespaces and names of a URN or FQN: those that follow from it, else those that the file has."""
    pairs = naming.reverse(text)
    if file is None:
        return pairs
    path = catalog_path.convert(file, None, None)
    with open_contents(path, settings) as contents:
        return pairs if len(pairs) == 1 else contents.load([text]).raw_names(text) or pairs


def _show_pairs(pairs: list[tuple[str, str]], *, as_json: bool) -> None:
    for namespace, name in pairs:
        row = {"namespace": namespace, "name": name}
        write([json_line(row)]) if as_json else echo(f"{namespace}  {name}")


def _no_candidate_text(naming: Naming, text: str, file: str | None, env: str) -> str:
    """Return the reason why no name is found: another environment, or a URN without the server."""
    if type_if_urn(text) == "dataset":
        platform, name, urn_env = parse_urn(text)[1]
        if urn_env != env and naming.reverse(f"urn:li:dataset:({platform},{name},{env})"):
            return f"no candidate: names have the environment {env}, but the URN has {urn_env}; try --env {urn_env}"
    if file is not None:
        return f"no candidate: the URN does not contain the server, and {file} has no dataset with it"
    return "no candidate: the URN does not contain the server; pass a catalogue before the URN: dh-bridge urn --reverse FILE URN"
