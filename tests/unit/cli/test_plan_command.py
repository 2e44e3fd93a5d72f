import json
import sys

import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app
from support.apps import stateless

FIVE = """
apiVersion: streamapp.dev/v1alpha1
kind: StreamApp
metadata: {name: delays}
spec:
  systems: {kafka: {kafka: {bootstrapServers: "kafka:9092"}}}
  defaultSystem: kafka
  streams:
    flights: {system: kafka, schema: "carrier string, delay double", key: carrier}
    out: {system: kafka}
  operators:
    - {name: late, from: flights, filter: "dely > 15"}
    - {name: by-hour, from: late, window: {tumbling: 1 hour, by: [carrier], select: "count(*) as n"}}
    - {name: sent, from: by-hour, sendTo: oot}
    - {name: all, from: flights, sendTo: out}
    - {name: Copy, from: flights, sendTo: out}
  job: {commitInterval: 2s, gracePeriod: 5m}
"""
STREAMS = {"flights": {"partitions": 4}, "out": {"partitions": 2}}
PROBLEMS = [
    ("spec.job.gracePeriod", "InvalidSpec"),
    ("spec.operators[0].filter", "UnknownColumn"),
    ("spec.operators[1].window.tumbling", "InvalidSpec"),
    ("spec.operators[2].sendTo", "UnknownStream"),
    ("spec.operators[4].name", "InvalidName"),
]


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(text, *options):
        (tmp_path / "app.yaml").write_text(text)
        (tmp_path / "streams.json").write_text(json.dumps(STREAMS))
        return CliRunner().invoke(app, ["plan", "app.yaml", "--streams", "streams.json", *options])

    return run


def test_five_mistakes_are_five_problems(plan):
    result = plan(FIVE, "--output", "json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert [(problem["path"], problem["code"]) for problem in document["problems"]] == PROBLEMS
    assert (document["accepted"], document["jobModel"]) == (False, None)


def test_mistakes_are_told_although_no_broker_answers(tmp_path):
    (tmp_path / "app.yaml").write_text(FIVE.replace("kafka:9092", "127.0.0.1:1"))
    result = CliRunner().invoke(app, ["plan", str(tmp_path / "app.yaml"), "--output", "json"])
    assert result.exit_code == 1
    assert [(found["path"], found["code"]) for found in json.loads(result.stdout)["problems"]] == PROBLEMS
    assert "can't be described" in result.stderr
    assert "--streams STREAMS.json" in result.stderr


def test_five_mistakes_are_told_to_people(plan):
    result = plan(FIVE)
    assert result.exit_code == 1
    assert "5 problems" in result.stdout
    for path, code in PROBLEMS:
        assert f"{path}  {code}" in result.stdout
    assert "did you mean `delay`?" in result.stdout


def test_an_accepted_plan_has_a_job_model_that_plans_again(plan, tmp_path):
    text = json.dumps(stateless("kafka"))
    first = json.loads(plan(text, "--output", "json").stdout)
    assert first["accepted"]
    (tmp_path / "model.json").write_text(json.dumps(first["jobModel"]))
    again = json.loads(plan(text, "--output", "json", "--previous", "model.json").stdout)
    assert again["jobModel"] == first["jobModel"]


def test_an_accepted_plan_shows_its_warnings(plan):
    document = stateless("kafka")
    document["spec"]["operators"][1:] = [
        {"name": "keyed", "from": "late", "partitionBy": {"key": "carrier"}},
        {"name": "once", "from": "keyed", "dedup": {"by": ["carrier"]}},
        {"name": "sent", "from": "once", "sendTo": "out"},
    ]
    result = plan(json.dumps(document))
    assert result.exit_code == 0, result.stdout
    assert "spec.operators[2].dedup  StateGrows" in result.stdout
    assert "repair: set `within`" in result.stdout


def test_an_output_that_is_read_is_not_looked_for(plan):
    document = stateless("file")
    document["spec"]["operators"][-1]["sendTo"] = "flights"
    result = plan(json.dumps(document))
    assert result.exit_code == 1
    assert "OutputReadBack" in result.stdout
    assert "StreamNotFound" not in result.stdout


def test_a_repair_is_printed_once(plan):
    document = stateless("kafka")
    document["spec"]["operators"][1:] = [
        {"name": "counted", "from": "late", "aggregate": {"by": ["carrier"], "select": "count(*) as n"}},
        {"name": "sent", "from": "counted", "sendTo": "out"},
    ]
    output = plan(json.dumps(document)).stdout
    assert output.count("put a partitionBy by `carrier`") == 1
    assert "repair: put a partitionBy by `carrier`" in output


def test_live_processors_take_the_tasks(plan, tmp_path):
    (tmp_path / "processors.json").write_text('{"a": {"location": "node-1"}, "b": {"location": "node-2"}}')
    document = json.loads(
        plan(json.dumps(stateless("kafka")), "--output", "json", "--processors", "processors.json").stdout
    )
    assert {task["processor"] for task in document["jobModel"]["tasks"].values()} == {"a", "b"}


def test_a_picture_names_every_stream(plan):
    picture = plan(json.dumps(stateless("kafka")), "--output", "mermaid").stdout
    assert picture.startswith("flowchart LR")
    assert "flights" in picture
    assert "out" in picture


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("kind: Pod\napiVersion: v1\n", "no StreamApp but Pod"),
        ("- 1\n", "no StreamApp"),
        ("a: [", "no valid YAML"),
        ("", "empty"),
    ],
)
def test_what_is_no_streamapp_is_a_usage_error(plan, text, why):
    result = plan(text)
    assert result.exit_code == 2
    assert why in result.stderr
    assert "app.yaml" in result.stderr


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("streams.json", '{"flights": 4}', 'as in {"orders": {"partitions": 4}}: flights: it is no object'),
        ("streams.json", "{", "no valid JSON"),
        ("missing.json", None, "No such file"),
    ],
)
def test_a_file_that_can_not_be_used_is_named(tmp_path, name, content, why):
    (tmp_path / "app.yaml").write_text(json.dumps(stateless("kafka")))
    if content is not None:
        (tmp_path / name).write_text(content)
    result = CliRunner().invoke(app, ["plan", str(tmp_path / "app.yaml"), "--streams", str(tmp_path / name)])
    assert result.exit_code == 2
    assert name in result.stderr
    assert why in result.stderr


