"""assertionRunEvent: what a run measured stands beside its results."""

from __future__ import annotations

from support.facet_cases import event, facet, orders, translate_events

from dh_bridge.render import assertions

COLUMNS = [f"c{number}" for number in range(40)]


def checked():
    """Forty columns, each measured and checked."""
    metrics = {name: {"nullCount": number} for number, name in enumerate(COLUMNS)}
    checks = [{"assertion": "not_null", "column": name, "success": True} for name in COLUMNS]
    bags = {
        "dataQualityMetrics": facet(rowCount=90, columnMetrics=metrics),
        "dataQualityAssertions": facet(assertions=checks),
    }
    return translate_events(event(inputs=[orders(inputFacets=bags)]))


def test_each_result_has_the_row_count_and_its_null_count():
    results = [one.value["result"] for one in checked().proposals if one.aspect_name == "assertionRunEvent"]
    assert sorted(result["missingCount"] for result in results) == list(range(40))
    assert {result["rowCount"] for result in results} == {90}


def test_dataset_metrics_are_collected_once_for_all_checks(monkeypatch):
    looked, look = [], assertions._metrics_by_path
    monkeypatch.setattr(assertions, "_metrics_by_path", lambda slots: looked.append(1) or look(slots))
    checked()
    assert len(looked) == 1
