"""Near misses: datasets that are there under another spelling, and the setting that would make ours the same."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.datahub.urns import dataset_urn, is_urn, parse_urn
from dh_bridge.settings.naming import FABRIC_TYPES, PATTERN_CHARS
from dh_bridge.settings.yaml_source import escape_variables
from dh_bridge.sinks.abilities import missing_urns

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from dh_bridge.sinks.abilities import Readable

_PLATFORM = "urn:li:dataPlatform:"
_QUOTES = str.maketrans("", "", '"`[]')
_REST = ".{*rest}"
_MAX_MISSES_PER_DATASET = 5
#: Their datasets stand beside those of the place where the tables are: siblings, which DataHub's own sources link.
_SIBLING_PLATFORMS = frozenset({"dbt", "presto", "trino"})


class NearMiss(NamedTuple):
    """A dataset of ours that is not there, one that is, how their URNs differ, and the settings to try ("": none can say it)."""

    urn: str
    found: str
    differs: str
    rule: str


class _Dataset(NamedTuple):
    platform: str
    name: str
    env: str

    @property
    def urn(self) -> str:
        return dataset_urn(self.platform, self.name, self.env)

    @property
    def normalized_name(self) -> str:
        return _normalize_name(self.name)


class _SpellingPair(NamedTuple):
    """One name in two spellings, but for the tiers that only one of them has, and all of theirs that a rule may rename to."""

    proposed: str
    existing: str
    full_name: str


def near_misses(proposed_urns: Iterable[tuple[str, str | None]], existing_urns: Iterable[str]) -> Iterator[NearMiss]:
    """Yield the near misses of ``proposed_urns``, (URN, namespace if it is known), among the ``existing_urns`` URNs, few for each."""
    proposed_datasets = [
        (proposed, namespace) for urn, namespace in proposed_urns if (proposed := _dataset(urn)) is not None
    ]
    last_parts = {_last_part(proposed) for proposed, _ in proposed_datasets}
    names: dict[Hashable, list[_Dataset]] = defaultdict(list)
    tails: dict[str, list[_Dataset]] = defaultdict(list)
    for urn in existing_urns if last_parts else ():
        if (existing := _dataset(urn)) is not None and _last_part(existing) in last_parts:
            for key in filter(
                None, (existing.normalized_name, _name_without_schema(existing), _host_and_path(existing.name))
            ):
                names[key].append(existing)
            for tail in _tails(existing.normalized_name):
                tails[tail].append(existing)
    for proposed, namespace in proposed_datasets:
        keys = (*_tails(proposed.normalized_name), ("inner", proposed.normalized_name), _host_and_path(proposed.name))
        candidates = {
            *tails.get(proposed.normalized_name, ()),
            *(existing for key in keys for existing in names.get(key, ())),
        }
        misses = [
            miss
            for existing in candidates
            if _last_part(existing) == _last_part(proposed) and (miss := _near_miss(proposed, existing, namespace))
        ]
        yield from sorted(misses, key=lambda miss: (miss.differs.count(","), miss.found))[:_MAX_MISSES_PER_DATASET]


def existing_respellings(proposed_urns: Iterable[str], target: Readable) -> set[str]:
    """Return the URNs of other spellings of ``proposed_urns`` that ``target`` has: the way where it cannot list all it has."""
    respelled_urns = {
        respelled_urn
        for urn in proposed_urns
        if (proposed := _dataset(urn)) is not None
        for respelled_urn in _spellings(proposed)
    }
    return respelled_urns - missing_urns(target, sorted(respelled_urns))


def _spellings(proposed: _Dataset) -> Iterator[str]:
    unquoted = proposed.name.translate(_QUOTES)
    names = {proposed.name, proposed.name.lower(), proposed.name.upper(), unquoted, unquoted.lower()}
    short = proposed.name
    while "/" not in short and "." in short:
        short = short.partition(".")[2]
        names |= {short, short.lower()}
    for name in names - {proposed.name}:
        yield proposed._replace(name=name).urn
    for env in sorted(FABRIC_TYPES):
        if env != proposed.env:
            yield proposed._replace(env=env).urn


def _near_miss(proposed: _Dataset, existing: _Dataset, namespace: str | None) -> NearMiss | None:
    """Return how two datasets with one last name differ, None when they are probably two."""
    differs: list[str] = []
    rule: dict[str, str] = {"namespace": namespace} if namespace else {}
    if proposed.platform != existing.platform:
        if _SIBLING_PLATFORMS & {proposed.platform, existing.platform}:
            return None
        differs.append("platform")
        rule["platform"] = existing.platform
    if proposed.env != existing.env:
        differs.append("env")
        rule["env"] = existing.env
    if proposed.normalized_name != existing.normalized_name:
        tiers = _tier_difference(proposed, existing, namespace)
        if tiers is not None:
            differs.append("instance or tiers")
            rule_part, spelling_pair = tiers
            rule |= rule_part
            if spelling_pair.proposed != spelling_pair.existing:
                differs.append(_spelling_difference(spelling_pair))
                rule |= _respelling_rule(proposed.name, spelling_pair, namespace)
        elif _host_and_path(proposed.name) and _host_and_path(proposed.name) == _host_and_path(existing.name):
            differs.append("host")
        else:
            return None
    elif proposed.name != existing.name:
        spelling_pair = _SpellingPair(proposed.name, existing.name, existing.name)
        differs.append(_spelling_difference(spelling_pair))
        rule |= _respelling_rule(proposed.name, spelling_pair, namespace)
    return (
        NearMiss(
            proposed.urn, existing.urn, ", ".join(differs), _settings_line(rule, differs, _hosts(proposed, existing))
        )
        if differs
        else None
    )


def _tier_difference(
    proposed: _Dataset, existing: _Dataset, namespace: str | None
) -> tuple[dict[str, str], _SpellingPair] | None:
    """Return what gives a name the parts of theirs, which has one more or less, and what is then the same; None for another name."""
    proposed_name, existing_name = proposed.normalized_name, existing.normalized_name
    if existing_name.endswith(f".{proposed_name}"):
        instance = _prefix_before(proposed_name, existing.name)
        remainder = existing.name[len(instance) + 1 :]
        return {"platform_instance": instance}, _SpellingPair(proposed.name, remainder, remainder)
    if proposed_name.endswith(f".{existing_name}"):
        prefix = _prefix_before(existing_name, proposed.name)
        rule = {"name": f"{prefix}{_REST}", "rename": "{rest}"}
        return rule, _SpellingPair(proposed.name[len(prefix) + 1 :], existing.name, existing.name)
    if _name_without_schema(existing) != ("inner", proposed_name):
        return None
    first, schema, remainder = existing.name.split(".", 2)
    spelling_pair = _SpellingPair(proposed.name, f"{first}.{remainder}", existing.name)
    if (namespace or "").endswith(f"/{first}"):
        return {"default_schema": schema}, spelling_pair
    return {
        "name": f"{_prefix_before(proposed_name.partition('.')[2], proposed.name)}{_REST}",
        "default_schema": schema,
    }, spelling_pair


def _spelling_difference(spelling_pair: _SpellingPair) -> str:
    """Return how two spellings differ."""
    return (
        "quoting" if spelling_pair.proposed.translate(_QUOTES) == spelling_pair.existing.translate(_QUOTES) else "case"
    )


def _respelling_rule(name: str, spelling_pair: _SpellingPair, namespace: str | None) -> dict[str, str]:
    """Return what spells a name as theirs: a rule for the case of all names where theirs has one case, else for this name alone."""
    name_rule = {"name": _event_name(name, namespace), "rename": _event_name(spelling_pair.full_name, namespace)}
    if _spelling_difference(spelling_pair) == "quoting":
        return name_rule
    if spelling_pair.full_name in (spelling_pair.full_name.lower(), spelling_pair.full_name.upper()):
        return {"case": "lower" if spelling_pair.full_name == spelling_pair.full_name.lower() else "upper"}
    return {**name_rule, "case": "keep"}


def _name_without_schema(dataset: _Dataset) -> tuple[str, str] | None:
    """Return the name without its second tier, as Spark's JDBC leaves a schema out: `shop.orders`; None where there is none."""
    first, _, remainder = dataset.normalized_name.partition(".")
    _, dot, last = remainder.partition(".")
    return ("inner", f"{first}.{last}") if dot and "/" not in dataset.name else None