def test_a_system_that_can_not_be_asked_says_how_to_plan_without(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMAPP_KAFKA_TIMEOUT", "0.3")
    (tmp_path / "app.yaml").write_text(json.dumps(stateless("kafka")))
    result = CliRunner().invoke(app, ["plan", str(tmp_path / "app.yaml")])
    assert result.exit_code == 2
    assert "--streams" in result.stderr


def test_a_missing_journal_is_a_problem_beside_others_and_nothing_is_asked(tmp_path):
    document = stateless("file")
    document["spec"]["systems"]["in"] = {"folder": {"path": "s3://bucket/landing"}}
    document["spec"]["streams"]["flights"] |= {"system": "in"}
    document["spec"]["operators"][0]["filter"] = "dely > 15"
    (tmp_path / "app.yaml").write_text(json.dumps(document))
    result = CliRunner().invoke(app, ["plan", str(tmp_path / "app.yaml"), "--output", "json"])
    assert result.exit_code == 1
    paths = [problem["path"] for problem in json.loads(result.stdout)["problems"]]
    assert paths == ["spec.operators[0].filter", "spec.systems.in.folder.journal"]


def with_function(function="planned_code:twice", **spec):
    document = stateless("file")
    document["spec"]["operators"].insert(
        0, {"name": "made", "from": "flights", "process": {"function": function, "schema": "carrier string, delay int"}}
    )
    document["spec"]["operators"][1]["from"] = "made"
    document["spec"] |= spec
    return document


def plan_here(folder, document, *options):
    (folder / "flights").mkdir(exist_ok=True)
    (folder / "flights" / "1.csv").write_text("carrier,delay\nAA,20\n")
    (folder / "app.yaml").write_text(json.dumps(document))
    return CliRunner().invoke(app, ["plan", str(folder / "app.yaml"), *options])


@pytest.mark.parametrize(
    "spec, function, refused",
    [
        ({"pyFiles": ["gone.zip"]}, "planned_code:twice", "spec.pyFiles[0]  InvalidSpec"),
        ({}, "planned_code:thrice", "spec.operators[0].process.function  InvalidSpec"),
        ({}, "no_such_code:twice", "spec.operators[0].process.function  InvalidSpec"),
    ],
)
def test_code_that_a_run_here_would_not_find_is_refused_and_noted_where_the_app_may_run_elsewhere(
    tmp_path, spec, function, refused
):
    (tmp_path / "planned_code.py").write_text("def twice(rows):\n    yield rows\n")
    result = plan_here(tmp_path, with_function(function, **spec))
    assert result.exit_code == 1
    assert refused in result.stdout
    (tmp_path / "streams.json").write_text('{"flights": {"partitions": 1}, "out": {"partitions": 1}}')
    offline = plan_here(tmp_path, with_function(function, **spec), "--streams", str(tmp_path / "streams.json"))
    assert offline.exit_code == 0
    assert f"not found here, so not checked: {refused.split()[0]}: " in offline.stderr


def test_code_that_is_there_is_looked_at_and_left_as_it_was(tmp_path):
    (tmp_path / "planned_code.py").write_text("def twice(rows):\n    yield rows\n")
    before = list(sys.path)
    assert plan_here(tmp_path, with_function()).exit_code == 0
    assert sys.path == before
    assert "planned_code" not in sys.modules


def test_a_cluster_s_defaults_are_below_the_spec_and_shown(plan, tmp_path):
    document = stateless("kafka")
    document["spec"]["job"] = {"commitInterval": "2s"}
    right = json.dumps(document)
    (tmp_path / "defaults.yaml").write_text("job: {commitInterval: 5s, watermarkInterval: 1s}")
    shown = plan(right, "--defaults", "defaults.yaml")
    assert 'defaults of the cluster: {"job": {"watermarkInterval": "1s"}}' in shown.stdout
    document = json.loads(plan(right, "--defaults", "defaults.yaml", "--output", "json").stdout)
    assert document["defaults"] == {"job": {"watermarkInterval": "1s"}}
    assert "defaults" not in json.loads(plan(right, "--output", "json").stdout)
    (tmp_path / "defaults.yaml").write_text("runId: r1")
    refused = plan(right, "--defaults", "defaults.yaml")
    assert refused.exit_code == 2
    assert "no default for runId" in refused.stderr
    found = plan(FIVE, "--defaults", "defaults.yaml")
    assert found.exit_code == 2
