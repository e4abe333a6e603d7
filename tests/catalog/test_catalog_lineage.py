from __future__ import annotations

import json

import pytest
from support.catalog_sample import FLOW, LOAD, ORDERS, RAW, REPORT, RUN, TOTALS, edge, field, io, job, shop

from dh_bridge.catalog.drawing import to_dot, to_mermaid
from dh_bridge.catalog.lineage import lineage_tree, to_json
from dh_bridge.datahub.proposal import patch, upsert

GOLDEN_DOT = f"""digraph lineage {{
  rankdir=LR;
  "{LOAD}" [label="shop.load", shape=box, style="bold"];
  "{RAW}" [label="lake/raw", shape=cylinder];
  "{ORDERS}" [label="shop.public.orders", shape=cylinder];
  "{RAW}" -> "{LOAD}";
  "{LOAD}" -> "{ORDERS}";
}}
"""


def names(nodes, side):
    """Return the tree below as nested tuples of names, marks appended."""
    return [(f"{node.name} {node.mark}".strip(), names(getattr(node, side), side)) for node in nodes]


@pytest.fixture
def shop_catalog(catalog):
    catalog.apply(shop())
    return catalog


def test_upstream_goes_through_jobs_to_their_inputs(shop_catalog):
    root = lineage_tree(shop_catalog, TOTALS, direction="up")
    assert (root.urn, root.type, root.downstream) == (TOTALS, "dataset", [])
    assert names(root.upstream, "upstream") == [
        ("shop.report", [("shop.public.orders", [("shop.load", [("lake/raw", [])])])])
    ]


def test_downstream_lineage_follows_jobs_to_their_outputs(shop_catalog):
    root = lineage_tree(shop_catalog, RAW, direction="down")
    assert root.upstream == []
    assert names(root.downstream, "downstream") == [
        ("shop.load", [("shop.public.orders", [("shop.report", [("shop.public.totals", [])])])])
    ]


def test_lineage_of_a_middle_dataset_has_both_directions(shop_catalog):
    root = lineage_tree(shop_catalog, ORDERS)
    assert names(root.upstream, "upstream") == [("shop.load", [("lake/raw", [])])]
    assert names(root.downstream, "downstream") == [("shop.report", [("shop.public.totals", [])])]
    assert root.upstream[0].via == ["dataJobInputOutput"]


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (0, []),
        (1, [("shop.report deeper", [])]),
        (2, [("shop.report", [("shop.public.orders deeper", [])])]),
        (4, [("shop.report", [("shop.public.orders", [("shop.load", [("lake/raw", [])])])])]),
    ],
)
def test_depth_counts_entities_and_marks_the_rest(shop_catalog, depth, expected):
    assert names(lineage_tree(shop_catalog, TOTALS, direction="up", depth=depth).upstream, "upstream") == expected


def test_cycle_is_marked_and_not_followed(catalog):
    catalog.apply(
        [io(LOAD, edge("input", RAW), edge("output", ORDERS)), io(REPORT, edge("input", ORDERS), edge("output", RAW))]
    )
    assert names(lineage_tree(catalog, RAW, direction="down").downstream, "downstream") == [
        ("shop.load", [("shop.public.orders", [("shop.report", [("lake/raw cycle", [])])])])
    ]
    itself = "urn:li:dataJob:(urn:li:dataFlow:(airflow,x,prod),x.self)"
    catalog.apply([io(itself, edge("input", TOTALS), edge("output", TOTALS))])
    assert names(lineage_tree(catalog, TOTALS, direction="up").upstream, "upstream") == [
        ("x.self", [("shop.public.totals cycle", [])])
    ]


def test_entity_reached_twice_is_expanded_once_where_nearest(catalog):
    other = LOAD.replace("load", "other")
    catalog.apply(
        [
            io(LOAD, edge("input", RAW), edge("output", ORDERS)),
            io(other, edge("input", ORDERS), edge("input", RAW), edge("output", TOTALS)),
        ]
    )
    assert names(lineage_tree(catalog, TOTALS, direction="up").upstream, "upstream") == [
        ("shop.other", [("shop.public.orders", [("shop.load", [("lake/raw again", [])])]), ("lake/raw", [])])
    ]


