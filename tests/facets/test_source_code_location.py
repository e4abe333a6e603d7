"""sourceCodeLocation (job)."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import source_code_location_job
from support.facet_cases import FLOW, JOB, client_pair, facet, of_job, orders, pair, spec, translate_events

BODY = facet(
    type="git", url="https://git.example.com/a/b.py", repoUrl="https://ann:secret@git.example.com/a", path="b.py",
    version="abc", tag="v1", branch="main", pullRequestNumber="7",
)  # fmt: skip


def test_page_is_the_external_url_and_the_rest_is_kept():
    found = of_job("sourceCodeLocation", BODY)
    assert found.patched(JOB, "dataJobInfo")["/externalUrl"] == "https://git.example.com/a/b.py"
    properties = found.properties(JOB)
    assert {key.rpartition(".")[2] for key in properties if key.startswith("sourceCodeLocation")} == {
        "type", "repoUrl", "path", "version", "tag", "branch", "pullRequestNumber",
    }  # fmt: skip
    assert properties["sourceCodeLocation.repoUrl"] == "https://ann:***@git.example.com/a"


def test_facet_of_a_flow_level_job_is_on_the_flow():
    found = translate_events(pair(job={"sourceCodeLocation": BODY}, name="daily"))
    assert found.patched(FLOW, "dataFlowInfo")["/externalUrl"] == "https://git.example.com/a/b.py"


def test_address_that_is_no_page_is_kept():
    found = of_job("sourceCodeLocation", facet(url="git@git.example.com:a/b.git"))
    assert "/externalUrl" not in found.patched(JOB, "dataJobInfo")
    assert found.properties(JOB)["sourceCodeLocation.url"] == "git@git.example.com:a/b.git"


def test_credentials_never_reach_the_page():
    found = of_job("sourceCodeLocation", facet(url="https://ann:secret@git.example.com/a"))
    assert found.patched(JOB, "dataJobInfo")["/externalUrl"] == "https://ann:***@git.example.com/a"


def test_empty_facet_adds_no_properties():
    assert not any(key.startswith("source") for key in of_job("sourceCodeLocation", facet()).properties(JOB))


def test_specification_s_document_is_read():
    found = of_job("sourceCodeLocation", spec("SourceCodeLocationJobFacet")["sourceCodeLocation"])
    assert found.patched(JOB, "dataJobInfo")["/externalUrl"] == "http://example.com"
    assert found.properties(JOB)["sourceCodeLocation.type"] == "git"


def test_client_s_class_is_read():
    made = source_code_location_job.SourceCodeLocationJobFacet(type="git", url="https://x/y", branch="main")
    found = translate_events(client_pair(job={"sourceCodeLocation": made}))
    assert found.patched(JOB, "dataJobInfo")["/externalUrl"] == "https://x/y"
    assert found.properties(JOB)["sourceCodeLocation.branch"] == "main"


@pytest.mark.parametrize(
    ("url", "written"), [("https://git.example.com/a.sql", True), ("git@example.com:a.sql", False)]
)
def test_page_of_the_code_is_that_of_its_checks_too(url, written):
    bag = {"dataQualityAssertions": facet(assertions=[{"assertion": "unique", "column": "id", "success": True}])}
    found = translate_events(
        pair(job={"sourceCodeLocation": facet(type="git", url=url)}, inputs=[orders(inputFacets=bag)])
    )
    (info,) = (one.value for one in found.proposals if one.aspect_name == "assertionInfo")
    assert info.get("externalUrl") == (url if written else None)
