"""Write the events of the golden files of facets and producers from ``tests/golden/samples.yaml``.

``python tools/golden_events.py``, then ``pytest tests/golden --update-golden`` and read the difference. A file of events is
a JSON array that people can read: a bare START and an end that says it all, at fixed times and of fixed runs. Where a facet
lies in several places, each of the others has an end alone; facets of jobs and of datasets have an event without a run too.
"""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"
OWN = "https://example.com/own-scripts"
SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
TIMES = ("2026-11-20T01:00:00Z", "2026-11-20T01:00:30Z")
ORDERS, TOTALS = ["postgres://db:5432", "shop.public.orders"], ["postgres://db:5432", "shop.public.totals"]
Json = dict[str, Any]


def files() -> dict[str, list[Json]]:
    """Return the events by the path of their file below ``tests/golden``."""
    samples = yaml.safe_load((GOLDEN / "samples.yaml").read_text(encoding="utf-8"))
    facets = samples["facets"]
    found = {
        f"facets/{name}.events.json": events
        for at, keys in facets.items()
        for key, sample in keys.items()
        for name, events in _of_places(at, key, sample)
    }
    for name, sample in samples["producers"].items():
        found[f"producers/{name}.events.json"] = _of_producer(name, sample, facets)
    return found


def _of_places(at: str, key: str, sample: Json) -> Iterator[tuple[str, list[Json]]]:
    """Yield (name, events) of a facet: a whole run, an end for each other place, an event without a run."""
    yield f"{key}.{at}", _of_facet(at, key, sample)
    body = sample.get("body", sample)
    for place, other in _other_places(at, sample).items():
        said = {**sample, "body": other or body, "place": place}
        where = place if at != "dataset" else "dataset"
        yield f"{key}.{place}", _of_facet(where, key, said, name=f"{key}.{place}")[1:]
    if at == "job":
        yield f"{key}.job_event", [_job_event(key, sample)]
    if at == "dataset":
        yield f"{key}.dataset_event", [_dataset_event(key, body)]


def _other_places(at: str, sample: Json) -> Json:
    """Return where else the facet lies -> its body there, None for the same: a facet of datasets is one of both sides."""
    found: Json = dict(sample["also"]) if isinstance(sample.get("also"), dict) and "body" in sample else {}
    places = _places(sample).split()
    if at == "dataset" and all(place.endswith(".facets") for place in places):
        found |= dict.fromkeys({"inputs.facets", "outputs.facets"} - {*places, *found})
    return {place: found[place] for place in sorted(found)}


def _job_event(key: str, sample: Json) -> Json:
    event = _run(f"{key}.job_event", ["shop", "daily.load"], OWN, [ORDERS], [TOTALS])[1]
    del event["run"], event["eventType"]
    event["schemaURL"] = SCHEMA.replace("RunEvent", "JobEvent")
    _attach(event, "job", key, sample)
    return event


def _dataset_event(key: str, body: Json) -> Json:
    event = _run(key, ["shop", "daily.load"], OWN, [], [TOTALS])[1]
    dataset = event.pop("outputs")[0]
    about = {"eventTime": TIMES[1], "producer": OWN, "schemaURL": SCHEMA.replace("RunEvent", "DatasetEvent")}
    return {**about, "dataset": {**dataset, "facets": {key: _with_provenance(key, OWN, body)}}}


def _of_facet(at: str, key: str, sample: Json, *, name: str = "") -> list[Json]:
    needs = sample.get("with", {})
    inputs, outputs = [ORDERS] if needs.get("inputs") else [], [TOTALS] if needs.get("outputs") else []
    if at == "dataset":
        inputs = inputs or ([ORDERS] if "inputs." in _places(sample) else [])
        outputs = [TOTALS] if "outputs." in _places(sample) else []
    start, end = _run(name or f"{key}.{at}", ["shop", "daily.load"], OWN, inputs, outputs)
    end["eventType"] = sample.get("end", "COMPLETE")
    _attach(end, at, key, sample)
    return [start, end]


def _of_producer(name: str, sample: Json, facets: Json) -> list[Json]:
    inputs, outputs = sample.get("inputs", []), sample.get("outputs", [])
    start, end = _run(name, sample["job"], sample.get("producer", OWN), inputs, outputs)
    for at, keys in sample.get("facets", {}).items():
        for key in keys:
            _attach(end, at, key, facets[at][key])
    return [end] if sample.get("single") else [start, end]


def _run(name: str, job: list[str], producer: str, inputs: list[Any], outputs: list[Any]) -> tuple[Json, Json]:
    """Return a bare START, and a COMPLETE with these datasets; the run's id is made from ``name``."""
    about: Json = {
        "producer": producer,
        "schemaURL": SCHEMA,
        "run": {"runId": str(uuid.uuid5(uuid.NAMESPACE_URL, name))},
        "job": {"namespace": job[0], "name": str(job[1])},
    }
    end: Json = json.loads(json.dumps(about))
    for side, datasets in (("inputs", inputs), ("outputs", outputs)):
        if datasets:
            end[side] = [{"namespace": namespace, "name": str(named)} for namespace, named in datasets]
    return (
        {"eventType": "START", "eventTime": TIMES[0], **about},
        {"eventType": "COMPLETE", "eventTime": TIMES[1], **end},
    )


def _attach(event: Json, at: str, key: str, sample: Json) -> None:
    body = _with_provenance(key, event["producer"], sample.get("body", sample))
    if at != "dataset":
        event[at].setdefault("facets", {})[key] = body
        return
    for place in _places(sample).split():
        side, bag = place.split(".")
        for dataset in event.get(side, []):
            dataset.setdefault(bag, {})[key] = body


def _with_provenance(key: str, producer: str, body: Json) -> Json:
    return {"_producer": producer, "_schemaURL": f"https://openlineage.io/spec/facets/{key}.json", **body}


def _places(sample: Json) -> str:
    """Return where a dataset facet lies, as words: ``inputs.inputFacets outputs.facets``."""
    return str(sample.get("place", "outputs.facets"))


def main() -> None:
    """Write the files, and remove those that no sample makes."""
    found = files()
    for path in [*GOLDEN.glob("facets/*.events.json"), *GOLDEN.glob("producers/*.events.json")]:
        if str(path.relative_to(GOLDEN)) not in found:
            path.unlink()
            path.with_name(path.name.replace(".events.json", ".proposals.ndjson")).unlink(missing_ok=True)
    for name, events in found.items():
        path = GOLDEN / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(events, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(found)} files of events\n")


if __name__ == "__main__":
    main()