def test_lineage_links_datasets_and_jobs_directly(catalog):
    stamp = {"time": 0, "actor": "urn:li:corpuser:x"}
    value = {"upstreams": [{"dataset": RAW, "type": "COPY", "auditStamp": stamp}]}
    depends = {"op": "add", "path": f"/inputDatajobEdges/{LOAD}", "value": {"destinationUrn": LOAD}}
    catalog.apply([upsert("dataset", ORDERS, "upstreamLineage", value), io(REPORT, depends)])
    [up] = lineage_tree(catalog, ORDERS, direction="up").upstream
    assert (up.urn, up.via) == (RAW, ["upstreamLineage"])
    assert [node.urn for node in lineage_tree(catalog, LOAD).downstream] == [REPORT]


def test_columns_are_shown_on_the_links(shop_catalog):
    root = lineage_tree(shop_catalog, TOTALS, direction="up", columns=True)
    [report] = root.upstream
    [orders] = report.upstream
    [load] = orders.upstream
    [raw] = load.upstream
    assert [(one.upstream, one.downstream, one.operation) for one in report.columns] == [
        (field(ORDERS, "total"), field(TOTALS, "total"), "SUM")
    ]
    assert orders.columns == report.columns
    assert [one.downstream for one in load.columns] == [field(ORDERS, "id"), field(ORDERS, "total")]
    assert [one.upstream for one in raw.columns] == [field(RAW, "id"), field(RAW, "sum")]
    assert lineage_tree(shop_catalog, TOTALS, direction="up").upstream[0].columns == []


def test_no_columns_are_on_a_link_between_jobs(shop_catalog):
    depends = {"op": "add", "path": f"/inputDatajobEdges/{LOAD}", "value": {"destinationUrn": LOAD}}
    shop_catalog.apply([io(REPORT, depends)])
    links = {
        node.urn: node.columns for node in lineage_tree(shop_catalog, REPORT, direction="up", columns=True).upstream
    }
    assert links[LOAD] == []
    assert links[ORDERS] != []


def test_columns_of_another_dataset_are_not_on_a_link(shop_catalog):
    down = lineage_tree(shop_catalog, RAW, direction="down", columns=True)
    [load] = down.downstream
    assert {one.upstream for one in load.columns} == {field(RAW, "id"), field(RAW, "sum")}
    shop_catalog.apply([io(LOAD, edge("input", TOTALS))])
    links = {node.urn: node.columns for node in lineage_tree(shop_catalog, LOAD, direction="up", columns=True).upstream}
    assert links[TOTALS] == []
    assert len(links[RAW]) == 2


def test_direct_link_has_the_columns_of_the_downstream_dataset(catalog):
    stamp = {"time": 0, "actor": "urn:li:corpuser:x"}
    entry = {
        "upstreamType": "FIELD_SET",
        "upstreams": [field(RAW, "a")],
        "downstreamType": "FIELD",
        "downstreams": [field(ORDERS, "b")],
    }
    whole = entry | {"upstreamType": "DATASET", "upstreams": [RAW]}
    value = {
        "upstreams": [{"dataset": RAW, "type": "COPY", "auditStamp": stamp}],
        "fineGrainedLineages": [entry, whole, entry | {"upstreams": [field(TOTALS, "c")]}],
    }
    catalog.apply([upsert("dataset", ORDERS, "upstreamLineage", value)])
    [raw] = lineage_tree(catalog, ORDERS, direction="up", columns=True).upstream
    [orders] = lineage_tree(catalog, RAW, direction="down", columns=True).downstream
    assert raw.columns == orders.columns
    assert [one.upstream for one in raw.columns] == [RAW, field(RAW, "a")]


def test_column_lineage_tree_names_columns_with_their_dataset(shop_catalog):
    root = lineage_tree(shop_catalog, field(TOTALS, "total"), direction="up")
    assert names([root], "upstream") == [
        ("shop.public.totals.total", [("shop.public.orders.total", [("lake/raw.sum", [])])])
    ]
    assert root.upstream[0].urn == field(ORDERS, "total")
    assert root.upstream[0].via == [REPORT]
    down = lineage_tree(shop_catalog, field(RAW, "sum"), direction="down")
    assert names(down.downstream, "downstream") == [("shop.public.orders.total", [("shop.public.totals.total", [])])]


def test_soft_deleted_entity_is_marked_in_lineage(shop_catalog):
    shop_catalog.apply([upsert("dataset", RAW, "status", {"removed": True})])
    [load] = lineage_tree(shop_catalog, ORDERS, direction="up").upstream
    assert load.upstream[0].removed
    assert not load.removed
    assert 'style="dashed"' in to_dot(lineage_tree(shop_catalog, ORDERS, direction="up"))


