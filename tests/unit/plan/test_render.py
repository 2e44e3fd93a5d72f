from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.plan.render import to_document, to_mermaid, to_rows
from support.plan_documents import accepted, document, planned

APP = document(
    [
        {"name": "by", "from": "in", "partitionBy": {"key": "k"}},
        {"name": "look", "from": "by", "joinTable": {"table": "t", "on": "k"}},
        {"name": "fill", "from": "look", "sendToTable": "u"},
        {"name": "again", "from": "by", "joinTable": {"table": "u", "on": "k"}},
        {"name": "o", "from": "again", "sendTo": "out"},
    ],
    streams={"in": "k string", "side": "k string, v int", "out": {}},
    tables={"t": {"key": "k", "sideInputs": ["side"]}, "u": {"key": "k", "schema": "k string, v int"}},
)


def test_the_document_of_an_accepted_app():
    result = planned(APP, {"in": 2, "side": 3})
    document_ = to_document(result, build_job_model(result.plan, processors={"0": "node-a"}).to_document())
    assert document_["accepted"] is True
    assert document_["problems"] == []
    assert document_["warnings"] == []
    assert document_["mode"] == "streaming"
    assert document_["timeZone"] == "UTC"
    assert document_["streams"]["by"] == {
        "role": "intermediate",
        "system": "log",
        "partitions": 3,
        "initialPartitions": 3,
        "rule": "joined",
        "producers": ["in"],
        "consumers": ["again", "look"],
    }
    assert document_["joinGroups"] == [
        {"operator": "again", "streams": ["by"]},
        {"operator": "look", "streams": ["by", "side"]},
    ]
    model = document_["jobModel"]
    assert model["processors"] == {"0": {"location": "node-a"}}
    assert model["tasks"]["Partition 2"] == {
        "ssps": [["log", "by", 2], ["log", "side", 2]],
        "changelogPartition": 2,
        "processor": "0",
    }


def test_the_document_of_a_refused_app_has_its_problems_and_no_job_model():
    app = document([{"name": "o", "from": "in", "sendTo": "out"}], streams={"in": "k string"})
    document_ = to_document(planned(app), None)
    assert (document_["accepted"], document_["jobModel"]) == (False, None)
    (problem,) = document_["problems"]
    assert (problem["path"], problem["code"]) == ("spec.operators[0].sendTo", "UnknownStream")


def test_the_table_goes_by_role():
    rows = to_rows(accepted(APP, {"in": 2, "side": 3}))
    assert [(row.stream, row.partitions, row.rule) for row in rows] == [
        ("in", "2", "given"),
        ("out", "1", "given"),
        ("by", "3", "joined"),
        ("side", "3", "given"),
    ]


def test_the_diagram_has_every_edge_and_dots_those_of_tables():
    lines = to_mermaid(accepted(APP, {"in": 2, "side": 3})).splitlines()
    assert lines[0] == "flowchart LR"
    edges = {line.strip() for line in lines if "->" in line}
    assert edges == {
        "s_in --> o_by",
        "o_by --> o_look",
        "o_by --> o_again",
        "o_look --> o_fill",
        "o_fill -.-> t_u",
        "t_u -.-> o_again",
        "t_t -.-> o_look",
        "s_side -.-> t_t",
        "o_again --> o_o",
        "o_o --> s_out",
    }
    assert '  o_by[["by<br/>partitionBy, 3 partitions"]]' in lines
