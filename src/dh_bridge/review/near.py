"""Near misses: datasets that are there under another spelling, and the setting that would make ours the same."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.datahub.urns import dataset_urn, is_urn, parse
from dh_bridge.settings.naming import FABRIC_TYPES, PATTERN_SIGNS
from dh_bridge.settings.yaml_source import literal
from dh_bridge.sinks.abilities import absent

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from dh_bridge.sinks.abilities import Readable

_PLATFORM = "urn:li:dataPlatform:"
_QUOTES = str.maketrans("", "", '"`[]')
_REST = ".{*rest}"
_FEW = 5
#: Their datasets stand beside those of the place where the tables are: siblings, which DataHub's own sources link.
_BESIDE = frozenset({"dbt", "presto", "trino"})


class Near(NamedTuple):
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
    def folded(self) -> str:
        return _folded(self.name)


class _Same(NamedTuple):
    """One name in two spellings, but for the tiers that only one of them has, and all of theirs that a rule may rename to."""

    ours: str
    theirs: str
    whole: str


def near_misses(new: Iterable[tuple[str, str | None]], known: Iterable[str]) -> Iterator[Near]:
    """Yield the near misses of ``new``, (URN, namespace if it is known), among the ``known`` URNs, few for each."""
    ours = [(one, namespace) for urn, namespace in new if (one := _dataset(urn)) is not None]
    wanted = {_last(one) for one, _ in ours}
    names: dict[Hashable, list[_Dataset]] = defaultdict(list)
    tails: dict[str, list[_Dataset]] = defaultdict(list)
    for urn in known if wanted else ():
        if (theirs := _dataset(urn)) is not None and _last(theirs) in wanted:
            for key in filter(None, (theirs.folded, _inner(theirs), _host(theirs.name))):
                names[key].append(theirs)
            for tail in _tails(theirs.folded):
                tails[tail].append(theirs)
    for one, namespace in ours:
        keys = (*_tails(one.folded), ("inner", one.folded), _host(one.name))
        others = {*tails.get(one.folded, ()), *(theirs for key in keys for theirs in names.get(key, ()))}
        found = [near for theirs in others if _last(theirs) == _last(one) and (near := _near(one, theirs, namespace))]
        yield from sorted(found, key=lambda near: (near.differs.count(","), near.found))[:_FEW]


def spelled_otherwise(new: Iterable[str], place: Readable) -> set[str]:
    """Return the URNs of other spellings of ``new`` that ``place`` has: the way where it cannot list all it has."""
    asked = {other for urn in new if (ours := _dataset(urn)) is not None for other in _spellings(ours)}
    return asked - absent(place, sorted(asked))


def _spellings(ours: _Dataset) -> Iterator[str]:
    bare = ours.name.translate(_QUOTES)
    names = {ours.name, ours.name.lower(), ours.name.upper(), bare, bare.lower()}
    short = ours.name
    while "/" not in short and "." in short:
        short = short.partition(".")[2]
        names |= {short, short.lower()}
    for name in names - {ours.name}:
        yield ours._replace(name=name).urn
    for env in sorted(FABRIC_TYPES):
        if env != ours.env:
            yield ours._replace(env=env).urn


def _near(ours: _Dataset, theirs: _Dataset, namespace: str | None) -> Near | None:
    """Return how two datasets with one last name differ, None when they are probably two."""
    differs: list[str] = []
    rule: dict[str, str] = {"namespace": namespace} if namespace else {}
    if ours.platform != theirs.platform:
        if _BESIDE & {ours.platform, theirs.platform}:
            return None
        differs.append("platform")
        rule["platform"] = theirs.platform
    if ours.env != theirs.env:
        differs.append("env")
        rule["env"] = theirs.env
    if ours.folded != theirs.folded:
        tiers = _tiers(ours, theirs, namespace)
        if tiers is not None:
            differs.append("instance or tiers")
            added, same = tiers
            rule |= added
            if same.ours != same.theirs:
                differs.append(_spelling(same))
                rule |= _respelled(ours.name, same, namespace)
        elif _host(ours.name) and _host(ours.name) == _host(theirs.name):
            differs.append("host")
        else:
            return None
    elif ours.name != theirs.name:
        same = _Same(ours.name, theirs.name, theirs.name)
        differs.append(_spelling(same))
        rule |= _respelled(ours.name, same, namespace)
    return (
        Near(ours.urn, theirs.urn, ", ".join(differs), _written(rule, differs, _hosts(ours, theirs)))
        if differs
        else None
    )


def _tiers(ours: _Dataset, theirs: _Dataset, namespace: str | None) -> tuple[dict[str, str], _Same] | None:
    """Return what gives a name the parts of theirs, which has one more or less, and what is then the same; None for another name."""
    mine, other = ours.folded, theirs.folded
    if other.endswith(f".{mine}"):
        instance = _before(mine, theirs.name)
        rest = theirs.name[len(instance) + 1 :]
        return {"platform_instance": instance}, _Same(ours.name, rest, rest)
    if mine.endswith(f".{other}"):
        before = _before(other, ours.name)
        rule = {"name": f"{before}{_REST}", "rename": "{rest}"}
        return rule, _Same(ours.name[len(before) + 1 :], theirs.name, theirs.name)
    if _inner(theirs) != ("inner", mine):
        return None
    first, schema, rest = theirs.name.split(".", 2)
    same = _Same(ours.name, f"{first}.{rest}", theirs.name)
    if (namespace or "").endswith(f"/{first}"):
        return {"default_schema": schema}, same
    return {"name": f"{_before(mine.partition('.')[2], ours.name)}{_REST}", "default_schema": schema}, same


def _spelling(same: _Same) -> str:
    """Return how two spellings differ."""
    return "quoting" if same.ours.translate(_QUOTES) == same.theirs.translate(_QUOTES) else "case"


def _respelled(name: str, same: _Same, namespace: str | None) -> dict[str, str]:
    """Return what spells a name as theirs: a rule for the case of all names where theirs has one case, else for this name alone."""
    alone = {"name": _told(name, namespace), "rename": _told(same.whole, namespace)}
    if _spelling(same) == "quoting":
        return alone
    if same.whole in (same.whole.lower(), same.whole.upper()):
        return {"case": "lower" if same.whole == same.whole.lower() else "upper"}
    return {**alone, "case": "keep"}


def _inner(one: _Dataset) -> tuple[str, str] | None:
    """Return the name without its second tier, as Spark's JDBC leaves a schema out: `shop.orders`; None where there is none."""
    first, _, rest = one.folded.partition(".")
    _, dot, last = rest.partition(".")
    return ("inner", f"{first}.{last}") if dot and "/" not in one.name else None