def test_unknown_entity_has_no_lineage(catalog):
    assert to_json(lineage_tree(catalog, ORDERS)) == {"urn": ORDERS, "type": "dataset", "name": "shop.public.orders"}
    assert to_json(lineage_tree(catalog, "no urn", columns=True)) == {"urn": "no urn", "type": "", "name": "no urn"}


def test_lineage_of_a_run_has_datasets_only_if_edges_name_them(shop_catalog):
    parents = lineage_tree(shop_catalog, RUN, depth=1).upstream
    assert {(node.type, *node.via) for node in parents} == {("dataProcessInstance", "ChildOf")}
    value = {"inputs": [RAW], "inputEdges": [{"destinationUrn": RAW}]}
    shop_catalog.apply([upsert("dataProcessInstance", RUN, "dataProcessInstanceInput", value)])
    upstream = lineage_tree(shop_catalog, RUN, depth=1).upstream
    assert [node.urn for node in upstream if node.type == "dataset"] == [RAW]


def test_json_is_plain_and_leaves_out_what_is_empty(shop_catalog):
    plain = json.loads(json.dumps(to_json(lineage_tree(shop_catalog, TOTALS, direction="up", depth=1, columns=True))))
    assert plain == {
        "urn": TOTALS,
        "type": "dataset",
        "name": "shop.public.totals",
        "upstream": [
            {
                "urn": REPORT,
                "type": "dataJob",
                "name": "shop.report",
                "via": ["dataJobInputOutput"],
                "mark": "deeper",
                "columns": [
                    {"upstream": field(ORDERS, "total"), "downstream": field(TOTALS, "total"), "operation": "SUM"}
                ],
            }
        ],
    }


def test_dot_arrows_follow_the_data(shop_catalog):
    assert to_dot(lineage_tree(shop_catalog, LOAD, depth=1)) == GOLDEN_DOT


def test_mermaid_does_too(shop_catalog):
    assert to_mermaid(lineage_tree(shop_catalog, LOAD, depth=1, columns=True)) == (
        "flowchart LR\n"
        '  n0["shop.load"]\n'
        '  n1[("lake/raw")]\n'
        '  n2[("shop.public.orders")]\n'
        '  n1 -->|"id → id<br/>sum → total"| n0\n'
        '  n0 -->|"id → id<br/>sum → total"| n2\n'
    )


def test_graph_output_has_each_entity_and_link_once(catalog):
    catalog.apply(
        [io(LOAD, edge("input", RAW), edge("output", ORDERS)), io(REPORT, edge("input", ORDERS), edge("output", RAW))]
    )
    root = lineage_tree(catalog, RAW)
    assert to_dot(root).count(" -> ") == 4
    assert to_mermaid(root).count(" --> ") == 4
    assert to_dot(root).count("[label=") == 4


def test_job_that_feeds_itself_is_an_arrow_to_itself(catalog):
    depends = {"op": "add", "path": f"/inputDatajobEdges/{LOAD}", "value": {"destinationUrn": LOAD}}
    catalog.apply([io(LOAD, depends)])
    assert f'"{LOAD}" -> "{LOAD}";' in to_dot(lineage_tree(catalog, LOAD))
    assert "n0 --> n0" in to_mermaid(lineage_tree(catalog, LOAD))


def test_names_cannot_break_out_of_a_picture(catalog):
    nasty = 'a"]; b\n#1 <b>`c` \\'
    flow = [{"op": "add", "path": "/name", "value": "shop"}]
    catalog.apply([patch("dataFlow", FLOW, "dataFlowInfo", flow), job(LOAD, nasty)])
    root = lineage_tree(catalog, LOAD)
    assert 'label="shop.a\\"]; b\\n#1 <b>`c` \\\\"' in to_dot(root)
    assert 'n0["shop.a#34;]; b #35;1 #60;b#62;#96;c#96; \\"]' in to_mermaid(root)


def test_deep_chain_is_no_trouble(catalog):
    def dataset(number):
        return f"urn:li:dataset:(urn:li:dataPlatform:x,{number:04},PROD)"

    def stage(number):
        return f"urn:li:dataJob:(urn:li:dataFlow:(airflow,x,prod),x.{number:04})"

    catalog.apply([io(stage(at), edge("input", dataset(at)), edge("output", dataset(at + 1))) for at in range(300)])
    root = lineage_tree(catalog, dataset(300), direction="up", depth=10_000)
    assert to_dot(root).count(" -> ") == 600
    assert to_mermaid(root).count(" --> ") == 600
