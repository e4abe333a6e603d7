"""``dh-bridge urn``."""

from __future__ import annotations

import codecs
import shlex
from typing import TYPE_CHECKING, Any

import click
import msgspec
from pydantic import ValidationError

from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.console import echo, json_line, say, write, write_pairs
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import catalog_path, json_option, utf_8, with_settings
from dh_bridge.datahub.urns import parse_urn, type_if_urn
from dh_bridge.errors import EventError
from dh_bridge.naming import Naming
from dh_bridge.naming.vocabulary import opt_in_names
from dh_bridge.openlineage.read import standard_input
from dh_bridge.settings.naming import NamingRule

if TYPE_CHECKING:
    from dh_bridge.settings import Settings

_ANY_NAMESPACE = "{*namespace}"
"""The namespace pattern with the least literal text: any rule of the user's own goes before it."""

_UNKNOWN_SYSTEM = "no system applies when that is chosen; one of "


class UrnQuery(msgspec.Struct):
    """A line of ``dh-bridge urn -``."""

    namespace: str
    name: str
    select: str | None = None


@click.command()
@click.argument("namespace", type=utf_8)
@click.argument("name", required=False, type=utf_8)
@click.option("--reverse", is_flag=True, help="NAMESPACE is a URN or FQN: show its namespaces and names.")
@click.option("--select", metavar="SYSTEM", help="Use a system that applies only on request, such as delta.")
@click.option("--env", metavar="ENV", help="Environment, if no rule of the settings sets another (PROD).")
@click.option("--platform-instance", "instance", metavar="NAME", help="Platform instance, where no rule matches.")
@click.option(
    "--catalog",
    "file",
    type=catalog_path,
    help="With --reverse: also search this catalogue.",
)
@json_option
@with_settings
@examples(
    "dh-bridge urn postgres://db.example.com:5432 shop.public.orders",
    "dh-bridge urn s3://lake raw/orders --env DEV --json",
    "dh-bridge urn --reverse 'urn:li:dataset:(urn:li:dataPlatform:s3,lake/raw/orders,PROD)'",
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
    file: str | None,
    as_json: bool,
) -> None:
    """Show the URN of the dataset NAMESPACE NAME, and the rule that it follows from.

    The output also has the level, the dataset URN that `emit` writes for inputs and outputs (endpoint), the Dataplex FQN, and a
    finding if the name lacks a level. If NAMESPACE is -, lines of {"namespace": …, "name": …} (and "select") are read from stdin,
    and each is answered with a line.
    """
    _check_usage(namespace, name, reverse=reverse, select=select, file=file)
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
        pairs = _pairs(naming, namespace, file)
        _show_pairs(pairs, as_json=as_json)
        if len(pairs) != 1:
            say(f"{len(pairs)} candidates" if pairs else _no_candidate_text(naming, namespace, settings.naming.env))
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
                f"no system has such names; the namespace comes first: {shlex.join(['dh-bridge', 'urn', name or '', namespace])}"
            )


def _check_usage(namespace: str, name: str | None, *, reverse: bool, select: str | None, file: str | None) -> None:
    """Raise a UsageError for arguments and options that do not go together."""
    if reverse:
        if name is not None or select is not None:
            raise click.UsageError("--reverse takes a URN or FQN alone, neither NAME nor --select")
    elif file is not None:
        raise click.UsageError("--catalog goes with --reverse")
    elif namespace == "-":
        if name is not None or select is not None:
            raise click.UsageError("names and opt-in systems come from stdin: leave out NAME and --select")
    elif name is None:
        usage = "--reverse URN" if type_if_urn(namespace) else "NAMESPACE NAME"
        raise click.UsageError(f"NAME is missing: dh-bridge urn {usage}")


def _instance_rule(instance: str) -> NamingRule:
    """Return the rule that gives ``instance`` to every namespace; a UsageError when it cannot be one."""
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
    """Return what a line asks; an EventError when it chooses a system that there is not."""
    query = msgspec.json.decode(line, type=UrnQuery)
    if query.select is not None and query.select not in selectable:
        raise EventError(f"{_UNKNOWN_SYSTEM}{', '.join(sorted(selectable))}", location=f"select {query.select}")
    return query


def _pairs(naming: Naming, text: str, file: str | None) -> list[tuple[str, str]]:
    """Return what ``text`` stands for: what it says itself, or else what the catalogue kept."""
    pairs = naming.reverse(text)
    if len(pairs) != 1 and file is not None:
        with Catalog(file, readonly=True) as catalog:
            pairs = catalog.raw_names(text) or pairs
    return pairs


def _show_pairs(pairs: list[tuple[str, str]], *, as_json: bool) -> None:
    for namespace, name in pairs:
        row = {"namespace": namespace, "name": name}
        write([json_line(row)]) if as_json else echo(f"{namespace}  {name}")


def _no_candidate_text(naming: Naming, text: str, env: str) -> str:
    """Say why nothing leads to ``text``: it is of another environment, or does not keep the server."""
    if type_if_urn(text) == "dataset":
        platform, name, urn_env = parse_urn(text)[1]
        if urn_env != env and naming.reverse(f"urn:li:dataset:({platform},{name},{env})"):
            return f"no candidate: names are of the environment {env} here, and the URN is of {urn_env}; try --env {urn_env}"
    return "no candidate: the URN does not keep the server; try --catalog FILE"
