import json

import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app
from streamapp_core.job_model.build_job_model import build_job_model
from support.edits import COUNTS, edited, running
from support.plan_documents import accepted

STREAMS = {name: {"partitions": partitions} for name, partitions in COUNTS.items()}


@pytest.fixture
def diff(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "streams.json").write_text(json.dumps(STREAMS))

    def run(*changes, options=(), old=None, new=None):
        (tmp_path / "old.yaml").write_text(json.dumps(running()) if old is None else old)
        (tmp_path / "new.yaml").write_text(json.dumps(edited(running(), *changes)) if new is None else new)
        return CliRunner().invoke(app, ["diff", "old.yaml", "new.yaml", "--streams", "streams.json", *options])

    return run


def test_an_accepted_edit_is_told_to_people(diff):
    result = diff(("processors/count", 3), ("operators/late/filter", "delay > 30"))
    assert result.exit_code == 0
    assert result.stdout.startswith("app: restart: the app makes a final commit")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["spec.operators[late].filter", "restart", "delay", ">", "15", "delay", ">", "30"] in lines
    assert ["spec.processors.count", "rescale", "2", "3"] in lines
    assert "processor 0 has its share of tasks; placed on processor 2" in result.stdout


def test_an_accepted_edit_is_told_to_programs(diff):
    again = {"name": "again", "from": "named", "partitionBy": {"key": "late"}}
    copied = {"name": "copied", "from": "again", "sendTo": "by-model"}
    result = diff(
        ("operators/again", again),
        ("operators/copied", copied),
        ("processors/count", 3),
        options=["--output", "json"],
    )
    document = json.loads(result.stdout)
    assert (result.exit_code, document["accepted"], document["class"]) == (0, True, "restart")
    assert document["edits"][0] == {
        "path": "spec.operators[again]",
        "before": None,
        "after": {"from": "named", "partitionBy": {"key": "late"}},
        "class": "restart",
    }
    assert [(move["task"], move["from"], move["to"]) for move in document["movedTasks"]] == [
        ("Partition 3", "0", "2"),
        ("Partition 7", "1", "2"),
    ]
    assert document["newStreams"] == [
        {"stream": "again", "system": "log", "name": "default.app.r1.again", "partitions": 8}
    ]


def test_a_refused_edit_is_told_with_its_problems(diff):
    changes = ("job/grouper", "stream-partition"), ("operators/late/filter", "dely > 15")
    result = diff(*changes)
    assert result.exit_code == 1
    assert "3 problems" in result.stdout
    assert "spec.job.grouper  RunIdRequired" in result.stdout
    document = json.loads(diff(*changes, options=["--output", "json"]).stdout)
    assert [problem["code"] for problem in document["problems"]] == [
        "GrouperUnsupported",
        "RunIdRequired",
        "UnknownColumn",
    ]
    assert (document["accepted"], document["movedTasks"], document["newStreams"]) == (False, [], [])


def test_the_active_job_model_says_where_tasks_are(diff, tmp_path):
    model = build_job_model(accepted(running(), COUNTS), None, {"a": "node-1", "b": "node-2"})
    (tmp_path / "model.json").write_text(json.dumps(model.to_document()))
    result = diff(("processors/count", 1), options=["--previous", "model.json", "--output", "json"])
    assert {(move["from"], move["to"]) for move in json.loads(result.stdout)["movedTasks"]} == {("b", "a")}


def test_of_many_moves_people_see_the_first(diff, tmp_path):
    (tmp_path / "streams.json").write_text(
        json.dumps({**STREAMS, "flights": {"partitions": 64}, "planes": {"partitions": 64}})
    )
    result = diff(("processors/count", 1))
    assert "and 12 more tasks move" in result.stdout


def test_an_app_without_edits_goes_on_undisturbed(diff):
    assert diff().stdout.strip() == "app: none: the app keeps running undisturbed"


def test_without_counts_the_systems_are_asked(diff, tmp_path):
    (tmp_path / "old.yaml").write_text(json.dumps(running()))
    (tmp_path / "new.yaml").write_text(json.dumps(edited(running(), ("image", "app:2"))))
    result = CliRunner().invoke(app, ["diff", "old.yaml", "new.yaml"])
    assert result.exit_code == 0
    assert "spec.image" in result.stdout


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("a: [", None, "old.yaml: no valid YAML"),
        (None, "kind: Pod", "new.yaml: no StreamApp but Pod"),
        (json.dumps(edited(running(), ("imaje", "x"))), None, "old.yaml has problems"),
        (json.dumps(edited(running(), ("operators/late/filter", "x"))), None, "old.yaml is refused"),
        (None, json.dumps({**running(), "metadata": {"name": "other"}}), "they are two apps"),
    ],
)
def test_files_that_can_not_be_compared_are_usage_errors(diff, old, new, why):
    result = diff(old=old, new=new)
    assert result.exit_code == 2
    assert why in result.stderr


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ({"schemaVersion": 99}, "a later release wrote it; upgrade"),
        ({"version": 1}, "no job model: runId"),
        ("{", "no valid JSON"),
    ],
)
def test_a_job_model_that_can_not_be_used_is_a_usage_error(diff, tmp_path, model, why):
    (tmp_path / "model.json").write_text(model if isinstance(model, str) else json.dumps(model))
    result = diff(options=["--previous", "model.json"])
    assert result.exit_code == 2
    assert "model.json" in result.stderr
    assert why in result.stderr


def test_a_damaged_job_model_is_a_usage_error(diff, tmp_path):
    model = build_job_model(accepted(running(), COUNTS)).to_document()
    del model["tasks"]["Partition 3"]
    (tmp_path / "model.json").write_text(json.dumps(model))
    result = diff(options=["--previous", "model.json"])
    assert result.exit_code == 2
    assert "model.json: the previous job model has 8 partitions" in result.stderr