def _tails(name: str) -> Iterator[str]:
    """Yield a name, and what is left of it as its tiers are taken off."""
    yield name
    while "." in name:
        name = name.partition(".")[2]
        yield name


def _prefix_before(remainder: str, name: str) -> str:
    """Return what a name has before its part that is ``remainder`` without quotes and case, which need not be as long."""
    return next(
        name[:position]
        for position, char in enumerate(name)
        if char == "." and _normalize_name(name[position + 1 :]) == remainder
    )


def _normalize_name(name: str) -> str:
    return name.translate(_QUOTES).casefold()


def _settings_line(rule: dict[str, str], differs: list[str], hosts: tuple[str, str]) -> str:
    """Return a line of YAML for the settings file (flow style, which JSON is part of), "" where no pattern can say it."""
    namespace = rule.get("namespace", "")
    texts = namespace, rule.get("name", "").removesuffix(_REST), rule.get("rename", "").removeprefix("{rest}")
    if any(PATTERN_CHARS & set(text) for text in texts):
        return ""
    if differs == ["host"]:
        return f"naming: {{locations: {_flow_yaml({namespace.replace(*hosts, 1): [namespace]})}}}"
    return f"naming: {{rules: [{_flow_yaml(rule)}]}}"


def _flow_yaml(value: dict[str, Any]) -> str:
    return escape_variables(json.dumps(value, ensure_ascii=False))


def _event_name(name: str, namespace: str | None) -> str:
    """Return the name that events have beside their namespace, which may be a bucket or a host that leads the dataset's name."""
    first, slash, path = name.partition("/")
    return path if slash and (namespace or "").endswith(f"//{first}") else name


def _hosts(proposed: _Dataset, existing: _Dataset) -> tuple[str, str]:
    return proposed.name.partition("/")[0], existing.name.partition("/")[0]


def _host_and_path(name: str) -> tuple[str, str] | None:
    """Return the first label of the host and the rest of a path; None for what is no path."""
    first, slash, path = name.partition("/")
    return (re.split("[.:]", first)[0].casefold(), path.casefold()) if slash and first else None


def _last_part(dataset: _Dataset) -> str:
    """Return the last part of the name, in which near misses are equal."""
    return (
        dataset.normalized_name.rpartition("/")[2]
        if "/" in dataset.name
        else dataset.normalized_name.rpartition(".")[2]
    )


def _dataset(urn: str) -> _Dataset | None:
    if not urn.startswith("urn:li:dataset:") or not is_urn(urn):
        return None
    platform, name, env = parse_urn(urn)[1]
    return _Dataset(platform.removeprefix(_PLATFORM), name, env)
