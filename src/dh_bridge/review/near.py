"""Near misses: new datasets of the events that probably exist at the target under another URN."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.datahub.urns import dataset_urn, is_urn, parse_urn
from dh_bridge.settings.naming import FABRIC_TYPES
from dh_bridge.sinks.abilities import missing_urns

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from dh_bridge.sinks.abilities import Readable

_PLATFORM = "urn:li:dataPlatform:"
_QUOTES = str.maketrans("", "", '"`[]')
_MAX_MISSES_PER_DATASET = 5
#: Their datasets exist beside those of the platform that has the tables: siblings, which DataHub's own sources link.
_SIBLING_PLATFORMS = frozenset({"dbt", "presto", "trino"})


class NearMiss(NamedTuple):
    """A new dataset of the events, a dataset that exists, and how their URNs differ."""

    urn: str
    found: str
    differs: str


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
    """The common part of two names, in the spelling of each."""

    proposed: str
    existing: str


def near_misses(proposed_urns: Iterable[str], existing_urns: Iterable[str]) -> Iterator[NearMiss]:
    """Yield the near misses of ``proposed_urns`` among ``existing_urns``, at most five for each URN."""
    proposed_datasets = [proposed for urn in proposed_urns if (proposed := _dataset(urn)) is not None]
    last_parts = {_last_part(proposed) for proposed in proposed_datasets}
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
    for proposed in proposed_datasets:
        keys = (*_tails(proposed.normalized_name), ("inner", proposed.normalized_name), _host_and_path(proposed.name))
        candidates = {
            *tails.get(proposed.normalized_name, ()),
            *(existing for key in keys for existing in names.get(key, ())),
        }
        misses = [
            miss
            for existing in candidates
            if _last_part(existing) == _last_part(proposed) and (miss := _near_miss(proposed, existing))
        ]
        yield from sorted(misses, key=lambda miss: (miss.differs.count(","), miss.found))[:_MAX_MISSES_PER_DATASET]


def existing_respellings(proposed_urns: Iterable[str], target: Readable) -> set[str]:
    """Return the URNs of other spellings of ``proposed_urns`` that ``target`` has, for targets that cannot list their URNs."""
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


def _near_miss(proposed: _Dataset, existing: _Dataset) -> NearMiss | None:
    """Return how two datasets with the same last part differ, None if they are probably two datasets."""
    differs: list[str] = []
    if proposed.platform != existing.platform:
        if _SIBLING_PLATFORMS & {proposed.platform, existing.platform}:
            return None
        differs.append("platform")
    if proposed.env != existing.env:
        differs.append("env")
    if proposed.normalized_name != existing.normalized_name:
        spelling_pair = _common_part(proposed, existing)
        if spelling_pair is not None:
            differs.append("instance or tiers")
            if spelling_pair.proposed != spelling_pair.existing:
                differs.append(_spelling_difference(spelling_pair))
        elif _host_and_path(proposed.name) and _host_and_path(proposed.name) == _host_and_path(existing.name):
            differs.append("host")
        else:
            return None
    elif proposed.name != existing.name:
        differs.append(_spelling_difference(_SpellingPair(proposed.name, existing.name)))
    return NearMiss(proposed.urn, existing.urn, ", ".join(differs)) if differs else None


def _common_part(proposed: _Dataset, existing: _Dataset) -> _SpellingPair | None:
    """Return what two names have in common if one of them has one level more, None for other names."""
    proposed_name, existing_name = proposed.normalized_name, existing.normalized_name
    if existing_name.endswith(f".{proposed_name}"):
        prefix = _prefix_before(proposed_name, existing.name)
        return _SpellingPair(proposed.name, existing.name[len(prefix) + 1 :])
    if proposed_name.endswith(f".{existing_name}"):
        prefix = _prefix_before(existing_name, proposed.name)
        return _SpellingPair(proposed.name[len(prefix) + 1 :], existing.name)
    if _name_without_schema(existing) != ("inner", proposed_name):
        return None
    first, _, remainder = existing.name.split(".", 2)
    return _SpellingPair(proposed.name, f"{first}.{remainder}")


def _spelling_difference(spelling_pair: _SpellingPair) -> str:
    """Return how two spellings differ."""
    return (
        "quoting" if spelling_pair.proposed.translate(_QUOTES) == spelling_pair.existing.translate(_QUOTES) else "case"
    )


def _name_without_schema(dataset: _Dataset) -> tuple[str, str] | None:
    """Return the name without its second level, as Spark's JDBC omits the schema: `shop.orders`; None if it has none."""
    first, _, remainder = dataset.normalized_name.partition(".")
    _, dot, last = remainder.partition(".")
    return ("inner", f"{first}.{last}") if dot and "/" not in dataset.name else None


def _tails(name: str) -> Iterator[str]:
    """Yield a name, and the name without its first levels, one level less each time."""
    yield name
    while "." in name:
        name = name.partition(".")[2]
        yield name


def _prefix_before(remainder: str, name: str) -> str:
    """Return the part of a name before ``remainder``, which is compared without quotes and case and may differ in length."""
    return next(
        name[:position]
        for position, char in enumerate(name)
        if char == "." and _normalize_name(name[position + 1 :]) == remainder
    )


def _normalize_name(name: str) -> str:
    return name.translate(_QUOTES).casefold()


def _host_and_path(name: str) -> tuple[str, str] | None:
    """Return the first label of the host and the rest of a path; None for other names."""
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
