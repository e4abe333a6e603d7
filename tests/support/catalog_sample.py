"""A small shop: raw files -> load -> orders -> report -> totals, with columns, runs and people."""

from __future__ import annotations

from dh_bridge.datahub.proposal import patch, upsert

FLOW = "urn:li:dataFlow:(airflow,shop,prod)"
LOAD = f"urn:li:dataJob:({FLOW},shop.load)"
REPORT = f"urn:li:dataJob:({FLOW},shop.report)"
RAW = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/raw,PROD)"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
TOTALS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.totals,PROD)"
DAG_RUN = "urn:li:dataProcessInstance:dag-1"
RUN = "urn:li:dataProcessInstance:load-1"
LATER = "urn:li:dataProcessInstance:load-2"
NOON = 1_700_000_000_000


def field(dataset, name):
    return f"urn:li:schemaField:({dataset},{name})"


def esc(segment):
    return segment.replace("~", "~0").replace("/", "~1")


def edge(side, urn):
    return {"op": "add", "path": f"/{side}DatasetEdges/{esc(urn)}", "value": {"destinationUrn": urn}}


def column(up, down, operation="NONE"):
    path = "/".join(["", "fineGrainedLineages", operation, esc(down), "NONE", esc(up)])
    return {"op": "add", "path": path, "value": {"confidenceScore": 1.0}}


def job(urn, name):
    operations = [
        {"op": "add", "path": "/name", "value": name},
        {"op": "add", "path": "/type", "value": {"string": "airflow"}},
        {"op": "add", "path": "/customProperties/openlineage.job.namespace", "value": "prod"},
        {"op": "add", "path": "/customProperties/openlineage.job.name", "value": f"shop.{name}"},
    ]
    return patch("dataJob", urn, "dataJobInfo", operations)


def io(urn, *operations):
    return patch("dataJob", urn, "dataJobInputOutput", list(operations))


def point(urn, time, status, message=None, **more):
    value = {
        "timestampMillis": time,
        "partitionSpec": {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE"},
        "messageId": message or f"{urn}{time}",
        "status": status,
        **more,
    }
    return upsert("dataProcessInstance", urn, "dataProcessInstanceRunEvent", value)


def run(urn, name, start, template, *, parent=None):
    stamp = {"time": start, "actor": "urn:li:corpuser:airflow"}
    properties = {"customProperties": {}, "externalUrl": f"https://airflow/{name}", "name": name, "created": stamp}
    related = {"parentTemplate": template, "upstreamInstances": []} | ({"parentInstance": parent} if parent else {})
    return [
        upsert("dataProcessInstance", urn, "dataProcessInstanceProperties", properties),
        upsert("dataProcessInstance", urn, "dataProcessInstanceRelationships", related),
    ]


def shop():
    flow = [
        {"op": "add", "path": "/name", "value": "shop"},
        {"op": "add", "path": "/customProperties/openlineage.job.name", "value": "shop"},
    ]
    raw = [
        {"op": "add", "path": "/customProperties/openlineage.namespace", "value": "s3://lake"},
        {"op": "add", "path": "/customProperties/openlineage.name", "value": "raw"},
    ]
    success = {"type": "SUCCESS", "nativeResultType": "airflow"}
    failure = {"type": "FAILURE", "nativeResultType": "airflow"}
    return [
        patch("dataFlow", FLOW, "dataFlowInfo", flow),
        job(LOAD, "load"),
        job(REPORT, "report"),
        patch("dataset", RAW, "datasetProperties", raw),
        io(
            LOAD,
            edge("input", RAW),
            edge("output", ORDERS),
            column(field(RAW, "id"), field(ORDERS, "id")),
            column(field(RAW, "sum"), field(ORDERS, "total"), "CAST"),
        ),
        io(
            REPORT,
            edge("input", ORDERS),
            edge("output", TOTALS),
            column(field(ORDERS, "total"), field(TOTALS, "total"), "SUM"),
        ),
        *run(DAG_RUN, "scheduled__1", NOON, FLOW),
        point(DAG_RUN, NOON, "STARTED"),
        *run(RUN, "load_1", NOON + 1000, LOAD, parent=DAG_RUN),
        upsert("dataProcessInstance", RUN, "dataProcessInstanceInput", {"inputs": [RAW]}),
        upsert("dataProcessInstance", RUN, "dataProcessInstanceOutput", {"outputs": [ORDERS]}),
        point(RUN, NOON + 1000, "STARTED", attempt=1),
        point(RUN, NOON + 61_000, "COMPLETE", result=success, attempt=1, durationMillis=60_000),
        *run(LATER, "load_2", NOON + 90_000, LOAD),
        point(LATER, NOON + 90_000, "STARTED", attempt=2),
        point(LATER, NOON + 99_000, "COMPLETE", result=failure, attempt=2, durationMillis=9_000),
        upsert("dataset", ORDERS, "status", {"removed": False}),
    ]