def _tails(name: str) -> Iterator[str]:
    """Yield a name, and what is left of it as its tiers are taken off."""
    yield name
    while "." in name:
        name = name.partition(".")[2]
        yield name


def _before(rest: str, name: str) -> str:
    """Return what a name has before its part that is ``rest`` without quotes and case, which need not be as long."""
    return next(name[:at] for at, sign in enumerate(name) if sign == "." and _folded(name[at + 1 :]) == rest)


def _folded(name: str) -> str:
    return name.translate(_QUOTES).casefold()


def _written(rule: dict[str, str], differs: list[str], hosts: tuple[str, str]) -> str:
    """Return a line of YAML for the settings file (flow style, which JSON is part of), "" where no pattern can say it."""
    namespace = rule.get("namespace", "")
    texts = namespace, rule.get("name", "").removesuffix(_REST), rule.get("rename", "").removeprefix("{rest}")
    if any(PATTERN_SIGNS & set(text) for text in texts):
        return ""
    if differs == ["host"]:
        location = {"canonical": namespace.replace(*hosts, 1), "aliases": [namespace]}
        return f"naming: {{locations: [{_flow(location)}]}}"
    return f"naming: {{rules: [{_flow(rule)}]}}"


def _flow(value: dict[str, Any]) -> str:
    return literal(json.dumps(value, ensure_ascii=False))


def _told(name: str, namespace: str | None) -> str:
    """Return the name that events have beside their namespace, which may be a bucket or a host that leads the dataset's name."""
    first, slash, rest = name.partition("/")
    return rest if slash and (namespace or "").endswith(f"//{first}") else name


def _hosts(ours: _Dataset, theirs: _Dataset) -> tuple[str, str]:
    return ours.name.partition("/")[0], theirs.name.partition("/")[0]


def _host(name: str) -> tuple[str, str] | None:
    """Return the first label of the host and the rest of a path; None for what is no path."""
    first, slash, rest = name.partition("/")
    return (re.split("[.:]", first)[0].casefold(), rest.casefold()) if slash and first else None


def _last(one: _Dataset) -> str:
    """Return the last part of the name, in which near misses are equal."""
    return one.folded.rpartition("/")[2] if "/" in one.name else one.folded.rpartition(".")[2]


def _dataset(urn: str) -> _Dataset | None:
    if not urn.startswith("urn:li:dataset:") or not is_urn(urn):
        return None
    platform, name, env = parse(urn)[1]
    return _Dataset(platform.removeprefix(_PLATFORM), name, env)
